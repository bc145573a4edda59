#pragma once

// The grouping policy of placeto-joint: it merges groups before the placement policy visits the
// merged ones. A graph neural network gives each edge between groups a score, and
// edge_contraction.hpp samples a coarser grouping by the scores.
//
// An MLP(3, [8], 8) maps the 3 features of group v (features.hpp) to s_v. Message passing
// along the edges, and with other parameters against them, computes
//     x_v = s_v + relu(g(sum of relu(f(x_u)) over the neighbours u))
// 4 times from x = s. The score of edge u -> v is an MLP(37, [16], 1) of both embeddings of both
// ends and of five features of the edge: the transfer's share of the time of both groups and the
// transfer; whether u has no other consumer; whether v has no other producer; whether both belong
// to the same phase; whether both are on one device at the start of the episode. f and g have one
// layer.
//
// Its parameters are trained by REINFORCE. The return is the best step time of the episode with the
// sampled grouping; the baseline is that of the last episodes on the same problem.

#include "nn/optimizer.hpp"
#include "nn/parameters.hpp"
#include "nn/tape.hpp"
#include "placeto/features.hpp"

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::placeto {

/// Holds the features of the edges between a problem's groups.
struct EdgeFeatures {
  explicit EdgeFeatures(const Problem& problem);

  /// Sets the last feature of each edge from the start of the episode.
  void set_start(const Problem& problem, const Placement& start);

  static constexpr std::size_t kFeatures = 5;

  nn::SegmentSum producers{};   ///< a row for each edge: its producer's
  nn::SegmentSum consumers{};   ///< a row for each edge: its consumer's
  std::vector<float> values{};  ///< by edge, kFeatures each
};

/// Computes edge scores with the parameters of a tape.
template <class Scalar>
class Grouper {
 public:
  /// Makes a network whose parameters are all 0.
  Grouper();

  nn::Parameters<Scalar>& parameters() { return parameters_; }
  const nn::Parameters<Scalar>& parameters() const { return parameters_; }

  /// Returns the scores of the edges, a column. Requires: there is an edge.
  nn::Value scores(nn::Tape<Scalar>& tape, const Graph& graph, const EdgeFeatures& edges) const;

 private:
  struct Direction {
    nn::LayerId message{};
    nn::LayerId update{};
  };
  nn::Value propagate(nn::Tape<Scalar>& tape, const MessagePassing& edges,
                      const Direction& direction, nn::Value s) const;

  nn::Parameters<Scalar> parameters_;
  nn::LayerId first_;
  nn::LayerId second_;
  Direction forward_;
  Direction backward_;
  nn::LayerId hidden_;
  nn::LayerId score_;
};

/// Trains a grouper by REINFORCE.
class GrouperLearner {
 public:
  /// Trains `grouper`. Requires: it outlives this.
  GrouperLearner(double learning_rate, double max_grad_norm, Grouper<float>& grouper);

  /// Describes a sampled grouping: the gradient of its log probability with respect to the scores,
  /// and its advantage.
  struct Sample {
    const Graph* graph;
    const EdgeFeatures* edges;
    std::span<const double> log_probability_gradient;
    double advantage = 0;
  };

  /// Makes one update from `samples`; returns the norm of the gradient before clipping.
  double update(std::span<const Sample> samples);

  /// Returns the optimizer's moments as JSON.
  std::string to_json() const { return optimizer_.to_json(); }

  /// Restores what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json) { optimizer_.load(json); }

 private:
  double learning_rate_;
  double max_grad_norm_;
  Grouper<float>* grouper_;
  nn::Tape<float> tape_;
  nn::Optimizer optimizer_;
  std::vector<float> gradient_;
};

}  // namespace emplace::agents::placeto
