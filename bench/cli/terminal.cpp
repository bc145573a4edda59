#include "terminal.hpp"

#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/error.hpp>

#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emplace::cli {
namespace {

bool notes_are_shown = true;

[[noreturn]] void fail_to_write() {
  throw Error(ErrorCode::kIo,
              std::string("cannot write to standard output: ") + std::strerror(errno));
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool set_and_not_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail_to_write();
  }
}

void refuse_two_answers(bool json, std::string_view path, std::string_view flag) {
  if (json && path == "-") {
    throw Error(ErrorCode::kUsage, "--json and " + std::string(flag) +
                                       " - both answer on standard output; choose one");
  }
}

void print_json(const nlohmann::ordered_json& answer) {
  print(answer.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void flush() {
  if (std::fflush(stdout) != 0) {
    fail_to_write();
  }
}

void print_error(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void show_notes(bool shown) { notes_are_shown = shown; }

bool notes_shown() { return notes_are_shown; }

void note(std::string_view line) {
  if (notes_are_shown) {
    print_error(line);
  }
}

bool use_color(std::string_view mode) {
  if (mode != "auto") {
    return mode == "always";
  }
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && !dumb && !set_and_not_empty("NO_COLOR");
}

ProgressLine::ProgressLine() : enabled_(notes_are_shown && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { show(""); }

void ProgressLine::show(std::string text) {
  if (!enabled_) {
    return;
  }
  text = bench::without_control_characters(std::move(text));
  text.resize(std::min(text.size(), terminal_width() - 1));
  std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace emplace::cli
