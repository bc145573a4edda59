#pragma once

// Text from users' files in what the program writes: a name must neither steer a terminal nor run
// in a browser, a spreadsheet or TeX. There is one function for each form of output; graph files
// are data, which the writer of each format escapes.
//
// What *steers* text is replaced everywhere: control characters (C0, DEL, C1), marks of Unicode
// that reorder, hide or break lines of what follows, and bytes that are not UTF-8.

#include <string>
#include <string_view>

namespace emplace {

/// Returns one line for a terminal: what steers text, new lines included, is '?'.
std::string escape_terminal(std::string_view text);

/// Returns text of several lines for a terminal: the same, but new lines stay.
std::string escape_terminal_lines(std::string_view text);

/// Returns one line for Markdown, in a paragraph, a title or a cell of a table.
std::string escape_markdown(std::string_view text);

/// Returns one line for LaTeX, in text.
std::string escape_latex(std::string_view text);

/// Returns a field of CSV (RFC 4180), quoted where it has to be. A field that a spreadsheet would
/// take for a formula begins with an apostrophe; new lines stay, other control characters are '?'.
std::string escape_csv(std::string_view text);

/// Returns text for XML and HTML, between tags or in a quoted attribute: what steers it is U+FFFD.
std::string escape_markup(std::string_view text);

/// Returns a JSON document whose strings steer nothing: the same document with \uXXXX for what
/// would.
std::string escape_json(std::string_view json);

/// Returns a word of a POSIX shell, quoted where it has to be: what a command line that is told to
/// a user names. What steers the terminal stays, as the word would be another without it; the line
/// is told through escape_terminal().
std::string escape_shell(std::string_view text);

/// Returns text between the double quotes of a DOT string. Nothing is lost but what XML forbids,
/// which is U+FFFD, since Graphviz writes SVG.
std::string escape_dot(std::string_view text);

}  // namespace emplace
