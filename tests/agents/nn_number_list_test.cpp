#include "agents/src/nn/number_list.hpp"
#include "support/errors.hpp"

#include <emplace/base/random.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace emplace::agents::nn::nn_number_list_test {
namespace {

template <class Scalar, class Bits>
void expect_same_bits(const std::vector<Scalar>& numbers) {
  const std::string text = write_numbers<Scalar>(numbers);
  const auto read =
      read_numbers<Scalar>(JsonDocument::parse(text, "numbers").root(), numbers.size());
  ASSERT_EQ(read.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(std::bit_cast<Bits>(read[i]), std::bit_cast<Bits>(numbers[i])) << numbers[i];
  }
}

template <class Scalar, class Bits>
std::vector<Scalar> numbers_of_all_sizes() {
  using Limits = std::numeric_limits<Scalar>;
  std::vector<Scalar> numbers = {0,
                                 Scalar{-0.0},
                                 1,
                                 -1,
                                 Limits::min(),
                                 Limits::denorm_min(),
                                 Limits::max(),
                                 -Limits::max(),
                                 Limits::epsilon()};
  RandomStream random(1);
  while (numbers.size() < 10'000) {
    const auto number = std::bit_cast<Scalar>(static_cast<Bits>(random.next()));
    if (std::isfinite(number)) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

TEST(NnNumberList, ComesBackBitForBit) {
  // Its fewest digits, read as a double and rounded to a float, give the float after it.
  expect_same_bits<float, std::uint32_t>({0x1.5c87fap-84F, -0x1.5c87fap-84F});
  expect_same_bits<float, std::uint32_t>(numbers_of_all_sizes<float, std::uint32_t>());
  expect_same_bits<double, std::uint64_t>(numbers_of_all_sizes<double, std::uint64_t>());
  EXPECT_EQ(write_numbers<float>({}), "[]");
}

TEST(NnNumberList, TellsWhatIsWrong) {
  const auto mistake = [](const std::string& text) {
    return test::error_of(
        [&] { read_numbers<float>(JsonDocument::parse(text, "numbers.json").root(), 2); });
  };
  EXPECT_EQ(mistake("[1, 2]"), "none");
  EXPECT_EQ(mistake("[1]"), "numbers.json: expected 2 numbers, found 1");
  EXPECT_THAT(mistake("[1, 1e39]"), testing::StartsWith("numbers.json: /1: expected"));
  EXPECT_THAT(mistake("[1, true]"), testing::StartsWith("numbers.json: /1: expected"));
}

}  // namespace
}  // namespace emplace::agents::nn::nn_number_list_test
