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
  op.shape = {tokens, value.shape[1], k};
  op.flops = product({k, tokens, value.shape[1]});  // a comparison for each place and candidate
  op.outputs = {make_output({tokens, k}, value.type), make_output({tokens, k}, DataType::kInt32)};
  const Tensor weights = emit(std::move(op), {probabilities});
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
  op.shape = {value.shape[0], value.shape[1], chosen[1], experts, capacity};
  op.outputs.assign(static_cast<std::size_t>(experts),
                    make_output({capacity, value.shape[1]}, value.type));
  std::vector<Tensor> parts(static_cast<std::size_t>(experts),
                            emit(std::move(op), {x, routing.experts}));
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
  const Output value = value_of(graph_, results[0]);
  const auto tokens = chosen[0];
  const auto width = value.shape[1];
  Op op = make_op("moe_combine");
  op.shape = {tokens, width, chosen[1], static_cast<std::int64_t>(results.size()), value.shape[0]};
  op.flops = product({2, chosen[1], tokens, width});
  op.outputs = {make_output({tokens, width}, value.type)};
  std::vector<Tensor> inputs(results.begin(), results.end());
  inputs.push_back(routing.weights);
  inputs.push_back(routing.experts);
  return emit(std::move(op), inputs);
}

Tensor ModelBuilder::balance_loss(Tensor probabilities, const Routing& routing) {
  const auto rows = shape(probabilities);
  const auto chosen = shape(routing.experts);
  if (rows.size() != 2 || chosen.size() != 2 || chosen[0] != rows[0]) {
    fail(
        fmt::format("expected probabilities [tokens, experts] and a routing of as many tokens, "
                    "found [{}] and [{}]",
                    fmt::join(rows, ", "), fmt::join(chosen, ", ")));
  }
  Op op = make_op("balance_loss");
  op.shape = rows;
  // The mean probability and the count of each expert, their products and the sum of these.
  op.flops = sum({product(rows), product(chosen), product({2, rows[1]})});
  op.outputs = {make_output({}, DataType::kFloat32)};
  return emit(std::move(op), {probabilities, routing.experts});
}

Tensor ModelBuilder::embedding_bag(Tensor table, Tensor ids) {
  const Output rows = value_of(graph_, table);
  const auto bags = shape(ids);
  const DataType type = value_of(graph_, ids).type;
  if (rows.shape.size() != 2 || bags.size() != 2 ||
      (type != DataType::kInt32 && type != DataType::kInt64)) {
    fail(
        fmt::format("expected a table [rows, width] and integers [bags, lookups], found [{}] and "
                    "[{}] of {}",
                    fmt::join(rows.shape, ", "), fmt::join(bags, ", "), to_string(type)));
  }
  const auto width = rows.shape[1];
  Op op = make_op("embedding_bag");
  op.shape = {bags[0], bags[1], rows.shape[0], width};
  op.flops = product({bags[0], bags[1] - 1, width});
  op.outputs = {make_output({bags[0], width}, rows.type)};
  // Of the table, only the rows that are looked up are read.
  op.bytes_read = product({bags[1], op.outputs[0].bytes}) - rows.bytes;
  return emit(std::move(op), {table, ids});
}

Tensor ModelBuilder::lower_triangle(Tensor x) {
  const Output value = value_of(graph_, x);
  if (value.shape.size() != 3 || value.shape[1] != value.shape[2] || value.shape[1] < 2) {
    fail(fmt::format("expected square matrices [N, F, F] of at least 2 x 2, found [{}]",
                     fmt::join(value.shape, ", ")));
  }
  const auto n = value.shape[0];
  const auto f = value.shape[1];
  Op op = make_op("lower_triangle");
  op.shape = {n, f};
  op.outputs = {make_output({n, f * (f - 1) / 2}, value.type)};
  op.bytes_read = op.outputs[0].bytes - value.bytes;
  return emit(std::move(op), {x});
}

Tensor ModelBuilder::loss(std::string_view kind, std::int64_t flops_per_element, Tensor x,
                          Tensor target) {
  const Output value = value_of(graph_, x);
  if (shape(target) != value.shape) {
    fail(fmt::format("expected a target of the shape [{}], found [{}]",
                     fmt::join(value.shape, ", "), fmt::join(shape(target), ", ")));
  }
  const auto elements = product(value.shape);
  Op op = make_op(kind);
  op.shape = {elements};
  op.flops = product({flops_per_element, elements});
  op.outputs = {make_output({}, DataType::kFloat32)};
  return emit(std::move(op), {x, target});
}

// max(x, 0) - x y + log(1 + exp(-|x|)), and the sum: 10 operations.
Tensor ModelBuilder::sigmoid_cross_entropy(Tensor logits, Tensor labels) {
  return loss("sigmoid_cross_entropy", 10, logits, labels);
}

// Difference, square and sum.
Tensor ModelBuilder::mean_squared_error(Tensor x, Tensor target) {
  return loss("mean_squared_error", 3, x, target);
}

}  // namespace emplace
