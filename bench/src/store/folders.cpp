#include "folders.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <system_error>

namespace emplace::bench {

void fail_io(const std::string& path, std::string_view what, int error) {
  throw Error(ErrorCode::kIo, fmt::format("{}: {}: {}", path, what, std::strerror(error)));
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    fail_io(path, "cannot make the folder", error.value());
  }
}

}  // namespace emplace::bench
