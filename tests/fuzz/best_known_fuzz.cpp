// An entry of a best-known placement, which is written and read again if it is one.

#include "fuzz_target.hpp"

#include <emplace/bench/best_known.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <string_view>

namespace {

namespace bench = emplace::bench;

void try_entry(std::string_view text) {
  const bench::BestKnown entry = bench::read_best_known(text, "fuzz");
  EMPLACE_CHECK(bench::read_best_known(bench::write_best_known(entry), "again") == entry,
                "the entry lost something");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    try_entry({reinterpret_cast<const char*>(data), size});
  } catch (const emplace::Error&) {  // the answer to bad input
  }
  return 0;
}
