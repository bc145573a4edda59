#include "python_package.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace emplace::cli {
namespace {

// The interpreter whose package this program lies in, as the package's own start of it says.
const char* python_of_package() { return std::getenv("EMPLACE_PYTHON"); }

// Puts the folders of the package of this program first on Python's path.
void set_python_path() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const char* const given = std::getenv("PYTHONPATH");
  std::string path = given == nullptr ? "" : given;
  for (const fs::path& folder :
       {program.parent_path() / EMPLACE_PYTHON_DIR, program / "bench" / "python"}) {
    if (fs::exists(folder / "emplace" / "__init__.py", error)) {
      path = path.empty() ? folder.string() : fmt::format("{}:{}", folder.string(), path);
    }
  }
  setenv("PYTHONPATH", path.c_str(), 1);
}

}  // namespace

bool has_python_package() { return EMPLACE_HAS_PYTHON || python_of_package() != nullptr; }

void run_in_python(const std::vector<std::string>& arguments) {
  if (!has_python_package()) {
    throw Error(ErrorCode::kUnsupported,
                "this build has no Python package; emplace doctor shows how to get it");
  }
  const char* interpreter = python_of_package();
  if (interpreter == nullptr) {
    interpreter = EMPLACE_PYTHON_PROGRAM;
    set_python_path();
  }
  std::vector<std::string> words = {interpreter, "-m", "emplace"};
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  execvp(pointers.front(), pointers.data());
  throw Error(ErrorCode::kUnsupported,
              fmt::format("cannot start {}: {}", words.front(), std::strerror(errno)));
}

}  // namespace emplace::cli
