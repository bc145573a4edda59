#pragma once

// The graph network that values moves, an action-value network: it reads graph, placement and step,
// and estimates what a move would gain.
//
// Attributes of each group (group_attributes()) pass through a layer to an embedding h of width d.
// `rounds` times neighbours pass messages along the edges and against them, by the same layer:
//     h_v = h_v + relu(layer(h_v, mean of h_u over producers u, mean of h_w over consumers w)).
// A move is then described by the mean embedding of the groups that move, the mean embeddings of
// all groups on the new device and of those on the old one, and the features of the move
// (move_features.hpp). Two layers map that to one number, its value. As in Placeto (Addanki et al.
// 2019) embeddings come from message passing in both directions and from pools; but they do not
// depend on the move, so all moves of a step share them.
//
// Devices have no numbers here, so a network fits any number and kind of devices.

#include "group_neighbours.hpp"
#include "learned_search/move_features.hpp"
#include "learned_search/observed_step.hpp"
#include "nn/parameters.hpp"
#include "nn/segment_sum.hpp"
#include "nn/tape.hpp"

#include <emplace/base/ids.hpp>
#include <emplace/base/random.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace emplace::agents::learned_search {

/// Shapes the network.
struct ValueNetworkOptions {
  int rounds = 2;  ///< of message passing
};

/// Counts the attributes of a group.
inline constexpr std::size_t kGroupAttributes = 12;

/// Returns the attributes of all groups in a step, group by group, in units as in
/// move_features.hpp.
std::vector<float> group_attributes(const ObservedStep& step, double mean_time_us);

/// Lists moves in one step, each of some groups to one device.
struct MoveBatch {
  /// Counts the numbers that are known of a move besides its embeddings: its features, whether it
  /// was tried before, and what it gained then.
  static constexpr std::size_t kFeatures = MoveFeatures::kCount + 2;

  nn::SegmentSum groups{};   ///< the groups of each move
  nn::SegmentSum targets{};  ///< its new device
  nn::SegmentSum origins{};  ///< the old device of the first of its groups
  std::vector<float> features{};

  std::size_t size() const { return groups.rows(); }
  void clear();

  /// Adds moves to one device, the first from `origin`.
  void add(std::span<const Move> moves, DeviceId origin, std::span<const float> features_of_move);
};

/// Computes embeddings and values with the parameters of a tape.
template <class Scalar>
class ValueNetwork {
 public:
  /// Makes a network whose parameters are all 0.
  explicit ValueNetwork(const ValueNetworkOptions& options);

  nn::Parameters<Scalar>& parameters() { return parameters_; }
  const nn::Parameters<Scalar>& parameters() const { return parameters_; }

  /// Initializes the parameters; the values of all moves are 0.
  void initialize(RandomStream& random);

  /// Counts the numbers by which a move is described.
  static constexpr std::size_t inputs() { return 3 * kWidth + MoveBatch::kFeatures; }

  /// Returns the embeddings, a row for each group. Requires: all that is passed lives until the
  /// tape is cleared; so below.
  nn::Value embeddings(nn::Tape<Scalar>& tape, const GroupNeighbours& neighbours,
                       std::span<const float> attributes) const;

  /// Returns the mean embeddings of the groups of each device, which `on_device` lists.
  nn::Value pools(nn::Tape<Scalar>& tape, nn::Value embeddings,
                  const nn::SegmentSum& on_device) const;

  /// Returns the descriptions of moves, a row for each.
  nn::Value descriptions(nn::Tape<Scalar>& tape, nn::Value embeddings, nn::Value pools,
                         const MoveBatch& moves) const;

  /// Returns the values of moves from their descriptions, a column.
  nn::Value values(nn::Tape<Scalar>& tape, nn::Value descriptions) const;

 private:
  static constexpr std::size_t kWidth = 16;
  static constexpr std::size_t kHidden = 32;

  ValueNetworkOptions options_;
  nn::Parameters<Scalar> parameters_;
  nn::LayerId attributes_;
  nn::LayerId messages_;
  nn::LayerId hidden_;
  nn::LayerId value_;
};

}  // namespace emplace::agents::learned_search
