#pragma once

// Placeto's policy network (Addanki et al. 2019): a graph neural network that maps the state of an
// episode to a logit for each device of the current group.
//
// An MLP(d, [d, d], d) maps the d features of group v to s_v. Message passing along the edges, and
// with other parameters against them, computes
//     x_v = s_v + relu(g(sum of relu(f(x_u)) over the neighbours u)),
// `rounds` times from x = s; a group without neighbours keeps s_v. Both results are concatenated to
// an embedding of width 2d. The embeddings of the ancestors, the descendants and the peers of the
// current group (peers: all other groups) are pooled, each set by its own relu(h(sum of
// relu(l(x)))). With the current group's own embedding that is 8d numbers, from which the head, an
// MLP(8d, [16d, 8d], devices), computes the logits. MLP(a, [b], c) has ReLUs between its affine
// layers and none at the end; f, g, l and h have one hidden layer as wide as their input.
//
// With `device-encoding=features`, our addition, the network scores one candidate device at a time;
// the scores of all devices are the logits. Instead of cost, bytes and the one-hot device, the
// features of a group are its cost on the candidate, its cost on its present device, the time to
// move its outputs from there to the candidate (all in units of the largest mean cost of a group),
// and whether it is on the candidate already. So the policy knows devices by their features, not by
// their number: it fits any number of devices, fast or slow, and treats equal devices equally.
//
// One pass takes several decisions of one problem (or candidates of theirs) side by side, as lanes.

#include "nn/parameters.hpp"
#include "nn/tape.hpp"
#include "placeto/features.hpp"
#include "placeto/options.hpp"

#include <emplace/base/random.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace emplace::agents::placeto {

/// Describes the state in which a device is chosen for the current group.
struct Observation {
  GroupId current = 0;
  std::vector<std::int32_t> devices{};   ///< by group: index of its placeable device
  std::span<const float> start_times{};  ///< by group: normalized, in the last simulated step
  std::vector<std::uint8_t> visits{};    ///< by group: 1 if it was visited, else 0
};

/// Computes logits with the parameters of a tape.
template <class Scalar>
class PolicyNetwork {
 public:
  /// Makes a network whose parameters are all 0. With scored candidates it fits any number of
  /// devices.
  PolicyNetwork(const NetworkOptions& options, std::size_t num_devices);

  nn::Parameters<Scalar>& parameters() { return parameters_; }
  const nn::Parameters<Scalar>& parameters() const { return parameters_; }

  /// Holds the segment sums that passes need until the tape is cleared; one for each tape.
  struct Lists {
    // The input of one lane.
    struct View {
      const Observation* observation;
      std::size_t candidate;  // used only if candidates are scored
    };

    struct Pass {
      nn::SegmentSum own{};
      std::array<nn::SegmentSum, 3> members{};  // of each pool, view by view
      std::array<nn::SegmentSum, 3> pools{};
      std::vector<Relation> relations{};  // to the current group, by group
    };

    std::vector<View> views{};
    std::deque<Pass> passes{};  // stay where they are
    std::vector<nn::Value> scores{};
    std::deque<nn::SegmentSum> of_candidate{};
    std::vector<nn::Value> columns{};
    nn::SegmentSum with_stay_bias{};
  };

  /// Returns the lanes that a decision takes on `num_devices` placeable devices.
  std::size_t lanes_per_decision(std::size_t num_devices) const {
    return options_.score_candidates ? num_devices : 1;
  }

  /// Initializes the parameters of a new policy.
  void initialize(RandomStream& random);

  /// Returns the logits, a row for each observation, in as many passes of `lanes` lanes as needed.
  /// Requires: `lanes` is 1, 2, 4, 8 or 16.
  nn::Value logits(nn::Tape<Scalar>& tape, Lists& lists, const Graph& graph,
                   std::span<const Observation> observations, std::size_t lanes) const;

 private:
  using View = typename Lists::View;
  using Pass = typename Lists::Pass;

  // A multilayer perceptron: affine layers with ReLUs between them.
  using Mlp = std::vector<nn::LayerId>;

  // relu(update(sum of relu(message(x)))).
  struct Aggregator {
    Mlp message{};
    Mlp update{};
  };

  Mlp add_mlp(const std::string& name, const std::vector<std::size_t>& widths);
  Aggregator add_aggregator(const std::string& name, std::size_t width);

  nn::Value apply(nn::Tape<Scalar>& tape, const Mlp& mlp, nn::Value x, nn::Activation last) const;
  nn::Value scores(nn::Tape<Scalar>& tape, Pass& pass, const Graph& graph,
                   std::span<const View> views, std::size_t lanes) const;
  nn::Value logits_of_scores(nn::Tape<Scalar>& tape, Lists& lists, std::size_t num_decisions,
                             std::size_t num_devices, std::size_t lanes) const;
  nn::Value add_stay_bias(nn::Tape<Scalar>& tape, Lists& lists,
                          std::span<const Observation> observations, nn::Value logits) const;
  nn::Value features(nn::Tape<Scalar>& tape, const Graph& graph, std::span<const View> views,
                     std::size_t lanes) const;
  nn::Value after_rounds(nn::Tape<Scalar>& tape, const MessagePassing& edges,
                         const Aggregator& aggregator, nn::Value s, std::size_t lanes) const;
  void list_pools(Pass& pass, const Graph& graph, std::span<const View> views,
                  std::size_t lanes) const;

  NetworkOptions options_;
  std::size_t width_;
  nn::Parameters<Scalar> parameters_;
  Mlp transform_;
  Aggregator forward_;
  Aggregator backward_;
  std::vector<Aggregator> pools_;
  Mlp head_;
};

}  // namespace emplace::agents::placeto
