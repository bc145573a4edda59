#include "grouper.hpp"

#include <algorithm>
#include <array>

namespace emplace::agents::placeto {
namespace {

constexpr std::size_t kGroupFeatures = 3;
constexpr std::size_t kWidth = 8;
constexpr std::size_t kHidden = 16;
constexpr int kRounds = 4;

bool is_forward(const Problem& problem, GroupId group) {
  const OpId first = problem.grouping().members(group).front();
  return problem.op(first).phase == Phase::kForward;
}

}  // namespace

EdgeFeatures::EdgeFeatures(const Problem& problem) {
  const auto cost_us = [&](GroupId group) {
    double sum_us = 0;
    for (const DeviceId device : problem.placeable_devices()) {
      sum_us += problem.group_cost_us(group, device);
    }
    return sum_us / static_cast<double>(problem.placeable_devices().size());
  };
  for (const GroupEdge& edge : problem.group_edges()) {
    producers.add(0, edge.producer);
    producers.end_row();
    consumers.add(0, edge.consumer);
    consumers.end_row();
    const double transfer_us = problem.mean_transfer_us(edge.bytes);
    const double both_us = cost_us(edge.producer) + cost_us(edge.consumer);
    const double share = transfer_us > 0 ? transfer_us / (transfer_us + both_us) : 0;
    const auto flag = [](bool is) { return is ? 1.0F : 0.0F; };
    values.insert(
        values.end(),
        {static_cast<float>(share), flag(problem.group_out_edges(edge.producer).size() == 1),
         flag(problem.group_in_edges(edge.consumer).size() == 1),
         flag(is_forward(problem, edge.producer) == is_forward(problem, edge.consumer)), 0.0F});
  }
}

void EdgeFeatures::set_start(const Problem& problem, const Placement& start) {
  std::size_t last = kFeatures - 1;
  for (const GroupEdge& edge : problem.group_edges()) {
    values[last] = start[edge.producer] == start[edge.consumer] ? 1.0F : 0.0F;
    last += kFeatures;
  }
}

template <class Scalar>
Grouper<Scalar>::Grouper()
    : first_(parameters_.add("grouper/transform/0", kGroupFeatures, kWidth)),
      second_(parameters_.add("grouper/transform/1", kWidth, kWidth)),
      forward_{parameters_.add("grouper/forward/message", kWidth, kWidth),
               parameters_.add("grouper/forward/update", kWidth, kWidth)},
      backward_{parameters_.add("grouper/backward/message", kWidth, kWidth),
                parameters_.add("grouper/backward/update", kWidth, kWidth)},
      hidden_(parameters_.add("grouper/score/0", 4 * kWidth + EdgeFeatures::kFeatures, kHidden)),
      score_(parameters_.add("grouper/score/1", kHidden, 1)) {}

template <class Scalar>
nn::Value Grouper<Scalar>::propagate(nn::Tape<Scalar>& tape, const MessagePassing& edges,
                                     const Direction& direction, nn::Value s) const {
  nn::Value x = s;
  for (int round = 0; round < kRounds; ++round) {
    const nn::Value messages = tape.affine(x, direction.message, nn::Activation::kRelu);
    const nn::Value sum = tape.segment_sum({&messages, 1}, edges.aggregate);
    const nn::Value aggregated = tape.affine(sum, direction.update, nn::Activation::kRelu);
    x = tape.segment_sum(std::array{s, aggregated}, edges.residual);
  }
  return x;
}

template <class Scalar>
nn::Value Grouper<Scalar>::scores(nn::Tape<Scalar>& tape, const Graph& graph,
                                  const EdgeFeatures& edges) const {
  const nn::Value groups = tape.input(graph.size(), kGroupFeatures);
  const nn::MatrixView<Scalar> group = tape.value(groups);
  for (std::size_t row = 0; row < graph.size(); ++row) {
    group(row, 0) = graph.cost()[row];
    group(row, 1) = graph.bytes()[row];
    group(row, 2) = graph.memory()[row];
  }
  const nn::Value features = tape.input(edges.producers.rows(), EdgeFeatures::kFeatures);
  const nn::MatrixView<Scalar> feature = tape.value(features);
  for (std::size_t row = 0; row < edges.producers.rows(); ++row) {
    for (std::size_t i = 0; i < EdgeFeatures::kFeatures; ++i) {
      feature(row, i) = edges.values[row * EdgeFeatures::kFeatures + i];
    }
  }
  const nn::Value s = tape.affine(tape.affine(groups, first_, nn::Activation::kRelu), second_,
                                  nn::Activation::kNone);
  const nn::Value forward = propagate(tape, graph.forward(), forward_, s);
  const nn::Value backward = propagate(tape, graph.backward(), backward_, s);
  const nn::Value ends[] = {tape.segment_sum({&forward, 1}, edges.producers),
                            tape.segment_sum({&backward, 1}, edges.producers),
                            tape.segment_sum({&forward, 1}, edges.consumers),
                            tape.segment_sum({&backward, 1}, edges.consumers), features};
  return tape.affine(tape.affine(tape.concat(ends), hidden_, nn::Activation::kRelu), score_,
                     nn::Activation::kNone);
}

template class Grouper<float>;
template class Grouper<double>;

GrouperLearner::GrouperLearner(double learning_rate, double max_grad_norm, Grouper<float>& grouper)
    : learning_rate_(learning_rate),
      max_grad_norm_(max_grad_norm),
      grouper_(&grouper),
      tape_(grouper.parameters()),
      optimizer_(nn::OptimizerKind::kAdam, grouper.parameters().values().size()),
      gradient_(grouper.parameters().values().size()) {}

double GrouperLearner::update(std::span<const Sample> samples) {
  std::ranges::fill(gradient_, 0.0F);
  for (const Sample& sample : samples) {
    if (sample.log_probability_gradient.empty()) {
      continue;
    }
    tape_.clear();
    const nn::Value scores = grouper_->scores(tape_, *sample.graph, *sample.edges);
    const nn::MatrixView<float> seed = tape_.seed(scores);
    for (std::size_t edge = 0; edge < sample.log_probability_gradient.size(); ++edge) {
      seed(edge, 0) = static_cast<float>(-sample.advantage * sample.log_probability_gradient[edge]);
    }
    tape_.backward(gradient_);
  }
  return optimizer_.clipped_step(grouper_->parameters().values(), gradient_, learning_rate_,
                                 max_grad_norm_);
}

}  // namespace emplace::agents::placeto
