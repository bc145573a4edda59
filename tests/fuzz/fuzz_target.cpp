// What libFuzzer calls.

#include "fuzz_target.hpp"

#include <emplace/base/error.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    emplace::fuzz::try_input({reinterpret_cast<const char*>(data), size});
  } catch (const emplace::Error&) {  // the answer to bad input
  }
  return 0;
}
