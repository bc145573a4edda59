#include <emplace/base/check.hpp>

namespace emplace {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(
      fmt::format("internal error: {} ({} is false at {}:{})", message, condition,
                  std::string_view(file).substr(std::string_view(file).rfind('/') + 1), line));
}

}  // namespace emplace
