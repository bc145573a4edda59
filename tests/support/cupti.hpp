#pragma once

// CUPTI itself, where it can be opened; it needs neither a GPU nor a driver to walk over records.

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

namespace emplace::test {

/// Holds the functions of CUPTI that work without a driver. Declared here once more, so that tests
/// build without the toolkit.
struct Cupti {
  Cupti() {
    for (const char* name :
         {"libcupti.so.13", "libcupti.so.12", "/usr/local/cuda/lib64/libcupti.so"}) {
      if (void* const library = dlopen(name, RTLD_NOW)) {
        get_next_record =
            reinterpret_cast<NextRecord>(dlsym(library, "cuptiActivityGetNextRecord"));
        const auto get_version =
            reinterpret_cast<int (*)(std::uint32_t*)>(dlsym(library, "cuptiGetVersion"));
        get_version(&version);
        why_none = "CUPTI " + std::to_string(version) + " has records that are not known";
        return;
      }
    }
  }

  /// Returns where each record of `buffer` starts.
  std::vector<std::size_t> record_starts(std::vector<std::uint8_t> buffer) const {
    std::vector<std::size_t> starts;
    std::uint8_t* record = nullptr;
    while (get_next_record(buffer.data(), buffer.size(), &record) == 0) {
      starts.push_back(static_cast<std::size_t>(record - buffer.data()));
    }
    return starts;
  }

  using NextRecord = int (*)(std::uint8_t*, std::size_t, std::uint8_t**);
  NextRecord get_next_record = nullptr;
  std::uint32_t version = 0;
  std::string why_none = "there is no libcupti";
};

}  // namespace emplace::test
