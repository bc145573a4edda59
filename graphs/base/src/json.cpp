#include <emplace/base/check.hpp>
#include <emplace/base/json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace emplace {
namespace {

bool is_space(char letter) {
  return letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r';
}

// Returns the end of the token that begins at `begin`: a string, a bracket, a comma, a colon, or a
// number or word.
std::size_t end_of_token(std::string_view text, std::size_t begin) {
  if (text[begin] == '"') {
    std::size_t end = begin + 1;
    while (text[end] != '"') {
      end += text[end] == '\\' ? 2 : 1;
    }
    return end + 1;
  }
  constexpr std::string_view kPunctuation = "{}[],:";
  if (kPunctuation.find(text[begin]) != std::string_view::npos) {
    return begin + 1;
  }
  return std::min(text.find_first_of("{}[],: \n\t\r", begin), text.size());
}

// Calls visit(token) for each token of valid JSON.
template <class Visit>
void for_each_token(std::string_view text, Visit visit) {
  for (std::size_t begin = 0; begin < text.size();) {
    if (is_space(text[begin])) {
      ++begin;
      continue;
    }
    const std::size_t end = end_of_token(text, begin);
    visit(text.substr(begin, end - begin));
    begin = end;
  }
}

bool opens(std::string_view token) { return token == "{" || token == "["; }
bool closes(std::string_view token) { return token == "}" || token == "]"; }

// Says for each bracket that opens, in order, whether what it opens holds an object.
std::vector<bool> brackets_around_objects(std::string_view text) {
  std::vector<bool> holds_object;
  std::vector<std::size_t> open;
  for_each_token(text, [&](std::string_view token) {
    if (opens(token)) {
      if (token == "{") {
        for (const std::size_t outer : open) {
          holds_object[outer] = true;
        }
      }
      open.push_back(holds_object.size());
      holds_object.push_back(false);
    } else if (closes(token)) {
      open.pop_back();
    }
  });
  return holds_object;
}

std::string number_of_people(std::string_view token) {
  const bool is_number = token[0] == '-' || (token[0] >= '0' && token[0] <= '9');
  if (!is_number || token.find_first_of(".e") == std::string_view::npos) {
    return std::string(token);
  }
  return fmt::to_string(std::strtod(std::string(token).c_str(), nullptr));
}

}  // namespace

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Json::Json(double value) : text_(nlohmann::json(value).dump()) {}

Json::Json(std::initializer_list<Member> members) : text_("{}") {
  for (const Member& member : members) {
    add(member.key, member.value);
  }
}

Json Json::array(std::initializer_list<Json> values) {
  Json array = of_text("[]");
  for (const Json& value : values) {
    array.push_back(value);
  }
  return array;
}

Json Json::of_text(std::string_view text) {
  Json json;
  json.text_.clear();
  for_each_token(text, [&](std::string_view token) { json.text_ += token; });
  return json;
}

Json& Json::add(std::string_view key, const Json& value) {
  EMPLACE_CHECK(text_.front() == '{', "no object: {}", text_);
  text_.pop_back();
  text_ += text_.size() > 1 ? "," : "";
  text_ += json_text(key);
  text_ += ':';
  text_ += value.text_;
  text_ += '}';
  return *this;
}

Json& Json::add_all(const Json& object) {
  EMPLACE_CHECK(text_.front() == '{' && object.text_.front() == '{', "no objects: {}, {}", text_,
                object.text_);
  if (object.text_.size() > 2) {
    text_.pop_back();
    text_ += text_.size() > 1 ? "," : "";
    text_.append(object.text_, 1);
  }
  return *this;
}

void Json::push_back(const Json& value) {
  EMPLACE_CHECK(text_.front() == '[', "no array: {}", text_);
  text_.pop_back();
  text_ += text_.size() > 1 ? "," : "";
  text_ += value.text_;
  text_ += ']';
}

std::string Json::indented(int spaces) const {
  std::string result;
  std::size_t depth = 0;
  const auto new_line = [&] {
    result += '\n';
    result.append(depth * static_cast<std::size_t>(spaces), ' ');
  };
  std::string_view before;
  for_each_token(text_, [&](std::string_view token) {
    if (opens(before) && !closes(token)) {
      ++depth;
      new_line();
    } else if (before == ",") {
      new_line();
    } else if (closes(token) && !opens(before)) {
      --depth;
      new_line();
    }
    result += token;
    result += token == ":" ? " " : "";
    before = token;
  });
  return result;
}

std::string Json::laid_out() const {
  const std::vector<bool> holds_object = brackets_around_objects(text_);
  std::string result;
  std::vector<bool> in_lines;
  std::size_t bracket = 0;
  const auto new_line = [&] {
    result += '\n';
    result.append(2 * in_lines.size(), ' ');
  };
  for_each_token(text_, [&](std::string_view token) {
    if (closes(token)) {
      const bool in_line = !in_lines.back();
      in_lines.pop_back();
      if (!in_line) {
        new_line();
      }
    }
    result += number_of_people(token);
    if (opens(token)) {
      in_lines.push_back(holds_object[bracket++]);
    }
    if ((opens(token) || token == ",") && in_lines.back()) {
      new_line();
    } else if (token == ":" || token == ",") {
      result += ' ';
    }
  });
  return result + '\n';
}

JsonColumns::JsonColumns(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    columns_.emplace_back(name, Json::array());
  }
}

Json& JsonColumns::operator[](std::string_view name) {
  const auto column = std::ranges::find(columns_, name, &std::pair<std::string, Json>::first);
  return column != columns_.end() ? column->second
                                  : columns_.emplace_back(name, Json::array()).second;
}

Json JsonColumns::json() const {
  Json object = columns_.empty() ? Json() : Json::object();
  for (const auto& [name, values] : columns_) {
    object.add(name, values);
  }
  return object;
}

}  // namespace emplace
