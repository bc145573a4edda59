#include "pytorch_state.hpp"

#include "formats/torch/aten.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_set>

namespace emplace::pytorch {
namespace {

// The arguments of an operator that are its weights, as bits.
struct WeightBits {
  std::string_view name;
  std::uint32_t arguments;
};

constexpr std::uint32_t bits(std::initializer_list<unsigned> arguments) {
  std::uint32_t result = 0;
  for (const unsigned argument : arguments) {
    result |= 1U << argument;
  }
  return result;
}

constexpr std::array kWeights = {
    WeightBits{"_convolution", bits({1, 2})},
    WeightBits{"_cudnn_rnn", bits({1})},
    WeightBits{"_embedding_bag", bits({0})},
    WeightBits{"_native_multi_head_attention", bits({5, 6, 7, 8})},
    WeightBits{"_transformer_encoder_layer_fwd",
               bits({3, 4, 5, 6, 10, 11, 12, 13, 14, 15, 16, 17})},
    WeightBits{"addmm", bits({0, 2})},
    WeightBits{"batch_norm", bits({1, 2})},
    WeightBits{"conv1d", bits({1, 2})},
    WeightBits{"conv2d", bits({1, 2})},
    WeightBits{"conv3d", bits({1, 2})},
    WeightBits{"conv_transpose1d", bits({1, 2})},
    WeightBits{"conv_transpose2d", bits({1, 2})},
    WeightBits{"conv_transpose3d", bits({1, 2})},
    WeightBits{"convolution", bits({1, 2})},
    WeightBits{"cudnn_batch_norm", bits({1, 2})},
    WeightBits{"cudnn_convolution", bits({1})},
    WeightBits{"embedding", bits({0})},
    WeightBits{"embedding_bag", bits({0})},
    WeightBits{"group_norm", bits({2, 3})},
    WeightBits{"gru", bits({2, 3})},
    WeightBits{"instance_norm", bits({1, 2})},
    WeightBits{"layer_norm", bits({2, 3})},
    WeightBits{"linear", bits({1, 2})},
    WeightBits{"lstm", bits({2, 3})},
    WeightBits{"mm", bits({1})},
    WeightBits{"native_batch_norm", bits({1, 2})},
    WeightBits{"native_group_norm", bits({1, 2})},
    WeightBits{"native_layer_norm", bits({2, 3})},
    WeightBits{"prelu", bits({1})},
    WeightBits{"rms_norm", bits({2})},
    WeightBits{"rnn_relu", bits({2, 3})},
    WeightBits{"rnn_tanh", bits({2, 3})},
};

bool is_in(std::uint32_t arguments, std::size_t argument) {
  return argument < 32 && ((arguments >> argument) & 1U) != 0;
}

std::uint32_t weights_of(std::string_view name) {
  const auto* found = std::ranges::find(kWeights, name, &WeightBits::name);
  return found != kWeights.end() ? found->arguments : 0;
}

// Statistics stand behind scale and offset.
std::uint32_t statistics_of(std::string_view name) {
  return name.find("batch_norm") != std::string_view::npos || name == "instance_norm" ? bits({3, 4})
                                                                                      : 0;
}

}  // namespace

TraceState::TraceState(std::span<const TracedNode> nodes, std::span<const Phase> phase) {
  std::unordered_set<std::int64_t> made;                  // storages
  std::set<std::pair<std::int64_t, std::int64_t>> views;  // storage and id of what operators made
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TracedNode& node = nodes[i];
    if (!node.is_operator) {
      continue;
    }
    const std::string_view name = name_of_aten(node.name);
    const std::uint32_t weights = weights_of(name);
    const std::uint32_t statistics = statistics_of(name);
    for (const TensorUse& tensor : node.inputs) {
      if (made.contains(tensor.storage)) {
        continue;
      }
      add(tensor, views.contains({tensor.storage, tensor.id}));
      Held& held = *find(tensor);
      const bool writes = writes_input(node, tensor);
      held.forward_reads |= phase[i] == Phase::kForward;
      held.update_writes |= writes && phase[i] == Phase::kUpdate;
      // What the forward pass counts: batches that a normalization has seen.
      held.step_writes |= writes && (phase[i] == Phase::kBackward || tensor.elements == 1);
      held.is_weight |= phase[i] == Phase::kForward && is_in(weights, tensor.argument);
      held.is_statistic |= is_in(statistics, tensor.argument);
      is_trained_ |= held.forward_reads && held.update_writes;
    }
    for (const TensorUse& tensor : node.outputs) {
      if (held_.contains(tensor.storage)) {
        views.insert({tensor.storage, tensor.id});
      } else {
        made.insert(tensor.storage);
      }
    }
  }
}

void TraceState::add(const TensorUse& tensor, bool is_view) {
  auto& parts = held_[tensor.storage];
  if (find(tensor) == nullptr || (!is_view && find(tensor)->end <= tensor.offset)) {
    parts[tensor.offset] = {.end = tensor.offset + tensor.elements};
  }
}

// The part that begins last before the tensor does.
TraceState::Held* TraceState::find(const TensorUse& tensor) {
  auto& parts = held_.at(tensor.storage);
  const auto after = parts.upper_bound(tensor.offset);
  return after != parts.begin() ? &std::prev(after)->second : nullptr;
}

Place TraceState::place_of(const TensorUse& tensor) const {
  const auto parts = held_.find(tensor.storage);
  if (parts == held_.end()) {
    return {tensor.storage, 0};
  }
  const auto after = parts->second.upper_bound(tensor.offset);
  return {tensor.storage, after != parts->second.begin() ? std::prev(after)->first : 0};
}

Origin TraceState::origin_of(Place place) const {
  const auto parts = held_.find(place.first);
  const auto found = parts != held_.end() ? parts->second.find(place.second)
                                          : std::map<std::int64_t, Held>::const_iterator();
  if (parts == held_.end() || found == parts->second.end()) {
    return Origin::kInput;
  }
  const Held& held = found->second;
  if (is_trained_ ? held.forward_reads && held.update_writes
                  : held.is_weight && !held.is_statistic) {
    return Origin::kParameter;
  }
  return held.update_writes || held.step_writes || held.is_weight || held.is_statistic
             ? Origin::kState
             : Origin::kInput;
}

}  // namespace emplace::pytorch
