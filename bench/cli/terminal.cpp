#include "terminal.hpp"

#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/escape.hpp>
#include <emplace/graphs/json.hpp>

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

void print_text(std::string_view text, bool color) {
  if (!color) {
    print(escape_terminal_lines(text));
    return;
  }
  constexpr std::string_view kEscape = "\x1b[";
  std::string safe;
  for (;;) {
    const std::size_t escape = std::min(text.find(kEscape), text.size());
    safe += escape_terminal_lines(text.substr(0, escape));
    text.remove_prefix(escape);
    if (text.empty()) {
      break;
    }
    // Colours and weights of letters, ESC [ digits m, and nothing else.
    const std::size_t end = text.find_first_not_of("0123456789;", kEscape.size());
    const bool is_style = end != std::string_view::npos && text[end] == 'm';
    safe += is_style ? std::string(text.substr(0, end + 1)) : "?";
    text.remove_prefix(is_style ? end + 1 : 1);
  }
  print(safe);
}

void print_as(std::string_view format, std::string_view text, bool color) {
  if (format == "terminal") {
    print_text(text, color);
  } else {
    print(format == "json" ? escape_json(text) : std::string(text));
  }
}

void refuse_two_answers(bool json, std::string_view path, std::string_view flag) {
  if (json && path == "-") {
    throw Error(ErrorCode::kUsage,
                "--json and " + std::string(flag) + " - both write to standard output; choose one");
  }
}

void print_json(const Json& answer) { print(escape_json(answer.indented(2)) + "\n"); }

void flush() {
  if (std::fflush(stdout) != 0) {
    fail_to_write();
  }
}

void print_error(std::string_view lines) {
  std::fprintf(stderr, "%s\n", escape_terminal_lines(lines).c_str());
}

void show_notes(bool shown) { notes_are_shown = shown; }

bool notes_shown() { return notes_are_shown; }

void note(std::string_view lines) {
  if (notes_are_shown) {
    print_error(lines);
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
  text = escape_terminal(text);
  text.resize(std::min(text.size(), terminal_width() - 1));
  std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace emplace::cli
