// What looks up, chooses and sends numbers on: tables, mixtures of experts, interactions of
// features.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace emplace::operators {
namespace {

using enum OpClass;

constexpr std::string_view kLookup = "[ids, vocabulary, width]";
constexpr std::string_view kBags = "[bags, lookups, rows, width]";
constexpr std::string_view kChoice = "[tokens, experts, k]: k experts for each token";
constexpr std::string_view kRouted =
    "[tokens, width, k, experts, capacity]: k experts for each token, capacity tokens for each "
    "expert";
constexpr std::string_view kProbabilities = "[tokens, experts]";
constexpr std::string_view kSquares = "[N, F]: N matrices of F x F";

bool are_integers(const Output& ids) {
  return ids.type == DataType::kInt32 || ids.type == DataType::kInt64;
}

// --- Tables ---

// Rows of a table [vocabulary, width] by integers of any shape.
std::vector<Output> infer_embedding(const Call& call) {
  const Output& table = call.input(0);
  const Output& ids = call.input(1);
  if (table.shape.size() != 2 || !are_integers(ids)) {
    fail_shapes(fmt::format("expected a table [vocabulary, width] and integers, found [{}] and {}",
                            fmt::join(table.shape, ", "), to_string(ids.type)));
  }
  Shape result = ids.shape;
  result.push_back(table.shape[1]);
  return {make_output(std::move(result), table.type)};
}

// Of the table, only the rows that are looked up are read.
void count_embedding(Op& op, const Call& call) {
  const Output& table = call.input(0);
  if (table.shape.size() != 2) {
    fail_shapes(fmt::format("expected a table [vocabulary, width], found [{}]",
                            fmt::join(table.shape, ", ")));
  }
  op.shape = {product(call.input(1).shape), table.shape[0], table.shape[1]};
  op.bytes_read = call.result().bytes - table.bytes;
}

// Inputs are the gradient of the rows and the ids; the result is zeros, to which each id adds its
// row.
void count_embedding_gradient(Op& op, const Call& call) {
  const Shape& table = call.result().shape;
  if (table.size() == 2) {
    op.shape = {product(call.input(1).shape), table[0], table[1]};
  }
  op.flops = call.input_elements();
  op.bytes_read = call.input(0).bytes;
  op.bytes_written = call.input(0).bytes;
}

void embedding(GradientStep& step) {
  step.give_by_operator(0, "embedding_backward", "grad", {step.gradient(), step.input(1)});
}

// Sums of rows of a table [rows, width] by integers [bags, lookups].
std::vector<Output> infer_embedding_bag(const Call& call) {
  const Output& table = call.input(0);
  const Output& ids = call.input(1);
  if (table.shape.size() != 2 || ids.shape.size() != 2 || !are_integers(ids)) {
    fail_shapes(
        fmt::format("expected a table [rows, width] and integers [bags, lookups], found [{}] and "
                    "[{}] of {}",
                    fmt::join(table.shape, ", "), fmt::join(ids.shape, ", "), to_string(ids.type)));
  }
  return {make_output({ids.shape[0], table.shape[1]}, table.type)};
}

// The result has a row for each bag. A third input is a factor for each row.
void count_embedding_bag(Op& op, const Call& call) {
  const Output& table = call.input(0);
  if (table.shape.size() != 2) {
    fail_shapes(
        fmt::format("expected a table [rows, width], found [{}]", fmt::join(table.shape, ", ")));
  }
  const std::int64_t width = table.shape[1];
  const std::int64_t bags = call.result().shape.empty() ? 1 : call.result().shape[0];
  const std::int64_t lookups = product(call.input(1).shape);
  op.shape = {bags, bags == 0 ? 0 : (lookups + bags - 1) / bags, table.shape[0], width};
  const bool is_mean = call.as<BagAttributes>().mode == "mean";
  op.flops = product({std::max<std::int64_t>(lookups - (is_mean ? 0 : bags), 0), width});
  if (call.inputs.size() > 2) {
    op.flops = sum({op.flops, product({lookups, width})});
  }
  op.bytes_read = product({lookups, width, size_of(table.type)}) - table.bytes;
}

// Only the rows that were looked up have a gradient; they are not spread over a whole table.
void embedding_bag(GradientStep& step) {
  Op op = step.make_op("embedding_bag_backward", "grad");
  const Output table = step.input_value(0);
  op.outputs = {make_output({product({step.dimension(0), step.dimension(1)}), step.dimension(3)},
                            table.type)};
  step.give(0, step.emit(std::move(op), std::array{step.gradient(), step.input(1)}));
}

// --- Experts ---

// The k largest of each row, along the axis: a comparison for each place and candidate.
void count_top_k(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  const Shape& result = call.result().shape;
  const std::size_t axis = x.empty() ? 0 : axis_of(call.as<AxisAttributes>().axis, x.size());
  const std::int64_t columns = x.empty() ? 1 : x[axis];
  if (result.size() != x.size()) {
    fail_shapes(
        fmt::format("expected a result of {} dimensions, found {}", x.size(), result.size()));
  }
  const std::int64_t k = x.empty() ? 1 : result[axis];
  op.shape = {columns == 0 ? 0 : product(x) / columns, columns, k};
  op.flops = product(op.shape);
}

// Weights' gradients go to the probabilities that were chosen, zeros to the others.
void top_k(GradientStep& step) {
  Op op = step.make_op("top_k_backward", "grad");
  op.outputs = {like(step.input_value(0))};
  if (step.wants(0)) {
    step.give(0, step.emit(std::move(op), std::array{step.gradient(), step.output(1)}));
  }
}

// Inputs are x [tokens, width] and the experts of each token [tokens, k]; each result is what an
// expert receives, [capacity, width].
void count_dispatch(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  const Shape& chosen = call.input(1).shape;
  op.shape = {x.at(0), x.at(1), chosen.at(1), std::ssize(call.results), call.result().shape.at(0)};
}

// A token's gradient is the sum of those of its copies.
void dispatch(GradientStep& step) {
  const Op forward = step.op();
  std::vector<Tensor> inputs;
  for (std::int32_t i = 0; index_of(i) < forward.outputs.size(); ++i) {
    if (step.has_gradient(i)) {
      inputs.push_back(step.gradient(i));
    }
  }
  inputs.push_back(step.input(1));
  Op op = step.make_op("moe_dispatch_backward", "grad");
  op.flops = product({step.dimension(2) - 1, elements(step)});
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), inputs));
}

// Inputs are the results of the experts [capacity, width], then weights and numbers of each token's
// experts [tokens, k].
void count_combine(Op& op, const Call& call) {
  const std::size_t experts = call.inputs.size() - 2;
  const Shape& chosen = call.input(experts).shape;
  const Shape& result = call.input(0).shape;
  op.shape = {chosen.at(0), result.at(1), chosen.at(1), static_cast<std::int64_t>(experts),
              result[0]};
  op.flops = product({2, chosen[1], chosen[0], result[1]});
}

// A result's gradient is the token's times its weight, a weight's the product of the token's
// gradient and the result.
void combine(GradientStep& step) {
  const std::size_t experts = step.num_inputs() - 2;
  Op op = step.make_op("moe_combine_backward", "grad");
  op.flops = product({3, step.dimension(2), product(step.op().outputs[0].shape)});
  std::vector<Tensor> inputs{step.gradient()};
  for (std::size_t i = 0; i < experts + 2; ++i) {
    inputs.push_back(step.input(i));
  }
  for (std::size_t i = 0; i <= experts; ++i) {
    op.outputs.push_back(like(step.input_value(i)));
  }
  Tensor gradient = step.emit(std::move(op), inputs);
  for (std::size_t i = 0; i <= experts; ++i, ++gradient.output) {
    step.give(i, gradient);
  }
}

// Of each row of the input, k experts do their layers: `x`, then the weights of all experts,
// [experts,
// ...], and the weights and numbers of each token's experts, [tokens, k], last.
void count_experts(Op& op, const Call& call) {
  const Shape& x = call.input(0).shape;
  const std::int64_t columns = x.empty() ? 1 : x.back();
  const std::int64_t rows = columns == 0 ? 0 : product(x) / columns;
  std::int64_t numbers = 0;  // of one expert
  for (const Output& weights : call.inputs.subspan(2)) {
    if (!weights.shape.empty()) {
      numbers = sum({numbers, product(std::span(weights.shape).subspan(1))});
    }
  }
  const std::int64_t chosen = call.input(1).shape.empty() ? 1 : call.input(1).shape.back();
  op.shape = {rows, chosen, numbers};
  op.flops = product({2, product(op.shape)});
}

std::vector<Output> infer_balance_loss(const Call& call) {
  const Shape& rows = call.input(0).shape;
  const Shape& chosen = call.input(1).shape;
  if (rows.size() != 2 || chosen.size() != 2 || chosen[0] != rows[0]) {
    fail_shapes(
        fmt::format("expected probabilities [tokens, experts] and a routing of as many tokens, "
                    "found [{}] and [{}]",
                    fmt::join(rows, ", "), fmt::join(chosen, ", ")));
  }
  return {make_output({}, DataType::kFloat32)};
}

// The mean probability and the count of each expert, their products and the sum of these.
void count_balance_loss(Op& op, const Call& call) {
  const Shape& rows = call.input(0).shape;
  op.shape = rows;
  op.flops = sum({product(rows), product(call.input(1).shape), product({2, rows.at(1)})});
}

// Every probability's gradient is its expert's share of the tokens times a constant.
void balance_loss(GradientStep& step) {
  step.expect_constant_gradient();
  if (!step.wants(0)) {
    return;
  }
  Op op = step.make_op("balance_loss_backward", "grad");
  op.flops = sum({product(step.input_value(1).shape), step.dimension(1)});
  op.outputs = {like(step.input_value(0))};
  step.give(0, step.emit(std::move(op), std::array{step.input(1)}));
}

// --- Interactions of features ---

std::vector<Output> infer_lower_triangle(const Call& call) {
  const Output& x = call.input(0);
  if (x.shape.size() != 3 || x.shape[1] != x.shape[2] || x.shape[1] < 2) {
    fail_shapes(fmt::format("expected square matrices [N, F, F] of at least 2 x 2, found [{}]",
                            fmt::join(x.shape, ", ")));
  }
  const std::int64_t f = x.shape[1];
  return {make_output({x.shape[0], f * (f - 1) / 2}, x.type)};
}

void count_lower_triangle(Op& op, const Call& call) {
  op.shape = {call.input(0).shape.at(0), call.input(0).shape.at(1)};
  read_only_result(op, call);
}

// The triangle's gradients among zeros.
void lower_triangle(GradientStep& step) {
  if (step.wants(0)) {
    Op op = step.make_op("lower_triangle_backward", "grad");
    op.outputs = {like(step.input_value(0))};
    step.give(0, step.emit(std::move(op), std::array{step.gradient()}));
  }
}

constexpr std::array kRoutings = {
    Operator{.kind = {"balance_loss", kReduction, true, kProbabilities,
                      "loss that grows where few experts get most tokens"},
             .infer = infer_balance_loss,
             .count = count_balance_loss,
             .gradient = balance_loss},
    Operator{.kind = {"balance_loss_backward", kReduction, true, kProbabilities,
                      "gradient of balance_loss, from the routing"}},
    Operator{.kind = {"embedding", kDataMovement, true, kLookup, "rows of a table, by integers"},
             .infer = infer_embedding,
             .count = count_embedding,
             .gradient = embedding},
    in_kernels(2, Operator{.kind = {"embedding_backward", kDataMovement, true, kLookup,
                                    "gradient of the whole table, dense"},
                           .count = count_embedding_gradient}),
    Operator{.kind = {"embedding_bag", kDataMovement, true, kBags,
                      "sums of rows of a table, by integers"},
             .infer = infer_embedding_bag,
             .count = count_embedding_bag,
             .gradient = embedding_bag,
             .from_key = by_default<BagAttributes>},
    Operator{.kind = {"embedding_bag_backward", kDataMovement, true, kBags,
                      "gradient of the rows that were looked up"}},
    Operator{
        .kind = {"lower_triangle", kDataMovement, true, kSquares, "the part below the diagonals"},
        .infer = infer_lower_triangle,
        .count = count_lower_triangle,
        .gradient = lower_triangle},
    Operator{.kind = {"lower_triangle_backward", kDataMovement, true, kSquares,
                      "gradient of lower_triangle"}},
    Operator{.kind = {"moe_combine", kDataMovement, true, kRouted,
                      "weighted sums of what its experts made of each token"},
             .count = count_combine,
             .gradient = combine},
    Operator{.kind = {"moe_combine_backward", kDataMovement, true, kRouted,
                      "gradients of moe_combine: of the experts' results, and of the weights"}},
    Operator{.kind = {"moe_dispatch", kDataMovement, true, kRouted,
                      "copies of tokens for their experts"},
             .count = count_dispatch,
             .gradient = dispatch},
    Operator{.kind = {"moe_dispatch_backward", kDataMovement, true, kRouted,
                      "gradient of moe_dispatch"}},
    Operator{.kind = {"moe_layers", kMatmul, true,
                      "[tokens, k, numbers]: k experts for each token, numbers of weights of one "
                      "expert",
                      "layers of a mixture of experts; each token takes k"},
             .count = count_experts,
             .only_imported = true},
    Operator{
        .kind = {"top_k", kReduction, true, kChoice, "the most probable experts of each token"},
        .count = count_top_k,
        .gradient = top_k,
        .from_key = by_default<AxisAttributes>},
    Operator{.kind = {"top_k_backward", kReduction, true, kChoice,
                      "gradient of top_k, from its choice"}},
};

}  // namespace

std::span<const Operator> routings() { return kRoutings; }

}  // namespace emplace::operators
