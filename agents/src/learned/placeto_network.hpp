#pragma once

// Placeto's policy network (Addanki et al. 2019): from the state of an episode to a logit for each
// device of the current group.
//
// With d features for each group, FNN(d, [d, d], d) makes s_v of them. Along the edges, and with
// other parameters against them, x_v = s_v + relu(g(sum of relu(f(x_u)) over the neighbours u)),
// `rounds` times from x = s; a group without neighbours keeps s_v. Both results side by side are
// 2d wide. Ancestors, descendants and peers of the current group are pooled likewise, each set by
// its own relu(h(sum of relu(l(x)))); with the current group's own row that is 8d. The head is
// FNN(8d, [16d, 8d], devices). FNN(a, [b], c) has ReLUs between its affine layers and none at the
// end; f, g, l and h have one hidden layer as wide as their input.
//
// With `devices=candidates`, which is ours, the network sees one device at a time, as a candidate,
// and gives it a score; the scores of all devices are the logits. Instead of cost, bytes and the
// present device, a group's features are its cost on the candidate, its cost where it is, the time
// to move its outputs from there to the candidate, all in units of the dearest group's mean cost,
// and whether it is there already. So the policy knows devices by what they are, not by number: it
// fits any number of them, fast or slow, and devices that are alike are treated alike.
//
// One pass takes several decisions of one problem (or candidates of theirs) side by side, as lanes.

#include "learned/placeto_graph.hpp"
#include "learned/placeto_options.hpp"
#include "nn/parameters.hpp"
#include "nn/tape.hpp"

#include <emplace/graphs/random.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents::placeto {

/// Holds the state in which a device is chosen for a group.
struct Decision {
  GroupId current = 0;
  std::span<const std::int32_t> devices{};  ///< by group: which of the placeable ones it is on
  std::span<const float> starts{};          ///< by group: normalized start in the last step
  std::span<const std::uint8_t> done{};     ///< by group: how often it was visited
};

/// Computes logits; the parameters are those of the tape.
template <class Scalar>
class Network {
 public:
  /// Makes a network whose parameters are all 0; with candidates, for any number of devices.
  Network(const NetworkOptions& options, std::size_t num_devices);

  nn::Parameters<Scalar>& parameters() { return parameters_; }
  const nn::Parameters<Scalar>& parameters() const { return parameters_; }

  /// Holds lists that passes need until the tape is cleared; one for each tape.
  struct Lists {
    // What a lane sees.
    struct View {
      const Decision* decision;
      std::size_t candidate;  // only read if there are candidates
    };

    struct Pass {
      nn::RowSums own{};
      std::array<nn::RowSums, 3> members{};  // of each pool, view after view
      std::array<nn::RowSums, 3> pools{};
      std::vector<std::pair<float, GroupId>> nearest{};
      std::vector<nn::Value> levels{};  // of a sweep, and what they said
      std::vector<nn::Value> said{};
    };

    std::vector<View> views{};
    std::deque<Pass> passes{};  // stay where they are
    std::vector<nn::Value> scores{};
    std::deque<nn::RowSums> of_candidate{};
    std::vector<nn::Value> columns{};
    nn::RowSums with_stay{};
  };

  /// Returns the lanes that a decision takes of a problem with so many placeable devices.
  std::size_t lanes_per_decision(std::size_t num_devices) const {
    return options_.candidates ? num_devices : 1;
  }

  /// Draws the parameters of a new policy.
  void initialize(RandomStream& random);

  /// Returns the logits of each decision, a row for each, in as many passes of `lanes` lanes as it
  /// takes. Requires: `lanes` is 1, 2, 4, 8 or 16.
  nn::Value logits(nn::Tape<Scalar>& tape, Lists& lists, const Graph& graph,
                   std::span<const Decision> decisions, std::size_t lanes) const;

 private:
  using View = typename Lists::View;
  using Pass = typename Lists::Pass;

  // Affine layers with a ReLU between each and the next.
  using Stack = std::vector<nn::LayerId>;

  // relu(update(sum of relu(message(x)))).
  struct Aggregator {
    Stack message{};
    Stack update{};
  };

  Stack add_stack(const std::string& name, const std::vector<std::size_t>& widths);
  Aggregator add_aggregator(const std::string& name, std::size_t width);

  nn::Value apply(nn::Tape<Scalar>& tape, const Stack& stack, nn::Value x,
                  nn::Activation last) const;
  nn::Value scores(nn::Tape<Scalar>& tape, Pass& pass, const Graph& graph,
                   std::span<const View> views, std::size_t lanes) const;
  nn::Value by_candidate(nn::Tape<Scalar>& tape, Lists& lists, std::size_t num_decisions,
                         std::size_t num_devices, std::size_t lanes) const;
  nn::Value plus_stay(nn::Tape<Scalar>& tape, Lists& lists, std::span<const Decision> decisions,
                      nn::Value logits) const;
  nn::Value features(nn::Tape<Scalar>& tape, const Graph& graph, std::span<const View> views,
                     std::size_t lanes) const;
  nn::Value after_rounds(nn::Tape<Scalar>& tape, const Messages& messages,
                         const Aggregator& aggregator, nn::Value s, std::size_t lanes) const;
  nn::Value after_sweep(nn::Tape<Scalar>& tape, const Messages& messages,
                        const Aggregator& aggregator, nn::Value s, Pass& pass,
                        std::size_t lanes) const;
  void list_pools(Pass& pass, const Graph& graph, std::span<const View> views,
                  std::size_t lanes) const;

  NetworkOptions options_;
  std::size_t width_;
  nn::Parameters<Scalar> parameters_;
  Stack transform_;
  Aggregator down_;
  Aggregator up_;
  std::vector<Aggregator> pools_;
  Stack head_;
};

}  // namespace emplace::agents::placeto
