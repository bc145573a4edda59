// A suite, which is written and read again if it is one.

#include "fuzz_target.hpp"

#include <emplace/bench/suite.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <string>
#include <string_view>

namespace {

namespace bench = emplace::bench;

void try_suite(std::string_view text) {
  const std::string written = bench::write_suite(bench::read_suite(text, "fuzz"));
  EMPLACE_CHECK(bench::write_suite(bench::read_suite(written, "again")) == written,
                "the suite lost something");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    try_suite({reinterpret_cast<const char*>(data), size});
  } catch (const emplace::Error&) {  // the answer to bad input
  }
  return 0;
}
