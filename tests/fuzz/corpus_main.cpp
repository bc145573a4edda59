// Tries each file of the folders that are named. One of them must be accepted: a target that
// refuses whatever it is given, because it lacks what it needs itself, would find nothing.

#include "fuzz_target.hpp"

#include <emplace/base/error.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  int num_tried = 0;
  int num_accepted = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      ++num_tried;
      try {
        emplace::fuzz::try_input(bytes);
        ++num_accepted;
      } catch (const emplace::Error&) {  // the answer to bad input
      }
    }
  }
  std::printf("%d inputs, %d accepted\n", num_tried, num_accepted);
  return num_accepted > 0 ? 0 : 1;
}
