// Layers of sequence models: tables of vectors and recurrent cells.

#include "assemble.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace emplace {

Tensor ModelBuilder::embedding(Tensor table, Tensor ids) {
  const Output rows = value_of(graph_, table);
  const DataType type = value_of(graph_, ids).type;
  if (rows.shape.size() != 2 || (type != DataType::kInt32 && type != DataType::kInt64)) {
    fail(fmt::format("expected a table [vocabulary, width] and integers, found [{}] and {}",
                     fmt::join(rows.shape, ", "), to_string(type)));
  }
  auto result = shape(ids);
  Op op = make_op("embedding");
  op.shape = {product(result), rows.shape[0], rows.shape[1]};
  result.push_back(rows.shape[1]);
  op.outputs = {make_output(std::move(result), rows.type)};
  // Of the table, only the rows that are looked up are read.
  op.bytes_read = op.outputs[0].bytes - rows.bytes;
  return emit(std::move(op), {table, ids});
}

LstmState ModelBuilder::lstm_cell(Tensor x, LstmState before, Tensor weights, Tensor bias) {
  const Output state = value_of(graph_, before.h);
  const auto& input = shape(x);
  if (input.size() != 2 || state.shape.size() != 2 || input[0] != state.shape[0] ||
      shape(before.c) != state.shape) {
    fail(fmt::format("expected x [N, I] and a state of two [N, H], found [{}], [{}] and [{}]",
                     fmt::join(input, ", "), fmt::join(state.shape, ", "),
                     fmt::join(shape(before.c), ", ")));
  }
  const auto n = input[0];
  const auto i = input[1];
  const auto h = state.shape[1];
  const auto gates = product({4, h});
  if (shape(weights) != std::vector{sum({i, h}), gates} || shape(bias) != std::vector{gates}) {
    fail(fmt::format("expected weights [{}, {}] and bias [{}], found [{}] and [{}]", i + h, gates,
                     gates, fmt::join(shape(weights), ", "), fmt::join(shape(bias), ", ")));
  }
  Op op = make_op("lstm_cell");
  op.shape = {n, i, h};
  // For each number of the state: 4 biases and 4 activations, then c = f c + i g, h = o tanh(c).
  op.flops = sum({product({2, n, sum({i, h}), gates}), product({13, n, h})});
  op.outputs = {make_output(state.shape, state.type), make_output(state.shape, state.type),
                make_output({n, gates}, state.type)};
  const Tensor result = emit(std::move(op), {x, before.h, before.c, weights, bias});
  return {.h = result, .c = {result.op, 1}};
}

}  // namespace emplace
