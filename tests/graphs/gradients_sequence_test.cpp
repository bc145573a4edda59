// Gradients of what unrolled networks are made of: weights that several ops read, ops with several
// outputs, products, cells.

#include "support/errors.hpp"

#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace emplace::gradients_sequence_test {
namespace {

using test::find;
using test::inputs_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The training graph of what `layers` makes of [4, 6], which is classified.
template <class Layers>
OpGraph trained(const Layers& layers) {
  ModelBuilder net("small");
  const Tensor labels = net.input("labels", {4}, DataType::kInt32);
  net.softmax_cross_entropy(layers(net), labels);
  return training_graph(std::move(net).finish(), find_optimizer("sgd"));
}

TEST(SequenceGradients, UsesOfOneVariableAreAddedUpAndUpdatedOnce) {
  const OpGraph graph = trained([](ModelBuilder& net) {
    const Tensor weights = net.variable("weights", {6, 6});
    Tensor x = net.input("x", {4, 6});
    for (int step = 0; step < 3; ++step) {
      x = net.tanh(net.matmul(x, weights));
    }
    return x;
  });
  EXPECT_THAT(inputs_of(graph, "weights/grad_sum"),
              ElementsAre("matmul_3/grad_right:0", "matmul_2/grad_right:0", "matmul/grad_right:0"));
  const Op& sum = find(graph, "weights/grad_sum");
  EXPECT_EQ(sum.flops, 2 * 36);
  EXPECT_THAT(inputs_of(graph, "weights/update"), ElementsAre("weights/grad_sum:0", "weights:0"));
  EXPECT_EQ(find(graph, "weights/update").colocation, "weights/grad_sum");
  EXPECT_EQ(sum.colocation, "weights/grad_sum");
  EXPECT_EQ(find(graph, "matmul").colocation, "weights");
  EXPECT_EQ(find(graph, "matmul_2").colocation, "");
  EXPECT_THAT(inputs_of(graph, "tanh/grad"), ElementsAre("matmul_2/grad_left:0", "tanh:0"));
  EXPECT_EQ(find(graph, "tanh/grad").flops, 3 * 24);
}

// Two steps of a cell: x -> h1 -> h2. Only h2 is read in the end, so the second cell has no
// gradient of its c; the first has both, and neither its h nor its c before has any.
TEST(SequenceGradients, ALstmCellReadsTheGradientsThatThereAre) {
  const OpGraph graph = trained([](ModelBuilder& net) {
    const Tensor weights = net.variable("weights", {3 + 6, 24});
    const Tensor bias = net.variable("bias", {24});
    const Tensor zero = net.input("zero", {4, 6});
    LstmState state{.h = zero, .c = zero};
    for (int step = 0; step < 2; ++step) {
      state =
          net.lstm_cell(net.dense(net.input("x", {4, 3}), 3, Bias::kNone), state, weights, bias);
    }
    return state.h;
  });
  EXPECT_THAT(inputs_of(graph, "lstm_cell_2/grad"),
              ElementsAre("softmax_cross_entropy/grad:0", "matmul_2:0", "lstm_cell:0",
                          "lstm_cell:1", "weights:0", "lstm_cell_2:1", "lstm_cell_2:2"));
  // Outputs are the gradients of x, h, c, weights and bias.
  EXPECT_THAT(inputs_of(graph, "lstm_cell/grad"),
              ElementsAre("lstm_cell_2/grad:1", "lstm_cell_2/grad:2", "matmul:0", "zero:0",
                          "zero:0", "weights:0", "lstm_cell:1", "lstm_cell:2"));
  EXPECT_THAT(inputs_of(graph, "weights/grad_sum"),
              ElementsAre("lstm_cell_2/grad:3", "lstm_cell/grad:1"));
  EXPECT_THAT(inputs_of(graph, "bias/grad_sum"),
              ElementsAre("lstm_cell_2/grad:4", "lstm_cell/grad:2"));
  EXPECT_THAT(inputs_of(graph, "matmul/grad_right"), ElementsAre("x:0", "lstm_cell/grad:0"));

  const Op& second = find(graph, "lstm_cell_2/grad");
  EXPECT_EQ(second.kind, "lstm_cell_backward");
  EXPECT_THAT(second.shape, ElementsAre(4, 3, 6));
  ASSERT_EQ(second.outputs.size(), 5U);
  EXPECT_THAT(second.outputs[0].shape, ElementsAre(4, 3));
  EXPECT_THAT(second.outputs[3].shape, ElementsAre(9, 24));
  EXPECT_THAT(second.outputs[4].shape, ElementsAre(24));
  // dx and dh, weights, bias, and 23 for each number of the state.
  constexpr std::int64_t kProduct = 2 * 4 * 9 * 24;
  EXPECT_EQ(second.flops, 2 * kProduct + 3 * 24 + 23 * 4 * 6);
  EXPECT_EQ(second.bytes_read, 4 * (24 + 12 + 24 + 24 + 9 * 24 + 24 + 4 * 24));
  EXPECT_EQ(second.bytes_written, 4 * (12 + 24 + 24 + 9 * 24 + 24));

  // The state before the first step is an input: its gradient is neither made nor counted.
  const Op& first = find(graph, "lstm_cell/grad");
  ASSERT_EQ(first.outputs.size(), 3U);
  EXPECT_EQ(first.flops, 2 * kProduct - 2 * 4 * 6 * 24 + 3 * 24 + 23 * 4 * 6);
}

TEST(SequenceGradients, AnEmbeddingsGradientIsTheWholeTable) {
  const OpGraph graph = trained([](ModelBuilder& net) {
    return net.embedding(net.variable("table", {100, 6}), net.input("ids", {4}, DataType::kInt32));
  });
  EXPECT_THAT(inputs_of(graph, "embedding/grad"),
              ElementsAre("softmax_cross_entropy/grad:0", "ids:0"));
  const Op& gradient = find(graph, "embedding/grad");
  EXPECT_THAT(gradient.outputs[0].shape, ElementsAre(100, 6));
  EXPECT_EQ(gradient.flops, 4 * 6);
  EXPECT_EQ(gradient.bytes_written, 4 * 100 * 6 + 4 * 4 * 6);  // zeros, then sums of rows
  EXPECT_EQ(gradient.bytes_read, 2 * 4 * 4 * 6 + 4 * 4);       // gradient, rows so far, ids
}

TEST(SequenceGradients, APartThatNothingReadsHasAGradientOfZeros) {
  const OpGraph graph = trained([](ModelBuilder& net) {
    const auto parts = net.split(net.dense(net.input("x", {4, 2}), 18), 3, 1);
    return net.add(parts[0], net.sigmoid(parts[2]));
  });
  EXPECT_THAT(inputs_of(graph, "split/grad"),
              ElementsAre("softmax_cross_entropy/grad:0", "split/grad_part_1:0", "sigmoid/grad:0"));
  EXPECT_EQ(find(graph, "split/grad").kind, "concat");
  EXPECT_THAT(find(graph, "split/grad").shape, ElementsAre(3, 72));
  EXPECT_THAT(find(graph, "split/grad").outputs[0].shape, ElementsAre(4, 18));
  const Op& zeros = find(graph, "split/grad_part_1");
  EXPECT_EQ(zeros.kind, "zeros");
  EXPECT_THAT(inputs_of(graph, "split/grad_part_1"), IsEmpty());
  EXPECT_EQ(zeros.bytes_written, 4 * 4 * 6);
}

TEST(SequenceGradients, EachOutputIsSummedByItself) {
  const OpGraph graph = trained([](ModelBuilder& net) {
    const auto parts = net.split(net.dense(net.input("x", {4, 2}), 12), 2, 1);
    return net.multiply(parts[0], net.add(parts[1], net.scale(parts[1])));
  });
  EXPECT_THAT(inputs_of(graph, "split/grad"),
              ElementsAre("multiply/grad_left:0", "split/grad_sum_1:0"));
  EXPECT_THAT(inputs_of(graph, "multiply/grad_left"),
              ElementsAre("softmax_cross_entropy/grad:0", "add:0"));
  EXPECT_THAT(inputs_of(graph, "multiply/grad_right"),
              ElementsAre("softmax_cross_entropy/grad:0", "split:0"));
  EXPECT_EQ(find(graph, "scale/grad").kind, "scale");
}

// y = x^T w with x stored as [2, 4]: dx = w dy^T, which is 2 x 6 times 6 x 4.
TEST(SequenceGradients, ASideThatIsStoredTransposedGetsItsGradientTransposed) {
  const OpGraph graph = trained([](ModelBuilder& net) {
    return net.matmul(net.variable("x", {2, 4}), net.variable("w", {6, 2}),
                      {.left = true, .right = true});
  });
  EXPECT_THAT(find(graph, "matmul/grad_left").shape, ElementsAre(2, 4, 6));
  EXPECT_THAT(find(graph, "matmul/grad_left").outputs[0].shape, ElementsAre(2, 4));
  EXPECT_THAT(find(graph, "matmul/grad_right").shape, ElementsAre(6, 2, 4));
  EXPECT_THAT(find(graph, "matmul/grad_right").outputs[0].shape, ElementsAre(6, 2));
  EXPECT_THAT(inputs_of(graph, "matmul/grad_right"),
              ElementsAre("softmax_cross_entropy/grad:0", "x:0"));
}

TEST(SequenceGradients, ABatchOfProductsHasBatchesOfProductsAsGradients) {
  const OpGraph graph = trained([](ModelBuilder& net) {
    const Tensor x = net.dense(net.input("x", {3, 5, 7}), 8);
    const Tensor scores = net.softmax(net.batch_matmul(x, x, {.right = true}));  // [3, 5, 5]
    const Tensor mixed = net.batch_matmul(scores, x);                            // [3, 5, 8]
    return net.reshape(net.transpose(mixed, std::array<std::size_t, 3>{1, 2, 0}), {4, 30});
  });
  const Op& values = find(graph, "batch_matmul_2/grad_right");
  EXPECT_EQ(values.kind, "batch_matmul");
  EXPECT_THAT(values.shape, ElementsAre(3, 5, 8, 5));  // scores^T times dy
  EXPECT_EQ(values.flops, 2 * 3 * 5 * 8 * 5);
  EXPECT_THAT(find(graph, "batch_matmul_2/grad_left").shape, ElementsAre(3, 5, 5, 8));
  EXPECT_THAT(find(graph, "batch_matmul/grad_right").shape, ElementsAre(3, 5, 8, 5));
  EXPECT_THAT(inputs_of(graph, "bias_add/grad_sum"),
              ElementsAre("batch_matmul_2/grad_right:0", "batch_matmul/grad_right:0",
                          "batch_matmul/grad_left:0"));
  // Axis 0 of the result was axis 1 of the input, and so on: back with axes 2, 0, 1.
  EXPECT_THAT(find(graph, "transpose/grad").shape, ElementsAre(5, 8, 3, 2, 0, 1));
  EXPECT_THAT(find(graph, "transpose/grad").outputs[0].shape, ElementsAre(3, 5, 8));
  EXPECT_THAT(find(graph, "reshape/grad").outputs[0].shape, ElementsAre(5, 8, 3));
}

TEST(SequenceGradients, NamesAnOutputThatHasNoGradientRule) {
  const auto train_on_output = [](std::int32_t output) {
    trained([&](ModelBuilder& net) {
      Tensor rows = net.layer_norm(net.dense(net.input("x", {4, 2}), 6));
      const Tensor relu = net.relu(rows);
      rows.output = output;
      return net.add(relu, net.dense(rows, 6));
    });
  };
  EXPECT_NO_THROW(train_on_output(0));
  EXPECT_THAT(test::error_of(ErrorCode::kUnsupported, [&] { train_on_output(1); }),
              HasSubstr("op 'layer_norm' of kind layer_norm: no gradient rule for its output 1"));
}

}  // namespace
}  // namespace emplace::gradients_sequence_test
