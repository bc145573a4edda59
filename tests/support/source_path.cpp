#include "tests/support/source_path.hpp"

namespace emplace::test {

std::string source_path(std::string_view relative) {
  return std::string(EMPLACE_SOURCE_DIR "/").append(relative);
}

}  // namespace emplace::test
