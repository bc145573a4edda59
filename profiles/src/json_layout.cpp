#include "json_layout.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace emplace {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool holds_object(const Json& value) {
  return value.is_structured() && std::any_of(value.begin(), value.end(), [](const Json& inner) {
           return inner.is_object() || holds_object(inner);
         });
}

void append(std::string& text, const Json& value, std::size_t indent) {
  if (value.is_number_float()) {
    text += fmt::to_string(value.get<double>());
    return;
  }
  if (value.is_string()) {
    text += quoted(value.get_ref<const std::string&>());
    return;
  }
  if (!value.is_structured()) {
    text += value.dump();
    return;
  }
  const bool in_lines = holds_object(value);
  const std::string separator = in_lines ? ",\n" + std::string(indent + 2, ' ') : ", ";
  text += value.is_object() ? '{' : '[';
  for (auto inner = value.begin(); inner != value.end(); ++inner) {
    if (inner != value.begin()) {
      text += separator;
    } else if (in_lines) {
      text += separator.substr(1);
    }
    if (value.is_object()) {
      text += quoted(inner.key()) + ": ";
    }
    append(text, *inner, indent + 2);
  }
  if (in_lines) {
    text += '\n' + std::string(indent, ' ');
  }
  text += value.is_object() ? '}' : ']';
}

}  // namespace

std::string lay_out(const Json& value) {
  std::string text;
  append(text, value, 0);
  return text + '\n';
}

}  // namespace emplace
