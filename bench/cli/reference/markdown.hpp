#pragma once

// Pages of Markdown that are pleasant to read as plain text, too: lines of at most 118 characters
// wherever Markdown allows a break.

#include <string>
#include <string_view>
#include <vector>

namespace emplace::cli {

/// Returns `text` as inline code.
std::string code(std::string_view text);

/// Returns `text` so that it shows as it is; what stands between backquotes stays.
std::string plain(std::string_view text);

/// Returns `text` as a sentence: with a capital letter, unless it begins with a name in backquotes,
/// and a full stop.
std::string sentence(std::string_view text);

/// Returns a link to `target`.
std::string link(std::string_view text, std::string_view target);

/// Returns the fragment that a heading of this text has: "#max-evaluations".
std::string anchor(std::string_view heading);

/// Collects a page from top to bottom. Texts are Markdown: what may hold its marks goes through
/// plain() or code() first.
class MarkdownPage {
 public:
  /// Begins a page with its title.
  explicit MarkdownPage(std::string_view title);

  /// Adds a heading; `level` 2 is below the title.
  MarkdownPage& heading(int level, std::string_view text);

  /// Adds a paragraph; adds nothing if it is empty.
  MarkdownPage& paragraph(std::string_view text);

  /// Adds an item of a list.
  MarkdownPage& item(std::string_view text);

  /// Adds a block of commands to type.
  MarkdownPage& commands(const std::vector<std::string>& lines);

  /// Adds a table.
  MarkdownPage& table(const std::vector<std::string>& titles,
                      const std::vector<std::vector<std::string>>& rows);

  /// Begins a part that is folded away until a reader asks for it.
  MarkdownPage& begin_details(std::string_view summary);

  /// Ends that part.
  MarkdownPage& end_details();

  /// Returns the page; its last line says which program wrote it.
  std::string text() const;

 private:
  void begin_block();

  std::string text_;
  bool in_list_ = false;
};

/// Is the last line of every page.
inline constexpr std::string_view kReferenceMark =
    "*This page is written by `emplace dev docs`; changes made by hand are lost.*\n";

}  // namespace emplace::cli
