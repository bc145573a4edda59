// An entry of a best-known placement, which is written and read again if it is one.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/best_known.hpp>

#include <string_view>

void emplace::fuzz::try_input(std::string_view text) {
  const bench::BestKnown entry = bench::read_best_known(text, "fuzz");
  EMPLACE_CHECK(bench::read_best_known(bench::write_best_known(entry), "again") == entry,
                "the entry lost something");
}
