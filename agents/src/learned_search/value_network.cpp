#include "value_network.hpp"

#include <algorithm>
#include <array>

namespace emplace::agents::learned_search {

using nn::Activation;
using nn::Combine;
using nn::Value;

std::vector<float> group_attributes(const ObservedStep& step, double mean_time_us) {
  constexpr float kScale = 0.25F;
  const double step_us = step.step_us();
  const auto in_groups = [&](double us) { return kScale * signed_log2(us / mean_time_us); };
  const auto share = [&](double us) { return static_cast<float>(us / step_us); };
  std::vector<float> attributes;
  const GroupId num_groups = step.problem().num_groups();
  attributes.reserve(static_cast<std::size_t>(num_groups) * kGroupAttributes);
  for (GroupId group = 0; group < num_groups; ++group) {
    const ObservedStep::Group& now = step.group(group);
    const double free_us = now.before == ObservedStep::kNone ? 0.0 : step.group(now.before).end_us;
    const double next_us =
        now.after == ObservedStep::kNone ? step_us : step.group(now.after).start_us;
    const ObservedStep::Device& device = step.device(now.device);
    const std::array<float, kGroupAttributes> values = {
        in_groups(now.time_us()),
        in_groups(step.slack_us(group)),
        kScale * signed_log2(1000 * step.slack_us(group) / step_us),
        in_groups(now.wait_us),
        in_groups(now.input_us),
        in_groups(now.output_us),
        in_groups(now.start_us - free_us),
        in_groups(next_us - now.end_us),
        share(now.start_us),
        share(device.busy_us),
        share(device.sent_us + device.received_us),
        now.is_critical ? 1.0F : 0.0F,
    };
    for (const float value : values) {
      attributes.push_back(std::clamp(value, -8.0F, 8.0F));
    }
  }
  return attributes;
}

void MoveBatch::clear() {
  groups.clear();
  targets.clear();
  origins.clear();
  features.clear();
}

void MoveBatch::add(std::span<const Move> moves, DeviceId origin,
                    std::span<const float> features_of_move) {
  for (const Move& move : moves) {
    groups.add(0, move.group);
  }
  groups.end_row();
  targets.add(0, moves.front().device);
  targets.end_row();
  origins.add(0, origin);
  origins.end_row();
  features.insert(features.end(), features_of_move.begin(), features_of_move.end());
}

template <class Scalar>
ValueNetwork<Scalar>::ValueNetwork(const ValueNetworkOptions& options)
    : options_(options),
      attributes_(parameters_.add("attributes", kGroupAttributes, kWidth)),
      messages_(parameters_.add("messages", 3 * kWidth, kWidth)),
      hidden_(parameters_.add("hidden", inputs(), kHidden)),
      value_(parameters_.add("value", kHidden, 1)) {}

template <class Scalar>
void ValueNetwork<Scalar>::initialize(RandomStream& random) {
  parameters_.initialize(random);
  const nn::Layer& last = parameters_.layer(value_);
  std::ranges::fill(parameters_.values().subspan(last.offset, last.size()), Scalar{0});
}

template <class Scalar>
Value ValueNetwork<Scalar>::embeddings(nn::Tape<Scalar>& tape, const GroupNeighbours& neighbours,
                                       std::span<const float> attributes) const {
  const Value input = tape.input(attributes.size() / kGroupAttributes, kGroupAttributes);
  const nn::MatrixView<Scalar> x = tape.value(input);
  for (std::size_t row = 0; row < x.rows; ++row) {
    for (std::size_t column = 0; column < kGroupAttributes; ++column) {
      x(row, column) = static_cast<Scalar>(attributes[row * kGroupAttributes + column]);
    }
  }
  Value h = tape.affine(input, attributes_, Activation::kRelu);
  for (int round = 0; round < options_.rounds; ++round) {
    const Value message =
        tape.affine(tape.concat(std::array{
                        h, tape.segment_sum({&h, 1}, neighbours.producers, 1, Combine::kMean),
                        tape.segment_sum({&h, 1}, neighbours.consumers, 1, Combine::kMean)}),
                    messages_, Activation::kRelu);
    h = tape.add(h, message);
  }
  return h;
}

template <class Scalar>
Value ValueNetwork<Scalar>::pools(nn::Tape<Scalar>& tape, Value embeddings,
                                  const nn::SegmentSum& on_device) const {
  return tape.segment_sum({&embeddings, 1}, on_device, 1, Combine::kMean);
}

template <class Scalar>
Value ValueNetwork<Scalar>::descriptions(nn::Tape<Scalar>& tape, Value embeddings, Value pools,
                                         const MoveBatch& moves) const {
  const Value features = tape.input(moves.size(), MoveBatch::kFeatures);
  const nn::MatrixView<Scalar> x = tape.value(features);
  for (std::size_t row = 0; row < x.rows; ++row) {
    for (std::size_t column = 0; column < x.columns; ++column) {
      x(row, column) = static_cast<Scalar>(moves.features[row * x.columns + column]);
    }
  }
  return tape.concat(std::array{tape.segment_sum({&embeddings, 1}, moves.groups, 1, Combine::kMean),
                                tape.segment_sum({&pools, 1}, moves.targets),
                                tape.segment_sum({&pools, 1}, moves.origins), features});
}

template <class Scalar>
Value ValueNetwork<Scalar>::values(nn::Tape<Scalar>& tape, Value descriptions) const {
  return tape.affine(tape.affine(descriptions, hidden_, Activation::kRelu), value_,
                     Activation::kNone);
}

template class ValueNetwork<float>;
template class ValueNetwork<double>;

}  // namespace emplace::agents::learned_search
