#pragma once

// The policies of the recurrent agents. One places items as they are (Mirhoseini et al. 2017). The
// other first draws a group for each item and then places the groups (Mirhoseini, Goldie et al.
// 2018): a hidden layer and a softmax over all groups for each item by itself, and what becomes of
// the items of a group is told to the placer: how many ops of each kind, sums of output shapes, and
// edges to other groups. Groups without an item are placed too, so that a group keeps its place in
// the placer's list, by which the two networks learn to agree on what it is.

#include "learned/rnn_items.hpp"
#include "learned/rnn_options.hpp"
#include "learned/sequence_placer.hpp"
#include "nn/parameters.hpp"
#include "nn/tape.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace emplace::agents::rnn {

/// Holds one grouping with the placements that were drawn for it.
struct GroupedDraw {
  Draw draw{};
  /// Log probabilities of the items' groups and entropies of their choices, if groups are drawn.
  std::optional<nn::Value> chances{};
  std::optional<nn::Value> entropies{};
  std::vector<std::int32_t> group_of{};  ///< by item; without learned groups each has its own

  /// Returns the device that was chosen for `item` in `placement`, among the placeable ones.
  std::int32_t device(std::size_t item, std::size_t placement) const {
    return draw.devices[static_cast<std::size_t>(group_of[item]) * draw.placements + placement];
  }
};

/// Draws placements; see the head of this file.
template <class Scalar>
class RecurrentPolicy {
 public:
  /// Makes a policy whose parameters are all 0.
  RecurrentPolicy(const PolicyOptions& options, std::size_t num_devices);

  nn::Parameters<Scalar>& parameters() { return parameters_; }
  const nn::Parameters<Scalar>& parameters() const { return parameters_; }
  std::size_t num_devices() const { return placer_->num_devices(); }

  /// Draws as many groupings as there are `draws`, and for each draw.placements placements.
  void place(nn::Tape<Scalar>& tape, std::span<const Item> items, Chooser& chooser, double noise,
             std::deque<GroupedDraw>& draws) const;

 private:
  struct Grouper {
    nn::LayerId hidden;
    nn::LayerId groups;
  };

  // Returns learned numbers of each item's kinds, its shapes and its neighbours.
  nn::Value item_features(nn::Tape<Scalar>& tape, std::span<const Item> items) const;
  // Returns what the placer is told of each group.
  nn::Value group_features(nn::Tape<Scalar>& tape, std::span<const Item> items,
                           const GroupedDraw& drawn) const;
  std::size_t item_width() const;

  PolicyOptions options_;
  nn::Parameters<Scalar> parameters_;
  nn::LayerId types_ = 0;
  std::optional<Grouper> grouper_;
  std::optional<SequencePlacer<Scalar>> placer_;
};

}  // namespace emplace::agents::rnn
