// A suite, which is written and read again if it is one.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/suite.hpp>

#include <string>
#include <string_view>

void emplace::fuzz::try_input(std::string_view text) {
  const std::string written = bench::write_suite(bench::read_suite(text, "fuzz"));
  EMPLACE_CHECK(bench::write_suite(bench::read_suite(written, "again")) == written,
                "the suite lost something");
}
