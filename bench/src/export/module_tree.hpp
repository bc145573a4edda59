#pragma once

// The modules of a PyTorch model, as the scopes of a graph's ops tell them.
//
// A scope is a path with slashes. Exporters write a module in a Sequential with the path of that:
// "layer1/layer1.0/conv1" is the module layer1.0.conv1. The second call of a module "relu" is
// written as "relu_1", which is taken for "relu" if there is one and "relu_1" has no parameters of
// its own. Ops of the scope "loss" and those without a scope belong to the root, whose path is
// empty.

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Index of a module.
using ModuleId = std::int32_t;

/// Returns the path of the PyTorch module that `scope` names, with dots.
std::string module_path(std::string_view scope);

/// Returns the paths of the parameters or the buffer that a stored op of this name holds:
/// "norm.weight" and "norm.bias" of "norm/weight+bias"; none if it cannot be one.
std::vector<std::string> stored_paths(std::string_view name);

/// Describes a module.
struct Module {
  std::string path{};
  std::vector<ModuleId> children{};
  std::vector<OpId> ops{};  ///< what it computes and holds itself, in topological order

  bool is_leaf() const { return children.empty(); }
};

/// Holds the modules of a problem's graph.
class ModuleTree {
 public:
  static constexpr ModuleId kRoot = 0;

  /// Reads the scopes. Throws kUnsupported, for a file of `format`, if no op has one.
  ModuleTree(const Problem& problem, std::string_view format);

  /// Returns the modules, each behind its parent.
  IdSpan<ModuleId, const Module> modules() const { return modules_; }

  /// Says whether there is a module of this path.
  bool has(std::string_view path) const { return paths_.contains(path); }

  /// Returns the module to which an op belongs.
  ModuleId module_of(OpId op) const { return module_of_[op]; }

  /// Returns the op of the forward pass with which `op` runs: itself, the one whose gradients it
  /// computes, or the first that reads a variable; itself if there is none.
  OpId forward_of(OpId op) const { return forward_of_[op]; }

  /// Returns all ops of a module and of those in it.
  std::vector<OpId> ops_within(ModuleId module) const;

 private:
  void find_forward_ops(const Problem& problem);

  IdVector<ModuleId, Module> modules_;
  std::set<std::string, std::less<>> paths_;
  IdVector<OpId, ModuleId> module_of_;
  IdVector<OpId, OpId> forward_of_;
};

/// Says whether `op` is there before the step, and so is computed nowhere: a variable or constant.
bool is_stored(const Problem& problem, OpId op);

/// Says whether the forward pass computes `op`, or it enters the model.
bool is_call(const Problem& problem, OpId op);

}  // namespace emplace::bench
