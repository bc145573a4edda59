// A table of measured ops, as `emplace dev fit --samples` reads it.

#include "fuzz_target.hpp"

#include <emplace/calibrate/sample_file.hpp>

#include <string_view>

void emplace::fuzz::try_input(std::string_view text) {
  emplace::calibrate::parse_sample_table(text, "fuzz");
}
