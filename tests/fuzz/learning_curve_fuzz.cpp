// The learning curve of a policy in a store.

#include "fuzz_target.hpp"

#include <emplace/bench/learning_curve.hpp>

#include <string_view>

void emplace::fuzz::try_input(std::string_view text) {
  emplace::bench::read_curve_means(text, "fuzz");
}
