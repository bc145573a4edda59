#pragma once

// Placements as files of other programs: PyTorch, TensorFlow, ONNX, spreadsheets. What a format
// cannot express is changed in the placement and reported: a device map of PyTorch has one device
// for a module that has parameters, and what autograd computes runs where its forward op ran. Names
// are those of the imported file; modules of PyTorch are the scopes of ops (module_tree.hpp).
// docs/guide/use-a-placement.md shows how each file is used.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Describes ops that were on several devices, for which the format has only one.
struct ColocatedOps {
  std::string what{};               ///< path of a module, or name of an op or of a shared weight
  std::vector<DeviceId> devices{};  ///< where they were, ascending
  DeviceId device = 0;              ///< where all of them are now
  /// The paths of the modules that share the weight `what`; empty where it is none.
  std::vector<std::string> shared_by{};
};

/// Returns "'embedding' and 'head'", the modules of `shared_by`.
std::string sharing_modules(const ColocatedOps& colocated);

/// Returns the same placement for the problem in which each op is a group.
Placement op_by_op(const Problem& problem, const Placement& placement);

/// The file of a placement for another program.
struct PlacementExport {
  std::string text{};
  Placement placement{};  ///< what the other program runs, op by op
  /// How that differs from the placement, in the order of the decisions.
  std::vector<ColocatedOps> colocated{};
  bool keeps_order = true;  ///< whether priorities are in the file, if there are any
};

/// Describes a format.
struct PlacementFormat {
  std::string_view name;       ///< kebab-case, stable
  std::string_view summary;    ///< one line
  std::string_view reference;  ///< where the format is described
  /// Writes a placement. Throws kUnsupported if the format has no name for a device, or if it needs
  /// scopes and no op has one. Requires: each op is a group.
  PlacementExport (*write)(const Problem& problem, const Placement& placement);
};

/// Returns all formats, sorted by name.
std::span<const PlacementFormat> placement_formats();

/// Returns the names of all formats.
std::vector<std::string> placement_format_names();

/// Returns the format called `name`; throws kUnknownName.
const PlacementFormat& find_placement_format(std::string_view name);

}  // namespace emplace::bench
