#pragma once

// Weights that several modules of a model read, as the embedding and the output layer of a language
// model do. In PyTorch such a weight is one tensor on one device, so the modules that have it are
// on one device, too: they are tied. In a graph it is one variable that forward ops of several
// modules read.

#include "colocation.hpp"
#include "module_tree.hpp"

#include <emplace/bench/placement_format.hpp>

#include <boost/pending/disjoint_sets.hpp>

#include <span>
#include <vector>

namespace emplace::bench {

/// A variable with several forward ops that read it, or one outside of its module.
struct SharedWeight {
  OpId variable = 0;
  std::vector<OpId> readers{};  ///< not empty
};

/// Knows the modules that have to be on one device. One thread.
class SharedWeights {
 public:
  /// Ties the leaves that share a weight. Requires: `problem` and `tree` outlive this.
  SharedWeights(const Problem& problem, const ModuleTree& tree);

  std::span<const SharedWeight> weights() const { return weights_; }

  /// Ties a module to all that are in it, and so to what these are tied to.
  void tie_whole(ModuleId module);

  /// Returns the ops of a module, of those in it, and of those that are tied to one of them.
  std::vector<OpId> tied_ops(ModuleId module);

  /// Returns the weights whose readers were on several devices, and are now on one.
  std::vector<ColocatedOps> changes(const Colocation& colocation) const;

 private:
  const Problem& problem_;
  const ModuleTree& tree_;
  std::vector<SharedWeight> weights_;
  boost::disjoint_sets_with_storage<> sets_;  // of modules
};

}  // namespace emplace::bench
