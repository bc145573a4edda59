#include "graphviz.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

namespace emplace::cli {
namespace {

// A file without a name, which is gone when it is closed. Files, unlike pipes, are never full.
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file() {
  File file(std::tmpfile(), std::fclose);
  if (!file) {
    throw Error(ErrorCode::kIo,
                fmt::format("cannot open a temporary file: {}", std::strerror(errno)));
  }
  return file;
}

std::string read_all(std::FILE* file) {
  std::string text;
  char buffer[1 << 16];
  std::rewind(file);
  for (std::size_t size; (size = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    text.append(buffer, size);
  }
  return text;
}

pid_t start(const std::string& program, std::FILE* input, std::FILE* output, std::FILE* errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(input), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(output), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(errors), STDERR_FILENO);
  std::string name = program;
  std::string format = "-Tsvg";
  char* const arguments[] = {name.data(), format.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("cannot run {}: {}", program, std::strerror(error)));
  }
  return child;
}

// Returns the child's status; nothing if it had to be killed.
std::optional<int> wait_for(pid_t child, int limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(limit_s);
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, WNOHANG)) == 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (ended == child) {
    return status;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_program(std::string_view name) {
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "" : variable;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    const std::string path = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return std::nullopt;
}

std::string draw_svg(const std::string& dot, std::string_view text, int limit_s) {
  const File input = open_file();
  const File output = open_file();
  const File errors = open_file();
  if (std::fwrite(text.data(), 1, text.size(), input.get()) != text.size() ||
      std::fflush(input.get()) != 0) {
    throw Error(ErrorCode::kIo, "cannot write a temporary file");
  }
  std::rewind(input.get());
  const std::optional<int> status =
      wait_for(start(dot, input.get(), output.get(), errors.get()), limit_s);
  if (!status) {
    throw Error(ErrorCode::kUnsupported, fmt::format("{} took more than {} s", dot, limit_s));
  }
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} failed: {}", dot, excerpt(read_all(errors.get()), 200)));
  }
  return read_all(output.get());
}

}  // namespace emplace::cli
