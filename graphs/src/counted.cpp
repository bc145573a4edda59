#include <emplace/graphs/counted.hpp>

#include <fmt/format.h>

namespace emplace {

std::string counted(std::int64_t number, std::string_view one, std::string_view several) {
  return number == 1       ? fmt::format("1 {}", one)
         : several.empty() ? fmt::format("{} {}s", number, one)
                           : fmt::format("{} {}", number, several);
}

}  // namespace emplace
