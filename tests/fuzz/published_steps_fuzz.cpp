// A file of published step times.

#include "fuzz_target.hpp"

#include <emplace/bench/published_steps.hpp>

#include <string_view>

void emplace::fuzz::try_input(std::string_view text) {
  emplace::bench::read_published_steps(text, "fuzz");
}
