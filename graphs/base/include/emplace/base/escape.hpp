#pragma once

// Escapes text from users' files in the program's output: a name must neither control a terminal
// nor run in a browser, a spreadsheet or TeX. There is one function for each form of output; graph
// files are data, which the writer of each format escapes.
//
// *Control characters* are replaced everywhere: C0, DEL, C1, Unicode marks that reorder, hide or
// break the text that follows, and bytes that are not UTF-8.

#include <string>
#include <string_view>

namespace emplace {

/// Returns one line for a terminal: control characters, new lines included, become '?'.
std::string escape_terminal(std::string_view text);

/// Returns text of several lines for a terminal: the same, but new lines stay.
std::string escape_terminal_lines(std::string_view text);

/// Returns one line for Markdown, in a paragraph, a title or a cell of a table.
std::string escape_markdown(std::string_view text);

/// Returns one line for LaTeX, in text.
std::string escape_latex(std::string_view text);

/// Returns a field of CSV (RFC 4180), quoted if necessary. A field that a spreadsheet would take
/// for a formula gets an apostrophe in front; new lines stay, other control characters become '?'.
std::string escape_csv(std::string_view text);

/// Returns text for XML and HTML, between tags or in a quoted attribute: control characters become
/// U+FFFD.
std::string escape_markup(std::string_view text);

/// Returns the same JSON document with control characters in its strings written as \uXXXX.
std::string escape_json(std::string_view json);

/// Returns a word of a POSIX shell, quoted if necessary, for a command line that is shown to a
/// user. Control characters stay, because they are part of the word; the line itself is shown
/// through escape_terminal().
std::string escape_shell(std::string_view text);

/// Returns `text` with U+FFFD in place of what XML 1.0 forbids and of what is not UTF-8.
std::string without_forbidden_characters(std::string_view text);

/// Returns text between the double quotes of a DOT string. Only characters that XML forbids are
/// lost; they become U+FFFD, because Graphviz writes SVG.
std::string escape_dot(std::string_view text);

}  // namespace emplace
