// What computes nothing: it joins, cuts, repeats, reorders, picks and places numbers.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "operators.hpp"

#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

namespace emplace::operators {
namespace {

using enum OpClass;
using enum ResultMemory;

constexpr std::string_view kParts = "[parts, elements]: elements in all parts together";
constexpr std::string_view kPermutation = "the input's shape, then its axes in their new order";
constexpr std::string_view kBlock = "[elements, elements of the whole]";
constexpr std::string_view kCopies = "[copies, elements of one]";
constexpr std::string_view kMoved = "[elements of the result, elements]";

// --- Results ---

std::vector<Output> infer_concat(const Call& call) {
  Output joined = call.input(0);
  const std::size_t axis = axis_of(call.as<AxisAttributes>().axis, joined.shape.size());
  for (const Output& part : call.inputs.subspan(1)) {
    Shape expected = joined.shape;
    if (part.shape.size() == expected.size()) {
      expected[axis] = part.shape[axis];
    }
    if (part.shape != expected || part.type != joined.type) {
      fail_shapes(fmt::format("cannot join [{}] to [{}] along axis {}", fmt::join(part.shape, ", "),
                              fmt::join(joined.shape, ", "), axis));
    }
    joined.shape[axis] = sum({joined.shape[axis], expected[axis]});
  }
  return {make_output(std::move(joined.shape), joined.type)};
}

std::vector<Output> infer_transpose_axes(const Call& call) {
  const Output& value = call.input(0);
  const Shape& axes = call.as<TransposeAttributes>().perm;
  Shape all(value.shape.size());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  if (!std::ranges::is_permutation(axes, all)) {
    fail_shapes(fmt::format("cannot reorder the axes of [{}] as [{}]", fmt::join(value.shape, ", "),
                            fmt::join(axes, ", ")));
  }
  Shape reordered;
  for (const std::int64_t axis : axes) {
    reordered.push_back(value.shape[static_cast<std::size_t>(axis)]);
  }
  return {make_output(std::move(reordered), value.type)};
}

// --- Costs ---

void count_concat(Op& op, const Call& call) {
  op.shape = {std::ssize(call.inputs), call.elements()};
}

void count_split(Op& op, const Call& call) {
  op.shape = {std::ssize(call.results), call.input_elements()};
}

std::int64_t elements_of_all(Tensors tensors) {
  std::int64_t all = 0;
  for (const Output& tensor : tensors) {
    all = sum({all, product(tensor.shape)});
  }
  return all;
}

void count_flatten(Op& op, const Call& call) {
  op.shape = {std::ssize(call.inputs), elements_of_all(call.inputs)};
}

void count_unflatten(Op& op, const Call& call) {
  op.shape = {std::ssize(call.results), elements_of_all(call.results)};
}

void count_transpose_axes(Op& op, const Call& call) {
  const Shape& axes = call.as<TransposeAttributes>().perm;
  op.shape = call.input(0).shape;
  op.shape.insert(op.shape.end(), axes.begin(), axes.end());
}

Attributes perm_from_key(const Op& op) {
  const auto half = static_cast<std::ptrdiff_t>(op.shape.size() / 2);
  return TransposeAttributes{.perm = {op.shape.begin() + half, op.shape.end()}};
}

void count_view(Op& op, const Call& call) { op.shape = call.result().shape; }

// Of the whole, only the block is read.
void count_pick(Op& op, const Call& call) {
  count_movement(op, call);
  read_only_result(op, call);
}

// Rows of a table of quantized numbers, and of its scales and zeros; a number takes a difference
// and a product. Inputs are the table, the ids, scales and zeros, all as many rows as the table.
void count_quantized_gather(Op& op, const Call& call) {
  count_movement(op, call);
  op.flops = product({call.of.flops, call.elements()});
  const std::int64_t lookups = product(call.input(1).shape);
  const std::int64_t rows = call.input(0).shape.empty() ? 1 : call.input(0).shape[0];
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::int64_t bytes = i == 1 ? 0 : call.inputs[i].bytes;
    op.bytes_read += product({bytes / std::max<std::int64_t>(rows, 1), lookups}) - bytes;
  }
}

// Zeros around a block: the key is that of the block.
void count_block_gradient(Op& op, const Call& call) {
  op.shape = {call.input_elements(), call.elements()};
}

void count_copies(Op& op, const Call& call) {
  const std::int64_t one = call.input_elements();
  op.shape = {one == 0 ? 0 : call.elements() / one, one};
}

// The sum over the copies.
void count_copies_gradient(Op& op, const Call& call) {
  const std::int64_t one = call.elements();
  op.shape = {one == 0 ? 0 : call.input_elements() / one, one};
  op.flops = call.input_elements() - one;
}

// Where rows are picked several times, their gradients are added up.
void count_pick_gradient(Op& op, const Call& call) { op.flops = call.input_elements(); }

// A number of the result is a weighted sum of two neighbours along each axis that is scaled, of
// four if the curve is cubic.
std::int64_t resize_flops(const Call& call, const Shape& from, const Shape& to) {
  const std::string& mode = call.as<ResizeAttributes>().mode;
  const std::int64_t neighbours = mode == "linear" ? 2 : mode == "cubic" ? 4 : 1;
  std::int64_t terms = 1;
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    terms = product({terms, from[i] == to[i] ? 1 : neighbours});
  }
  return terms == 1 ? 0 : product({2 * terms - 1, product(to)});
}

void count_resize(Op& op, const Call& call) {
  count_movement(op, call);
  op.flops = resize_flops(call, call.input(0).shape, call.result().shape);
}

// Each result's gradient is added to the gradients of the numbers that it was made of.
void count_resize_gradient(Op& op, const Call& call) {
  op.shape = {call.input_elements(), call.elements()};
  op.flops =
      sum({resize_flops(call, call.result().shape, call.input(0).shape), call.input_elements()});
}

// --- Gradients ---

void concat(GradientStep& step) {
  std::vector<Output> parts;
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    parts.push_back(like(step.input_value(i)));
  }
  Tensor part = step.add("split", "grad", step.attributes(), {step.gradient()}, std::move(parts));
  for (std::size_t i = 0; i < step.num_inputs(); ++i, ++part.output) {
    step.give(i, part);
  }
}

// The parts' gradients are joined again. A part that nothing reads has a gradient of zeros.
void split(GradientStep& step) {
  const Op forward = step.op();
  std::vector<Tensor> parts;
  parts.reserve(forward.outputs.size());
  for (std::int32_t i = 0; i < std::ssize(forward.outputs); ++i) {
    parts.push_back(step.has_gradient(i) ? step.gradient(i)
                                         : step.add("zeros", fmt::format("grad_part_{}", i), {}, {},
                                                    {like(forward.outputs[index_of(i)])}));
  }
  step.give(0, step.add("concat", "grad", step.attributes(), parts, {like(step.input_value(0))}));
}

void reshape(GradientStep& step) { step.give_by_operator(0, "reshape", "grad", {step.gradient()}); }

// The inverse permutation.
void transpose(GradientStep& step) {
  const Shape axes = std::get<TransposeAttributes>(step.attributes()).perm;
  TransposeAttributes inverse{.perm = Shape(axes.size())};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inverse.perm.at(static_cast<std::size_t>(axes[i])) = static_cast<std::int64_t>(i);
  }
  step.give(0, step.add("transpose", "grad", std::move(inverse), {step.gradient()},
                        {like(step.input_value(0))}));
}

// Zeros around the block.
void slice(GradientStep& step) {
  step.give_by_operator(0, "slice_backward", "grad", {step.gradient()});
}

void broadcast_copies(GradientStep& step) {
  step.give_by_operator(0, "broadcast_backward", "grad", {step.gradient()});
}

// The gradients of all copies are added up.
void repeat(GradientStep& step) {
  step.give_by_operator(0, "reduce_sum", "grad", {step.gradient()});
}

// The shift back.
void relative_shift(GradientStep& step) {
  step.give_by_operator(0, "relative_shift", "grad", {step.gradient()});
}

void shift2d(GradientStep& step) {
  step.give_by_operator(0, "shift2d_backward", "grad", {step.gradient()});
}

// The part of the gradient that the input became.
void pad(GradientStep& step) { step.give_by_operator(0, "slice", "grad", {step.gradient()}); }

// Numbers go back to where they were taken from. What says where is no real number.
void place_back(GradientStep& step) {
  const std::string name = fmt::format("{}_backward", step.op().kind);
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    std::vector<Tensor> inputs{step.gradient()};
    for (std::size_t k = 1; k < step.num_inputs(); ++k) {
      if (k != i && !is_floating(step.input_value(k).type)) {
        inputs.push_back(step.input(k));
      }
    }
    step.give_by_operator(i, name, i == 0 ? "grad" : fmt::format("grad_{}", i), inputs);
  }
}

void gather(GradientStep& step) {
  std::vector<Tensor> inputs{step.gradient()};
  for (std::size_t i = 1; i < step.num_inputs(); ++i) {
    inputs.push_back(step.input(i));
  }
  step.give_by_operator(0, fmt::format("{}_backward", step.op().kind), "grad", inputs);
}

void resize(GradientStep& step) {
  step.give_by_operator(0, "resize_backward", "grad", {step.gradient()});
}

// The blocks back.
void depth_to_space(GradientStep& step) {
  step.give_by_operator(0, "space_to_depth", "grad", {step.gradient()});
}

void space_to_depth(GradientStep& step) {
  step.give_by_operator(0, "depth_to_space", "grad", {step.gradient()});
}

void trilu(GradientStep& step) { step.give_by_operator(0, "trilu", "grad", {step.gradient()}); }

// Each number of the result goes back to the four that it came from, and tells how it changes with
// its place: twice the work.
void grid_sample(GradientStep& step) {
  step.give_all("grid_sample_backward", product({2, step.op().flops}), {});
}

void copy(GradientStep& step) { step.give_by_operator(0, "copy", "grad", {step.gradient()}); }

// --- Rows ---

// A kind that only imported graphs have, with the key [elements of the result, elements].
constexpr Operator moves(std::string_view name, std::string_view summary,
                         Gradient gradient = nullptr, Count count = count_movement) {
  return {.kind = {name, kDataMovement, true, kMoved, summary},
          .count = count,
          .gradient = gradient,
          .only_imported = true};
}

// A view of a part, or of repeats, as PyTorch makes them: nothing is read or written.
constexpr Operator view(std::string_view name, std::string_view summary, std::string_view key,
                        Count count, Gradient gradient) {
  return {.kind = {name, kDataMovement, false, key, summary, kView},
          .count = count,
          .gradient = gradient,
          .only_imported = true};
}

constexpr std::array kMovements = {
    Operator{.kind = {"broadcast", kDataMovement, true, kCopies, "copies of a tensor"},
             .count = count_copies,
             .gradient = broadcast_copies},
    Operator{
        .kind = {"broadcast_backward", kReduction, true, kCopies, "gradient of broadcast: a sum"},
        .count = count_copies_gradient},
    Operator{.kind = {"concat", kDataMovement, true, kParts, "joins tensors along one dimension"},
             .infer = infer_concat,
             .count = count_concat,
             .gradient = concat,
             .from_key = by_default<AxisAttributes>},
    Operator{.kind = {"relative_shift", kDataMovement, true, kElements,
                      "scores by distance to scores by key, or back"},
             .infer = same,
             .count = count_results,
             .gradient = relative_shift},
    Operator{.kind = {"reshape", kDataMovement, false, kTensor,
                      "the same elements in another shape", kView},
             .count = count_view,
             .gradient = reshape},
    Operator{.kind = {"shift2d", kDataMovement, true, kElements,
                      "each feature map one place up and to the left"},
             .infer = same,
             .count = count_results,
             .gradient = shift2d},
    Operator{.kind = {"shift2d_backward", kDataMovement, true, kElements, "gradient of shift2d"},
             .infer = same,
             .count = count_results},
    Operator{.kind = {"slice", kDataMovement, true, kBlock, "a block of a tensor"},
             .count = count_pick,
             .gradient = slice},
    in_kernels(2, Operator{.kind = {"slice_backward", kDataMovement, true, kBlock,
                                    "gradient of slice: zeros around it"},
                           .count = count_block_gradient}),
    Operator{
        .kind = {"split", kDataMovement, true, kParts, "parts of a tensor along one dimension"},
        .count = count_split,
        .gradient = split,
        .from_key = by_default<AxisAttributes>},
    Operator{.kind = {"transpose", kDataMovement, true, kPermutation,
                      "the same elements, axes reordered"},
             .infer = infer_transpose_axes,
             .count = count_transpose_axes,
             .gradient = transpose,
             .from_key = perm_from_key},
    view("expand_view", "repeats of a tensor, which is stored once", kCopies, count_copies, repeat),
    view("slice_view", "a block of a tensor, where it is", kBlock, count_movement, slice),
    view("split_view", "parts of a tensor, where they are", kParts, count_split, split),
    moves("copy", "the same numbers elsewhere, or in another order", copy),
    moves("depth_to_space", "channels become blocks of a map", depth_to_space),
    moves("expand", "copies along any dimensions", repeat),
    moves("eye_like", "an identity matrix"),
    Operator{.kind = {"flatten_dense_tensors", kDataMovement, true, kParts,
                      "tensors one after the other, in chunks"},
             .count = count_flatten,
             .only_imported = true},
    moves("gather", "parts of a tensor, by integers, one or several for each", gather, count_pick),
    moves("gather_elements", "elements of a tensor, by integers", gather, count_pick),
    in_kernels(2, moves("gather_backward", "gradient of gather", nullptr, count_pick_gradient)),
    in_kernels(2, moves("gather_elements_backward", "gradient of gather_elements", nullptr,
                        count_pick_gradient)),
    Operator{.kind = {"grid_sample", kDataMovement, true, kElements, "a map seen at given places"},
             .count = count_results,
             .gradient = grid_sample,
             .flops = 7,  // four products and three sums
             .only_imported = true},
    Operator{
        .kind = {"grid_sample_backward", kDataMovement, true, kElements, "gradient of grid_sample"},
        .only_imported = true},
    in_kernels(2, moves("one_hot", "rows with one number that is not 0")),
    in_kernels(2, moves("pad", "numbers around a tensor", pad)),
    Operator{.kind = {"quantized_gather", kDataMovement, true, kMoved,
                      "parts of a quantized tensor, as real numbers"},
             .count = count_quantized_gather,
             .flops = 2,
             .only_imported = true},
    moves("range", "numbers at equal distances"),
    Operator{.kind = {"resize", kDataMovement, true, kMoved, "a map in another size"},
             .count = count_resize,
             .gradient = resize,
             .from_key = by_default<ResizeAttributes>,
             .only_imported = true},
    in_kernels(
        2, Operator{.kind = {"resize_backward", kDataMovement, true, kMoved, "gradient of resize"},
                    .count = count_resize_gradient,
                    .from_key = by_default<ResizeAttributes>,
                    .only_imported = true}),
    moves("reverse_sequence", "rows from behind"),
    in_kernels(2, moves("scatter_elements", "a tensor with some elements replaced", place_back)),
    in_kernels(2, moves("scatter_nd", "a tensor with some parts replaced", place_back)),
    moves("scatter_elements_backward", "gradient of scatter_elements"),
    moves("scatter_nd_backward", "gradient of scatter_nd"),
    moves("space_to_depth", "blocks of a map become channels", space_to_depth),
    moves("tile", "copies side by side", repeat),
    moves("trilu", "one side of a matrix' diagonal", trilu),
    Operator{.kind = {"unflatten_dense_tensors", kDataMovement, true, kParts,
                      "chunks as the tensors that they were"},
             .count = count_unflatten,
             .only_imported = true},
};

}  // namespace

std::span<const Operator> movements() { return kMovements; }

}  // namespace emplace::operators
