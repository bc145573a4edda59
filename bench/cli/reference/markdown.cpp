#include "reference/markdown.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

namespace emplace::cli {
namespace {

constexpr std::size_t kWidth = 118;

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The length of the first word of `text`; inline code and links are not broken.
std::size_t first_word(std::string_view text) {
  bool in_code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') {
      in_code = !in_code;
    } else if (text[i] == ' ' && !in_code) {
      return i;
    }
  }
  return text.size();
}

// Says whether a line that begins with `word` would be an item of a list, a heading or a quotation.
bool begins_a_block(std::string_view word) {
  return word == "-" || word == "+" || word == "1." || word.starts_with('#') ||
         word.starts_with('>');
}

// Appends `text`, broken at blanks, with `first` before it and `hanging` before each further line.
void append_wrapped(std::string& page, std::string_view text, const std::string& first,
                    const std::string& hanging) {
  std::string line = first;
  bool has_words = false;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, first_word(text));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) {
      continue;
    }
    if (has_words && line.size() + 1 + word.size() > kWidth && !begins_a_block(word)) {
      page += line + "\n";
      line = hanging;
      has_words = false;
    }
    line += fmt::format("{}{}", has_words ? " " : "", word);
    has_words = true;
  }
  page += line + "\n";
}

}  // namespace

std::string code(std::string_view text) { return fmt::format("`{}`", text); }

std::string plain(std::string_view text) {
  std::string escaped;
  bool in_code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    in_code = in_code != (c == '`');
    const bool in_word = i > 0 && i + 1 < text.size() && is_letter_or_digit(text[i - 1]) &&
                         is_letter_or_digit(text[i + 1]);
    const bool is_mark = c == '*' || c == '<' || c == '|' || (c == '_' && !in_word);
    if (is_mark && !in_code) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

std::string sentence(std::string_view text) {
  std::string result = plain(text);
  if (result.empty()) {
    return result;
  }
  // A name such as m-SCT or oneDNN keeps its letters, and so do the variable of a formula and a
  // value that is explained ("step: ...").
  const std::string_view word = std::string_view(result).substr(0, result.find(' '));
  const bool is_word =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyz,;'-") == std::string_view::npos &&
      !std::string_view(result).substr(word.size()).starts_with(" = ");
  if (is_word) {
    result[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(result[0])));
  }
  const char last = result.back();
  return last == '.' || last == '!' || last == '?' ? result : result + ".";
}

std::string link(std::string_view text, std::string_view target) {
  return fmt::format("[{}]({})", text, target);
}

std::string anchor(std::string_view heading) {
  std::string fragment = "#";
  for (const char c : heading) {
    if (c == ' ') {
      fragment += '-';
    } else if (is_letter_or_digit(c) || c == '-' || c == '_') {
      fragment += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return fragment;
}

MarkdownPage::MarkdownPage(std::string_view title) : text_(fmt::format("# {}\n", title)) {}

void MarkdownPage::begin_block() {
  text_ += "\n";
  in_list_ = false;
}

MarkdownPage& MarkdownPage::heading(int level, std::string_view text) {
  begin_block();
  text_ += fmt::format("{} {}\n", std::string(static_cast<std::size_t>(level), '#'), text);
  return *this;
}

MarkdownPage& MarkdownPage::paragraph(std::string_view text) {
  if (!text.empty()) {
    begin_block();
    append_wrapped(text_, text, "", "");
  }
  return *this;
}

MarkdownPage& MarkdownPage::item(std::string_view text) {
  if (!in_list_) {
    begin_block();
    in_list_ = true;
  }
  append_wrapped(text_, text, "- ", "  ");
  return *this;
}

MarkdownPage& MarkdownPage::commands(const std::vector<std::string>& lines) {
  begin_block();
  text_ += fmt::format("```sh\n{}\n```\n", fmt::join(lines, "\n"));
  return *this;
}

MarkdownPage& MarkdownPage::table(const std::vector<std::string>& titles,
                                  const std::vector<std::vector<std::string>>& rows) {
  begin_block();
  text_ += fmt::format("| {} |\n|", fmt::join(titles, " | "));
  for (std::size_t i = 0; i < titles.size(); ++i) {
    text_ += " --- |";
  }
  text_ += "\n";
  for (const std::vector<std::string>& row : rows) {
    text_ += fmt::format("| {} |\n", fmt::join(row, " | "));
  }
  return *this;
}

MarkdownPage& MarkdownPage::begin_details(std::string_view summary) {
  begin_block();
  text_ += fmt::format("<details>\n<summary>{}</summary>\n", summary);
  return *this;
}

MarkdownPage& MarkdownPage::end_details() {
  begin_block();
  text_ += "</details>\n";
  return *this;
}

std::string MarkdownPage::text() const { return fmt::format("{}\n{}", text_, kReferenceMark); }

}  // namespace emplace::cli
