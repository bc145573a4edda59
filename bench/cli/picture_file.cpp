#include "picture_file.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

extern "C" char** environ;

namespace emplace::cli {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary_file() {
  File file(std::tmpfile(), std::fclose);
  if (!file) {
    throw Error(ErrorCode::kIo, "cannot make a temporary file");
  }
  return file;
}

// Runs rsvg-convert from one file to the other; returns its exit status, or -1 where there is none.
int convert(const std::string& format, std::FILE* input, std::FILE* output) {
  std::array<std::string, 5> words = {"rsvg-convert", "--format", format, "--zoom",
                                      format == "png" ? "2" : "1"};
  std::array<char*, words.size() + 1> arguments{};
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), 1);
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

bool names_picture(std::string_view path) {
  return std::ranges::any_of(kPictureEndings,
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

std::string encode_picture(std::string svg, std::string_view path) {
  const std::string format(path.substr(path.rfind('.') + 1));
  if (format == "svg") {
    return svg;
  }
  const File input = temporary_file();
  const File output = temporary_file();
  if (std::fwrite(svg.data(), 1, svg.size(), input.get()) != svg.size() ||
      std::fflush(input.get()) != 0) {
    throw Error(ErrorCode::kIo, "cannot write a temporary file");
  }
  std::rewind(input.get());
  const int status = convert(format, input.get(), output.get());
  constexpr int kNotFound = 127;
  if (status == -1 || status == kNotFound) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} needs the program rsvg-convert, which is not here: apt-get install "
                            "librsvg2-bin; .svg needs none",
                            format));
  }
  if (status != 0) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("rsvg-convert cannot draw this picture as {} (exit status {}); write "
                            ".svg instead",
                            format, status));
  }
  std::string bytes;
  std::array<char, 65536> part{};
  std::rewind(output.get());
  for (std::size_t count = 0;
       (count = std::fread(part.data(), 1, part.size(), output.get())) > 0;) {
    bytes.append(part.data(), count);
  }
  return bytes;
}

}  // namespace emplace::cli
