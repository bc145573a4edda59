#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/text_table.hpp>

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
bool tables_are_wide = false;

[[noreturn]] void fail_to_write() {
  throw Error(ErrorCode::kIo,
              std::string("cannot write to standard output: ") + std::strerror(errno));
}

// 0 if the stream is no terminal, or one that does not know its width.
std::size_t width_of(int stream) {
  winsize size{};
  return ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Prints text of which a terminal gets no too long lines. Those with colours are of tables, and
// fit.
void print_lines(const std::string& text) {
  const std::size_t width = table_width();
  if (width == 0) {
    print(text);
    return;
  }
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t blanks = line.find_first_not_of(' ');
    lines += line.find('\x1b') != std::string::npos
                 ? line
                 : bench::filled(line, width, blanks > 0 && blanks < width ? blanks + 2 : 0);
    lines.append(text, end, 1);
    at = end + 1;
  }
  print(lines);
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
    print_lines(escape_terminal_lines(text));
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
  print_lines(safe);
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

void show_wide(bool wide) { tables_are_wide = wide; }

std::size_t table_width(std::string_view output) {
  return tables_are_wide || !output.empty() ? 0 : width_of(STDOUT_FILENO);
}

void show_notes(bool shown) { notes_are_shown = shown; }

bool notes_shown() { return notes_are_shown; }

void note(std::string_view lines) {
  if (notes_are_shown) {
    print_error(lines);
  }
}

void write_answer(const std::string& path, std::string_view text) {
  write_text_file(path, text);
  if (isatty(STDERR_FILENO) == 1 && !path.starts_with("/dev/")) {
    note(escape_terminal("wrote " + path));
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
  const std::size_t width = width_of(STDERR_FILENO);
  text.resize(std::min(text.size(), (width > 0 ? width : 80) - 1));
  std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace emplace::cli
