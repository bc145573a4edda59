#pragma once

// Standard streams: answers go to standard output, everything else to standard error.

#include <emplace/base/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace emplace::cli {

/// Writes a file, or other data for programs, to standard output; throws kIo if that fails, for
/// example on a full disk.
void print(std::string_view text);

/// Writes text for people to standard output; a terminal gets no longer lines than table_width().
/// Whatever names in it hold, nothing of it steers the terminal but the emphasis of tables where
/// `color` says so. Throws as print() does.
void print_text(std::string_view text, bool color = false);

/// Writes an answer in the format that the user chose: "terminal", "json", or another one, whose
/// writer escapes what it writes. Throws as print() does.
void print_as(std::string_view format, std::string_view text, bool color);

/// Throws kUsage if a JSON answer and the file `path` of the option `flag` would both go to
/// standard output.
void refuse_two_answers(bool json, std::string_view path, std::string_view flag);

/// Writes a JSON answer; a name that is not UTF-8, such as a file's, has its stray bytes replaced,
/// and characters that would steer a terminal are written as \uXXXX.
void print_json(const Json& answer);

/// Hands everything printed so far to the system; throws kIo if that fails.
void flush();

/// Writes lines for people to standard error: an error, or help. Nothing of it steers the terminal.
void print_error(std::string_view lines);

/// Says whether note() and progress lines show anything; at first they do.
void show_notes(bool shown);

/// Returns what show_notes() said.
bool notes_shown();

/// Says whether lines and tables may be wider than the terminal; at first they may not.
void show_wide(bool wide);

/// Returns the width of the terminal for tables, 0 for no limit: after show_wide(true), where
/// standard output is no terminal, and for what goes into the file `output` instead.
std::size_t table_width(std::string_view output = "");

/// Writes an answer into a file, and says so where standard error is a terminal. Throws Error.
void write_answer(const std::string& path, std::string_view text);

/// Writes lines for people to standard error: what is worth to know but no error.
void note(std::string_view lines);

/// Says whether standard output gets colour. `mode` is "always", "never" or "auto": at a terminal,
/// unless NO_COLOR is set or TERM is "dumb".
bool use_color(std::string_view mode);

/// Shows one line on standard error that is rewritten in place; shows nothing where that is no
/// terminal or notes are not shown.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows `text`, cut to the width of the terminal.
  void show(std::string text);

 private:
  bool enabled_;
};

}  // namespace emplace::cli
