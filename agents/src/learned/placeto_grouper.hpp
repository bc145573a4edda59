#pragma once

// The other half of the policy of placeto-joint: which groups become one before the placer visits
// what is left. A graph network gives each edge between groups a score, and edge_contraction.hpp
// draws a coarser grouping by them.
//
// With the 3 numbers of each group that placeto_graph.hpp tells, FNN(3, [8], 8) makes s_v; along
// the edges, and with other parameters against them, x_v = s_v + relu(g(sum of relu(f(x_u)) over
// the neighbours u)), 4 times. The score of u -> v is FNN(37, [16], 1) of both results at both ends
// and five numbers of the edge: how much of the time of both and of the transfer between them is
// the transfer's; whether u has no other consumer; whether v has no other producer; whether both
// are of one pass; whether both are on one device where the episode starts. FNNs have ReLUs between
// affine layers; f and g are one layer each.
//
// Its parameters follow REINFORCE: the step time that the episode after a draw reached, against
// those after the last draws for the same problem.

#include "learned/placeto_graph.hpp"
#include "nn/optimizer.hpp"
#include "nn/parameters.hpp"
#include "nn/tape.hpp"

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::placeto {

/// Holds what the grouper reads of the edges between a problem's groups.
struct EdgeFacts {
  explicit EdgeFacts(const Problem& problem);

  /// Takes the last number of each edge from `start`.
  void look_at(const Problem& problem, const Placement& start);

  static constexpr std::size_t kNumbers = 5;

  nn::RowSums producers{};       ///< a row for each edge: the producer's
  nn::RowSums consumers{};       ///< a row for each edge: the consumer's
  std::vector<float> numbers{};  ///< by edge, kNumbers each
};

/// Computes scores; the parameters are those of the tape.
template <class Scalar>
class Grouper {
 public:
  /// Makes a network whose parameters are all 0.
  Grouper();

  nn::Parameters<Scalar>& parameters() { return parameters_; }
  const nn::Parameters<Scalar>& parameters() const { return parameters_; }

  /// Returns the scores of the edges, a column. Requires: there are some.
  nn::Value scores(nn::Tape<Scalar>& tape, const Graph& graph, const EdgeFacts& edges) const;

 private:
  struct Direction {
    nn::LayerId message{};
    nn::LayerId update{};
  };
  nn::Value heard(nn::Tape<Scalar>& tape, const Messages& messages, const Direction& direction,
                  nn::Value s) const;

  nn::Parameters<Scalar> parameters_;
  nn::LayerId first_;
  nn::LayerId second_;
  Direction down_;
  Direction up_;
  nn::LayerId hidden_;
  nn::LayerId score_;
};

/// Says how much less than after the last draws an episode took, in standard deviations.
class DrawBaseline {
 public:
  /// Adds `time`, of which there are at most kEpisodes; returns 0 for the first.
  double advantage(double time);

  static constexpr std::size_t kEpisodes = 20;

  /// Returns the last times as a JSON array.
  std::string to_json() const;

  /// Takes what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json);

 private:
  std::deque<double> times_;
};

/// Changes the parameters of a grouper.
class GrouperLearner {
 public:
  /// Learns for `grouper`. Requires: it outlives this.
  GrouperLearner(double rate, double clip, Grouper<float>& grouper);

  /// Says what a draw was worth: the slopes of its log probability by the scores, and its
  /// advantage.
  struct Lesson {
    const Graph* graph;
    const EdgeFacts* edges;
    std::span<const double> slopes;
    double advantage = 0;
  };

  /// Learns from some draws; returns the norm of the gradient before it was clipped.
  double update(std::span<const Lesson> lessons);

  /// Returns the optimizer's moments as JSON.
  std::string to_json() const { return optimizer_.to_json(); }

  /// Takes what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json) { optimizer_.load(json); }

 private:
  double rate_;
  double clip_;
  Grouper<float>* grouper_;
  nn::Tape<float> tape_;
  nn::Optimizer optimizer_;
  std::vector<float> gradient_;
};

}  // namespace emplace::agents::placeto
