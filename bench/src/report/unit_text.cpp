#include <emplace/bench/unit_text.hpp>

#include <fmt/format.h>

namespace emplace::bench {

std::string time_text(double us) {
  const double seconds = us / 1e6;
  return us < 1e3         ? fmt::format("{:.3g} us", us)
         : us < 1e6       ? fmt::format("{:.4g} ms", us / 1e3)
         : seconds < 120  ? fmt::format("{:.4g} s", seconds)
         : seconds < 7200 ? fmt::format("{:.3g} min", seconds / 60)
                          : fmt::format("{:.3g} h", seconds / 3600);
}

std::string bytes_text(double bytes) {
  return bytes >= 1e9   ? fmt::format("{:.3g} GB", bytes / 1e9)
         : bytes >= 1e6 ? fmt::format("{:.3g} MB", bytes / 1e6)
                        : fmt::format("{:.3g} kB", bytes / 1e3);
}

}  // namespace emplace::bench
