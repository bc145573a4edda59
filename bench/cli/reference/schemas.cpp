// schemas.md, from the JSON schemas of all modules.

#include "reference/pages.hpp"

#include <emplace/graphs/embedded.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace emplace::embedded {
// From the modules' folders schema, by emplace_embed() in CMakeLists.txt.
std::span<const Document> graph_schemas();
std::span<const Document> profile_schemas();
std::span<const Document> sim_schemas();
std::span<const Document> bench_schemas();
}  // namespace emplace::embedded

namespace emplace::cli {
namespace {

using Json = nlohmann::ordered_json;

// Bounds from here on only say that a number fits its type.
constexpr double kLeastUntold = 2147483647;

// "device profile" of "device_profile".
std::string words_of(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  return words;
}

// "device profile" of "device_profile.schema".
std::string title_of_file(std::string_view file) {
  return words_of(file.substr(0, file.find('.')));
}

std::string value_of(const Json& value) { return code(value.dump()); }

std::string joined_by_or(const std::vector<std::string>& texts) {
  if (texts.size() < 2) {
    return texts.empty() ? "" : texts.front();
  }
  return fmt::format("{} or {}", fmt::join(texts.begin(), texts.end() - 1, ", "), texts.back());
}

// 1000000 for 1e6, which a schema may write as a floating-point number.
std::string number_of(const Json& number) {
  const double value = number.get<double>();
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

// " from 1 to 64", " of at least 1" or nothing, from `minimum` and `maximum`.
std::string range_of(const Json& schema) {
  const bool has_most =
      schema.contains("maximum") && schema.at("maximum").get<double>() < kLeastUntold;
  const std::string most = has_most ? number_of(schema.at("maximum")) : "";
  if (!schema.contains("minimum")) {
    return has_most ? " of at most " + most : "";
  }
  const std::string least = number_of(schema.at("minimum"));
  return has_most ? fmt::format(" from {} to {}", least, most) : " of at least " + least;
}

// "list of 2 ", "non-empty list of " and the like, from `minItems` and `maxItems`.
std::string list_of(const Json& schema) {
  const std::int64_t least = schema.value("minItems", std::int64_t{0});
  if (!schema.contains("maxItems")) {
    return least == 0   ? "list of "
           : least == 1 ? "non-empty list of "
                        : fmt::format("list of at least {} ", least);
  }
  const std::int64_t most = schema.at("maxItems");
  return least == most ? fmt::format("list of {} ", most)
         : least == 0  ? fmt::format("list of at most {} ", most)
                       : fmt::format("list of {} to {} ", least, most);
}

// One schema file: what its references mean, and how its types are written.
class SchemaFile {
 public:
  SchemaFile(std::string_view folder, const embedded::Document& document)
      : folder_(folder), file_(document.name), json_(Json::parse(document.text)) {}

  void add_to(MarkdownPage& page) const {
    page.heading(2, title());
    page.paragraph(fmt::format("{} The schema is `{}/schema/{}.json`.",
                               sentence(json_.value("description", "")), folder_, file_));
    add_fields(page, json_, 0);
    const Json definitions = json_.value("$defs", Json::object());
    for (const auto& [name, schema] : definitions.items()) {
      if (has_section(schema)) {
        page.heading(3, section_of(name));
        page.paragraph(sentence(schema.value("description", "")));
        if (schema.contains("prefixItems")) {
          page.paragraph(sentence("a " + type_of(schema)));
        }
        add_fields(page, schema, 0);
      }
    }
  }

  std::string title() const { return title_of_file(file_); }

 private:
  std::string section_of(const std::string& name) const {
    return fmt::format("{}: {}", title(), words_of(name));
  }

  // Objects have sections of their own; other definitions are written out where they are used.
  static bool has_section(const Json& schema) {
    return schema.contains("properties") || schema.contains("prefixItems");
  }

  const Json& definition(const std::string& name) const { return json_.at("$defs").at(name); }

  // What a reference means, in words.
  std::string reference(const std::string& target, bool many) const {
    constexpr std::string_view kDefinitions = "#/$defs/";
    const std::size_t mark = target.find('#');
    const std::string file = target.substr(0, mark);
    const std::string name =
        mark == std::string::npos ? "" : target.substr(mark + kDefinitions.size());
    if (!file.empty()) {
      std::string heading = title_of_file(file);
      if (!name.empty()) {
        heading += ": " + words_of(name);
      }
      return link(name.empty() ? heading : words_of(name), anchor(heading));
    }
    return has_section(definition(name)) ? link(words_of(name), anchor(section_of(name)))
                                         : type_of(definition(name), many);
  }

  std::string type_of_array(const Json& schema) const {
    std::vector<std::string> entries;
    for (const Json& entry : schema.value("prefixItems", Json::array())) {
      entries.push_back(type_of(entry));
    }
    if (!entries.empty()) {
      return fmt::format("list of {}: {}", entries.size(), fmt::join(entries, "; "));
    }
    return list_of(schema) + type_of(schema.value("items", Json::object()), true);
  }

  // `many` asks for the plural.
  std::string type_of(const Json& schema, bool many = false) const {
    if (schema.contains("$ref")) {
      return reference(schema.at("$ref"), many);
    }
    if (schema.contains("const")) {
      return value_of(schema.at("const"));
    }
    std::vector<std::string> choices;
    for (const Json& choice : schema.value("enum", Json::array())) {
      choices.push_back(value_of(choice));
    }
    for (const Json& choice : schema.value("oneOf", Json::array())) {
      choices.push_back(type_of(choice, many));
    }
    if (!choices.empty()) {
      return joined_by_or(choices);
    }
    const std::string type = schema.value("type", "");
    const std::string_view plural = many ? "s" : "";
    if (type == "integer") {
      return fmt::format("whole number{}{}", plural, range_of(schema));
    }
    if (type == "number") {
      return fmt::format("number{}{}", plural, range_of(schema));
    }
    if (type == "boolean") {
      return "`true` or `false`";
    }
    if (type == "string") {
      return fmt::format("{}text{}", schema.contains("pattern") ? "kebab-case " : "", plural);
    }
    if (type == "array") {
      return type_of_array(schema);
    }
    const Json& values = schema.value("additionalProperties", Json());
    return values.is_object() ? fmt::format("object of {} by name", type_of(values, true))
           : many             ? "objects"
                              : "object";
  }

  // The description of a member, or of what it refers to.
  std::string description_of(const Json& schema) const {
    if (schema.contains("description")) {
      return schema.at("description");
    }
    const std::string target = schema.value("$ref", "");
    return target.starts_with("#/$defs/") && !has_section(definition(target.substr(8)))
               ? definition(target.substr(8)).value("description", "")
               : "";
  }

  void add_fields(MarkdownPage& page, const Json& schema, int depth) const {
    const Json required = schema.value("required", Json::array());
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, member] : properties.items()) {
      const bool is_required = std::ranges::find(required, Json(name)) != required.end();
      std::string text =
          fmt::format("**`{}`** ({}{})", name, type_of(member), is_required ? ", required" : "");
      const std::string description = description_of(member);
      if (!description.empty() || member.contains("default")) {
        text += ":";
      }
      if (!description.empty()) {
        text += " " + sentence(description);
      }
      if (member.contains("default")) {
        text += fmt::format(" By default {}.", value_of(member.at("default")));
      }
      page.item(text, depth);
      add_inner_fields(page, member, depth + 1);
    }
    add_conditions(page, schema, depth);
  }

  // Adds the fields of an object that stands in a member, in its list or among its choices.
  void add_inner_fields(MarkdownPage& page, const Json& schema, int depth) const {
    if (schema.contains("properties")) {
      add_fields(page, schema, depth);
    }
    if (schema.contains("items")) {
      add_inner_fields(page, schema.at("items"), depth);
    }
    for (const Json& choice : schema.value("oneOf", Json::array())) {
      add_inner_fields(page, choice, depth);
    }
  }

  static void add_conditions(MarkdownPage& page, const Json& schema, int depth) {
    std::vector<std::string> alternatives;
    for (const Json& choice : schema.value("anyOf", Json::array())) {
      std::vector<std::string> names;
      for (const Json& name : choice.at("required")) {
        names.push_back(code(name.get<std::string>()));
      }
      alternatives.push_back(fmt::format("{}", fmt::join(names, " and ")));
    }
    if (!alternatives.empty()) {
      page.item(fmt::format("Required: {}.", fmt::join(alternatives, "; or ")), depth);
    }
    const Json dependent = schema.value("dependentRequired", Json::object());
    for (const auto& [name, needed] : dependent.items()) {
      for (const Json& other : needed) {
        page.item(fmt::format("`{}` needs `{}`.", name, other.get<std::string>()), depth);
      }
    }
  }

  std::string_view folder_;
  std::string_view file_;
  Json json_;
};

std::vector<SchemaFile> schema_files() {
  std::vector<SchemaFile> files;
  for (const auto& [folder, documents] :
       {std::pair{"graphs", embedded::graph_schemas()},
        std::pair{"profiles", embedded::profile_schemas()},
        std::pair{"sim", embedded::sim_schemas()}, std::pair{"bench", embedded::bench_schemas()}}) {
    for (const embedded::Document& document : documents) {
      files.emplace_back(folder, document);
    }
  }
  return files;
}

}  // namespace

std::string schema_page() {
  const std::vector<SchemaFile> files = schema_files();
  MarkdownPage page("JSON files");
  page.paragraph(
      "All files of emplace are JSON objects with a `schema` and a `version`. A member that is not "
      "listed here is an error that names the file and the member. JSON Schema files for editors "
      "and validators are in the `schema` folders of the modules.");
  for (const SchemaFile& file : files) {
    page.item(link(file.title(), anchor(file.title())));
  }
  for (const SchemaFile& file : files) {
    file.add_to(page);
  }
  return page.text();
}

}  // namespace emplace::cli
