// LSTM cells, attention and tanh clipping, by hand and against central differences.

#include "agents/src/nn/arena.hpp"
#include "agents/src/nn/kernels.hpp"
#include "agents/src/nn/tape.hpp"
#include "agents/tape_differences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace emplace::agents::nn::nn_recurrent_test {
namespace {

constexpr Layout kLayouts[] = {Layout::kPanels, Layout::kRows};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class NnRecurrent : public testing::Test {
 protected:
  void SetUp() override { randomize(parameters); }

  Parameters<double> parameters = [] {
    Parameters<double> p;
    p.add("gates", 3, 8);
    p.add("state", 3, 2);
    p.add("again", 2, 8);
    p.add("memory", 3, 5);
    p.add("query", 4, 5);
    p.add("attention", 5, 1);
    return p;
  }();
};

TEST_F(NnRecurrent, DifferentiatesLstmCells) {
  for (const Layout layout : kLayouts) {
    for (const std::size_t rows : {1U, 5U, 19U}) {
      expect_gradient_like_differences(parameters, [rows, layout](DoubleTape& tape) {
        const Value x = random_input(tape, rows, 3, layout);
        const Value gates = tape.lstm_gates(tape.affine(x, 0, Activation::kNone));
        const Value before = tape.affine(x, 1, Activation::kNone);
        const Value state = tape.lstm_cell(gates, before);
        return tape.concat(std::array{tape.lstm_hidden(gates, state), state});
      });
    }
  }
}

// Three steps, so that each layer is used several times and gradients come from later ones.
Value after_three_steps(DoubleTape& tape, Layout layout) {
  Value state = tape.input(4, 2, layout);
  Value hidden = tape.input(4, 2, layout);
  for (std::size_t step = 0; step < 3; ++step) {
    const Value table = tape.affine(random_input(tape, 3 + step, 3), 0, Activation::kNone);
    const Value inputs = tape.add_rows(tape.affine(hidden, 2, Activation::kNone), table,
                                       std::array<std::int32_t, 4>{0, 2, 0, 1});
    const Value gates = tape.lstm_gates(inputs);
    state = tape.lstm_cell(gates, state);
    hidden = tape.lstm_hidden(gates, state);
  }
  return hidden;
}

TEST_F(NnRecurrent, DifferentiatesThroughTime) {
  for (const Layout layout : kLayouts) {
    expect_gradient_like_differences(
        parameters, [layout](DoubleTape& tape) { return after_three_steps(tape, layout); });
  }
}

TEST_F(NnRecurrent, GivesTheSameBitsInRowsAsInPanels) {
  std::vector<std::vector<double>> numbers;  // of the hidden state, then the gradient; by layout
  for (const Layout layout : kLayouts) {
    DoubleTape tape(parameters);
    const Value hidden = after_three_steps(tape, layout);
    std::vector<double>& all = numbers.emplace_back();
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t column = 0; column < 2; ++column) {
        all.push_back(tape.value(hidden)(row, column));
        tape.seed(hidden)(row, column) = weight(row, column);
      }
    }
    std::vector<double> gradient(parameters.values().size());
    tape.backward(gradient);
    all.insert(all.end(), gradient.begin(), gradient.end());
  }
  EXPECT_EQ(numbers[0], numbers[1]);
}

// One layer in both layouts in one pass, and sums of rows from one layout to another.
TEST_F(NnRecurrent, DifferentiatesChangesOfLayout) {
  SegmentSum sums;
  for (const std::int32_t row : {2, 0, 2}) {
    sums.add(0, row);
    sums.add(1, 1);
    sums.end_row();
  }
  expect_gradient_like_differences(parameters, [&sums](DoubleTape& tape) {
    const Value panels = tanh_of(tape, tape.affine(random_input(tape, 3, 3), 1, Activation::kNone));
    const Value rows = tape.affine(random_input(tape, 5, 3, Layout::kRows), 1, Activation::kRelu);
    const std::array sources = {panels, rows};
    const Value both = tape.concat(
        std::array{tape.segment_sum(sources, sums, 1, Combine::kMean, Layout::kRows),
                   tape.in_layout(tape.segment_sum(sources, sums), Layout::kRows),
                   tape.in_layout(tape.in_layout(panels, Layout::kColumns), Layout::kRows)});
    return tape.concat(std::array{both, tanh_of(tape, both)});
  });
}

TEST_F(NnRecurrent, DifferentiatesAttention) {
  for (const std::size_t rows : {1U, 3U, 18U}) {
    expect_gradient_like_differences(parameters, [rows](DoubleTape& tape) {
      const Value memory = tape.in_layout(
          tape.affine(random_input(tape, rows, 3), 3, Activation::kNone), Layout::kColumns);
      const Value query =
          tape.affine(random_input(tape, 6, 4, Layout::kRows), 4, Activation::kNone);
      return tape.concat(std::array{tape.attend(memory, query, 5), query});
    });
  }
}

TEST_F(NnRecurrent, DifferentiatesTanhClipping) {
  for (const Layout layout : kLayouts) {
    expect_gradient_like_differences(parameters, [layout](DoubleTape& tape) {
      return tape.tanh_clip(tape.affine(random_input(tape, 5, 3, layout), 0, Activation::kNone),
                            0.7, 5);
    });
  }
}

// One cell: all pre-activations are 0 but that of the candidate, which is 1; its state was 2.
TEST_F(NnRecurrent, ComputesACellByHand) {
  DoubleTape tape(parameters);
  const Value x = tape.input(1, 4);
  tape.value(x)(0, 3) = 1;
  const Value before = tape.input(1, 1);
  tape.value(before)(0, 0) = 2;
  const Value gates = tape.lstm_gates(x);
  EXPECT_NEAR(tape.value(gates)(0, 0), 0.5, 1e-15);
  EXPECT_NEAR(tape.value(gates)(0, 1), 0.731058578630004879, 1e-15);  // sigmoid 1: the bias
  EXPECT_NEAR(tape.value(gates)(0, 2), 0.5, 1e-15);
  EXPECT_NEAR(tape.value(gates)(0, 3), 0.761594155955764888, 1e-15);  // tanh 1
  const Value state = tape.lstm_cell(gates, before);
  EXPECT_NEAR(tape.value(state)(0, 0), 1.842914235237892202, 1e-15);
  const double output = tape.value(tape.lstm_hidden(gates, state))(0, 0);
  EXPECT_NEAR(output, 0.475537, 1e-6);  // 0.5 * tanh 1.842914
}

// One query attends to two rows: the scores are tanh(0 + 1) and tanh(2 + 1), times a weight of 1.
TEST_F(NnRecurrent, AttendsByHand) {
  Parameters<double> one;
  one.add("attention", 1, 1);
  one.values()[0] = 1;
  DoubleTape tape(one);
  const Value memory = tape.input(2, 1, Layout::kColumns);
  tape.value(memory)(1, 0) = 2;
  const Value query = tape.input(1, 1, Layout::kRows);
  tape.value(query)(0, 0) = 1;
  const Value context = tape.attend(memory, query, 0);
  const double second = sigmoid(std::tanh(3.0) - std::tanh(1.0));
  EXPECT_NEAR(tape.value(context)(0, 0), 2 * second, 1e-15);
}

// A column of ones becomes the sum of the attention weights.
TEST_F(NnRecurrent, GivesAttentionWeightsThatSumToOne) {
  DoubleTape tape(parameters);
  const Value memory = random_input(tape, 37, 5, Layout::kColumns);
  for (std::size_t row = 0; row < 37; ++row) {
    tape.value(memory)(row, 2) = 1;
  }
  const Value query = tape.affine(random_input(tape, 20, 4, Layout::kRows), 4, Activation::kNone);
  const Value context = tape.attend(memory, query, 5);
  for (std::size_t by = 0; by < 20; ++by) {
    EXPECT_NEAR(tape.value(context)(by, 2), 1, 1e-14);
  }
}

TEST_F(NnRecurrent, AddsRowsByIndex) {
  DoubleTape tape(parameters);
  const Value x = tape.input(2, 1);
  const Value table = tape.input(3, 1);
  for (std::size_t row = 0; row < 3; ++row) {
    tape.value(table)(row, 0) = std::pow(10, row);
  }
  tape.value(x)(1, 0) = 5;
  const Value y = tape.add_rows(x, table, std::array<std::int32_t, 2>{2, 0});
  EXPECT_EQ(tape.value(y)(0, 0), 100);
  EXPECT_EQ(tape.value(y)(1, 0), 6);
}

TEST_F(NnRecurrent, ClipsByTanh) {
  DoubleTape tape(parameters);
  const Value x = tape.input(1, 3);
  tape.value(x)(0, 0) = 10;
  tape.value(x)(0, 1) = -1e9;
  const MatrixView<double> y = tape.value(tape.tanh_clip(x, 10, 5));
  EXPECT_NEAR(y(0, 0), 5 * std::tanh(1.0), 1e-14);
  EXPECT_EQ(y(0, 1), -5);
  EXPECT_EQ(y(0, 2), 0);
}

template <class Scalar>
void expect_tanh(const Kernels<Scalar>& loops, double units) {
  Arena<Scalar> arena;
  Scalar* const numbers = arena.allocate(16);
  const double ulp = std::numeric_limits<Scalar>::epsilon();
  for (double x = -30; x < 30; x += 0.00731) {
    for (std::size_t lane = 0; lane < 16; ++lane) {
      numbers[lane] = static_cast<Scalar>(x / std::pow(8, lane));
    }
    std::vector<Scalar> before(numbers, numbers + 16);
    loops.tanh(16, numbers);
    for (std::size_t lane = 0; lane < 16; ++lane) {
      const double expected = std::tanh(static_cast<double>(before[lane]));
      ASSERT_NEAR(numbers[lane], expected, units * ulp * std::abs(expected)) << before[lane];
    }
  }
}

TEST(NnTanh, EqualsTheLibraryWithinAFewUnitsOfTheLastPlace) {
  expect_tanh(kernels<float>(), 4);
  expect_tanh(kernels<double>(), 8);
}

TEST(NnTanh, ComesWithExponentialsOfTwiceItsArgument) {
  alignas(64) std::array<float, 16> numbers{-19.9F, -3.3F, -1e-4F, 0, 1e-4F, 0.3F, 7.7F, 19.9F};
  numbers[8] = -50;
  numbers[9] = 50;
  alignas(64) std::array<float, 16> found{};
  kernels<float>().exp_twice(10, numbers.data(), found.data());
  for (std::size_t i = 0; i < 10; ++i) {
    const double expected = std::exp(2 * std::clamp<double>(numbers[i], -20, 20));
    EXPECT_NEAR(found[i], expected, 4e-7 * expected) << numbers[i];
  }
}

TEST(NnTanh, KeepsNaN) {
  alignas(64) std::array<float, 16> numbers{};
  numbers[3] = std::numeric_limits<float>::quiet_NaN();
  numbers[4] = std::numeric_limits<float>::infinity();
  kernels<float>().tanh(5, numbers.data());
  EXPECT_TRUE(std::isnan(numbers[3]));
  EXPECT_EQ(numbers[4], 1);
}

TEST(NnAttention, GivesTheSameBitsWithVectorsOfAnyWidth) {
  constexpr std::size_t kRows = 3 * kLanes;
  constexpr std::size_t kColumns = 11;
  constexpr std::size_t kMemory = kRows * kColumns;
  constexpr std::size_t kNumQueries = 21;  // three blocks
  constexpr std::size_t kAllQueries = kNumQueries * kColumns;
  Arena<float> arena;
  RandomStream random(5);
  const auto draw = [&](std::size_t count) {
    float* const numbers = arena.allocate(count);
    std::generate_n(numbers, count, [&] { return static_cast<float>(random.uniform() - 0.5); });
    return numbers;
  };
  const float* const memory = draw(kMemory);
  const float* const weights = draw(kColumns);
  const float* const query = draw(kAllQueries);
  const float* const attention_weights = draw(kNumQueries * kRows);
  const float* const d_context = draw(kAllQueries);
  const auto all = [&](const Kernels<float>& loops) {
    // tanh and exponentials of the memory, scores, context, and the gradients of memory, weights,
    // query and scores.
    std::vector<std::size_t> sizes = {kMemory, kMemory,  kRows,       kColumns,
                                      kMemory, kColumns, kAllQueries, kQueries * kRows};
    std::vector<float*> parts;
    for (const std::size_t size : sizes) {
      parts.push_back(arena.allocate(size));
      std::fill_n(parts.back(), size, 0.0F);
    }
    std::copy_n(memory, sizes[0], parts[0]);
    const AttentionArguments<float> attention{memory, parts[1], weights, kRows, kColumns};
    loops.tanh(kMemory, parts[0]);
    loops.exp_twice(kMemory, memory, parts[1]);
    loops.scores(attention, query, parts[2]);
    loops.weighted_sum(attention, attention_weights, parts[3]);
    loops.attention_gradient(
        attention, kNumQueries, query, attention_weights, d_context,
        {.memory = parts[4], .weights = parts[5], .query = parts[6], .scores = parts[7]});
    std::vector<float> numbers;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      numbers.insert(numbers.end(), parts[i], parts[i] + sizes[i]);
    }
    return numbers;
  };
  const std::vector<float> narrow = all(*find_kernels<float>(16));
  int compared = 0;
  for (const std::size_t bytes : {32U, 64U}) {
    if (const Kernels<float>* const wide = find_kernels<float>(bytes)) {
      EXPECT_EQ(all(*wide), narrow) << bytes << " bytes";
      ++compared;
    }
  }
  if (compared == 0) {
    GTEST_SKIP() << "this processor has vectors of 16 bytes only";
  }
}

}  // namespace
}  // namespace emplace::agents::nn::nn_recurrent_test
