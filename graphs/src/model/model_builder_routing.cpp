// Layers that choose: mixtures of experts, bags of embeddings, interactions of features.

#include "assemble.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace emplace {

Routing ModelBuilder::top_k(Tensor probabilities, std::int64_t k) {
  const Output value = value_of(graph_, probabilities);
  if (value.shape.size() != 2 || k < 1 || k > value.shape[1]) {
    fail(
        fmt::format("expected probabilities [tokens, experts] and 1 to that many experts for each "
                    "token, found [{}] and {}",
                    fmt::join(value.shape, ", "), k));
  }
  const auto tokens = value.shape[0];
  Op op = make_op("top_k");
  op.outputs = {make_output({tokens, k}, value.type), make_output({tokens, k}, DataType::kInt32)};
  const Tensor weights = define(std::move(op), "top_k", AxisAttributes{}, {probabilities});
  return {.weights = weights, .experts = {weights.op, 1}};
}

std::vector<Tensor> ModelBuilder::dispatch(Tensor x, const Routing& routing, std::int64_t experts,
                                           std::int64_t capacity) {
  const Output value = value_of(graph_, x);
  const auto chosen = shape(routing.experts);
  if (value.shape.size() != 2 || chosen.size() != 2 || chosen[0] != value.shape[0] || experts < 1 ||
      capacity < 1) {
    fail(
        fmt::format("expected [tokens, width], a routing of as many tokens, and experts and "
                    "capacity of at least 1, found [{}], [{}], {} and {}",
                    fmt::join(value.shape, ", "), fmt::join(chosen, ", "), experts, capacity));
  }
  Op op = make_op("moe_dispatch");
  op.outputs.assign(static_cast<std::size_t>(experts),
                    make_output({capacity, value.shape[1]}, value.type));
  std::vector<Tensor> parts(static_cast<std::size_t>(experts),
                            define(std::move(op), "moe_dispatch", {}, {x, routing.experts}));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].output = static_cast<std::int32_t>(i);
  }
  return parts;
}

Tensor ModelBuilder::combine(std::span<const Tensor> results, const Routing& routing) {
  const auto chosen = shape(routing.weights);
  if (results.empty() || chosen.size() != 2 || shape(results[0]).size() != 2 ||
      !std::ranges::all_of(results, [&](Tensor r) { return shape(r) == shape(results[0]); })) {
    fail("expected a routing and the results of its experts, all [capacity, width]");
  }
  Op op = make_op("moe_combine");
  op.outputs = {make_output({chosen[0], shape(results[0])[1]}, value_of(graph_, results[0]).type)};
  std::vector<Tensor> inputs(results.begin(), results.end());
  inputs.push_back(routing.weights);
  inputs.push_back(routing.experts);
  return define(std::move(op), "moe_combine", {}, inputs);
}

Tensor ModelBuilder::balance_loss(Tensor probabilities, const Routing& routing) {
  return define("balance_loss", {probabilities, routing.experts});
}

Tensor ModelBuilder::embedding_bag(Tensor table, Tensor ids) {
  return define("embedding_bag", {table, ids});
}

Tensor ModelBuilder::lower_triangle(Tensor x) { return define("lower_triangle", {x}); }

}  // namespace emplace
