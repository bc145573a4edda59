#pragma once

// The policies of the recurrent agents. One places items as they are (Mirhoseini et al. 2017). The
// other first samples a group for each item and then places the groups (Mirhoseini, Goldie et al.
// 2018). Its grouping network has one hidden layer and a softmax over the groups, for each item by
// itself. The placer reads the features of each group: its number of ops of each kind, the sums of
// its output shapes, and its edges to other groups. Empty groups are placed too, so that each group
// keeps its position in the placer's sequence, and both networks can learn what it stands for.

#include "nn/parameters.hpp"
#include "nn/tape.hpp"
#include "rnn/items.hpp"
#include "rnn/options.hpp"
#include "rnn/sequence_placer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace emplace::agents::rnn {

/// Holds a sampled grouping and the placements that were sampled for it.
struct GroupedDraw {
  Draw draw{};
  /// Log probabilities of the items' groups; none if groups are not learned.
  std::optional<nn::Value> log_probabilities{};
  std::vector<std::int32_t> group_of{};  ///< by item; its own one if groups are not learned

  /// Returns the device of `item` in `placement`, as an index of a placeable one.
  std::int32_t device(std::size_t item, std::size_t placement) const {
    return draw.devices[static_cast<std::size_t>(group_of[item]) * draw.placements + placement];
  }
};

/// Samples placements; see the top of this file.
template <class Scalar>
class RecurrentPolicy {
 public:
  /// Makes a policy whose parameters are all 0.
  RecurrentPolicy(const PolicyOptions& options, std::size_t num_devices);

  nn::Parameters<Scalar>& parameters() { return parameters_; }
  const nn::Parameters<Scalar>& parameters() const { return parameters_; }
  std::size_t num_devices() const { return placer_->num_devices(); }

  /// Samples a grouping and drawn.draw.placements placements of it.
  void place(nn::Tape<Scalar>& tape, std::span<const Item> items, ActionSampler& sampler,
             double noise, GroupedDraw& drawn) const;

 private:
  struct Grouper {
    nn::LayerId hidden;
    nn::LayerId groups;
  };

  // Returns the embedding of each item's kinds, its shapes and its neighbours.
  nn::Value item_features(nn::Tape<Scalar>& tape, std::span<const Item> items) const;
  // Returns the placer's features of each group.
  nn::Value group_features(nn::Tape<Scalar>& tape, std::span<const Item> items,
                           const GroupedDraw& drawn) const;
  std::size_t item_width() const;

  PolicyOptions options_;
  nn::Parameters<Scalar> parameters_;
  nn::LayerId embedding_ = 0;
  std::optional<Grouper> grouper_;
  std::unique_ptr<SequencePlacer<Scalar>> placer_;  // never null
};

}  // namespace emplace::agents::rnn
