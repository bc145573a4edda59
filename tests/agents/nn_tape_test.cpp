// Every operation of the tape in double against central differences.

#include "agents/src/nn/tape.hpp"
#include "agents/tape_differences.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace emplace::agents::nn::nn_tape_test {
namespace {

class NnTape : public testing::Test {
 protected:
  void SetUp() override { randomize(parameters); }

  Parameters<double> parameters = [] {
    Parameters<double> p;
    p.add("first", 3, 5);
    p.add("second", 5, 4);
    p.add("third", 9, 2);
    return p;
  }();
};

TEST_F(NnTape, DifferentiatesLayersWithEachActivation) {
  for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
    SCOPED_TRACE(static_cast<int>(activation));
    expect_gradient_like_differences(parameters, [&](DoubleTape& tape) {
      const Value x = random_input(tape, 19, 3);
      return tape.affine(tape.affine(x, 0, activation), 1, activation);
    });
  }
}

TEST_F(NnTape, DifferentiatesAValueThatIsReadTwice) {
  expect_gradient_like_differences(parameters, [](DoubleTape& tape) {
    const Value hidden = tanh_of(tape, tape.affine(random_input(tape, 6, 3), 0, Activation::kNone));
    const Value deeper = tanh_of(tape, tape.affine(hidden, 1, Activation::kNone));
    return tape.affine(tape.concat(std::array{hidden, deeper}), 2, Activation::kNone);
  });
}

TEST_F(NnTape, DifferentiatesSumsAndMeansOfRowsOfSeveralSources) {
  SegmentSum sums;  // an empty row, a row of one, rows of several and of the same row twice
  sums.end_row();
  sums.add(0, 2);
  sums.end_row();
  sums.add(0, 0);
  sums.add(1, 1);
  sums.add(0, 2);
  sums.end_row();
  sums.add(1, 0);
  sums.add(1, 0);
  sums.end_row();
  for (const Combine combine : {Combine::kSum, Combine::kMean}) {
    for (const std::size_t lanes : {1U, 2U, 4U, 8U, 16U}) {
      SCOPED_TRACE(lanes);
      expect_gradient_like_differences(parameters, [&](DoubleTape& tape) {
        const std::array sources = {
            tanh_of(tape, tape.affine(random_input(tape, 3 * lanes, 3), 0, Activation::kNone)),
            tape.affine(random_input(tape, 2 * lanes, 3), 0, Activation::kNone)};
        const Value summed = tape.segment_sum(sources, sums, lanes, combine);
        return tanh_of(tape, tape.affine(summed, 1, Activation::kNone));
      });
    }
  }
}

TEST_F(NnTape, DifferentiatesLogProbabilitiesAndEntropy) {
  constexpr std::array<std::int32_t, 5> kActions = {0, 3, 1, 1, 2};
  expect_gradient_like_differences(parameters, [&](DoubleTape& tape) {
    const Value hidden = tanh_of(tape, tape.affine(random_input(tape, 5, 3), 0, Activation::kNone));
    const Value logits = tape.affine(hidden, 1, Activation::kNone);
    const Value p = tape.log_probability(logits, kActions);
    return tape.concat(std::array{p, tape.entropy(logits), p});
  });
}

TEST_F(NnTape, SumsSegments) {
  SegmentSum sums;  // 0 <- nothing, 1 <- 0 + 2
  sums.end_row();
  sums.add(0, 0);
  sums.add(0, 2);
  sums.end_row();
  DoubleTape tape(parameters);
  const Value x = tape.input(6, 1);  // three rows of two lanes
  for (std::size_t row = 0; row < 6; ++row) {
    tape.value(x)(row, 0) = std::pow(10, row);
  }
  const MatrixView<double> y = tape.value(tape.segment_sum({&x, 1}, sums, 2));
  ASSERT_EQ(y.rows, 4U);
  EXPECT_EQ(y(0, 0), 0);
  EXPECT_EQ(y(1, 0), 0);
  EXPECT_EQ(y(2, 0), 10'001);
  EXPECT_EQ(y(3, 0), 100'010);
  const MatrixView<double> mean = tape.value(tape.segment_sum({&x, 1}, sums, 2, Combine::kMean));
  EXPECT_EQ(mean(2, 0), 5'000.5);
}

// Logits 0 and log 3 are probabilities 1/4 and 3/4.
TEST_F(NnTape, KnowsProbabilitiesAndEntropy) {
  DoubleTape tape(parameters);
  const Value logits = tape.input(1, 2);
  tape.value(logits)(0, 1) = std::log(3.0);
  constexpr std::array<std::int32_t, 1> kSecond = {1};
  EXPECT_NEAR(tape.value(tape.log_probability(logits, kSecond))(0, 0), std::log(0.75), 1e-15);
  EXPECT_NEAR(tape.value(tape.entropy(logits))(0, 0),
              -0.25 * std::log(0.251) - 0.75 * std::log(0.751), 1e-15);
}

TEST_F(NnTape, DoesTheSameAgainAfterClear) {
  DoubleTape tape(parameters);
  std::vector<std::vector<double>> gradients(2, std::vector<double>(parameters.values().size()));
  for (std::vector<double>& gradient : gradients) {
    const Value y = tape.affine(random_input(tape, 1000, 3), 0, Activation::kRelu);
    tape.seed(y)(7, 2) = 1;
    tape.backward(gradient);
    tape.clear();
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST_F(NnTape, ReadsConstantsWhereTheyLie) {
  DoubleTape other(parameters);
  const Value x = random_input(other, 20, 3);
  std::vector<std::vector<double>> gradients(2, std::vector<double>(parameters.values().size()));
  DoubleTape tape(parameters);
  const Value constant = tape.constant(other.value(x));
  EXPECT_EQ(tape.value(constant).data, other.value(x).data);
  const Value y = tape.affine(constant, 0, Activation::kRelu);
  const Value expected = other.affine(x, 0, Activation::kRelu);
  EXPECT_EQ(tape.value(y)(7, 2), other.value(expected)(7, 2));
  tape.seed(y)(7, 2) = 1;
  tape.backward(gradients[0]);
  other.seed(expected)(7, 2) = 1;
  other.backward(gradients[1]);
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST_F(NnTape, RefusesAMatrixOfTheWrongWidth) {
  DoubleTape tape(parameters);
  EXPECT_ANY_THROW(tape.affine(tape.input(2, 4), 0, Activation::kNone));
}

}  // namespace
}  // namespace emplace::agents::nn::nn_tape_test
