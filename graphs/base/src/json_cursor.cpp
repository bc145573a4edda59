#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/text_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace {
namespace {

using nlohmann::json;

// No format of ours is nested deeper than a handful of levels.
constexpr std::size_t kMaxLevels = 64;

std::string child_pointer(const std::string& parent, std::string_view key) {
  std::string pointer = parent + '/';
  for (const char letter : key) {
    // RFC 6901: '~' and '/' are escaped.
    if (letter == '~') {
      pointer += "~0";
    } else if (letter == '/') {
      pointer += "~1";
    } else {
      pointer += letter;
    }
  }
  return pointer;
}

[[noreturn]] void fail_at(std::string_view source, std::string_view pointer,
                          std::string_view message) {
  throw Error(ErrorCode::kFormat, fmt::format("{}: {}{}{}", source, excerpt(pointer, 200),
                                              pointer.empty() ? "" : ": ", message));
}

// Says what a value is, short enough for an error message.
std::string describe(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case json::value_t::string:
      return fmt::format("the text '{}'", excerpt(value.get_ref<const std::string&>(), 40));
    case json::value_t::array:
      return fmt::format("an array of {}", value.size());
    case json::value_t::object:
      return "an object";
    default:
      return "the number " + value.dump();
  }
}

// Builds the value that the parser reports piece by piece, knows where it stands, and refuses what
// a plain parser would let through: duplicate members and endless nesting.
class Builder final : public nlohmann::json_sax<json> {
 public:
  Builder(json& root, std::string_view source) : root_(&root), source_(source) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(json::binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    keys_.back() = name;
    const auto [member, is_new] = open_.back()->emplace(std::move(name), nullptr);
    if (!is_new) {
      fail_at(source_, pointer(), "the member appears twice");
    }
    member_ = &*member;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    // nlohmann's text: "[json.exception.x.101] parse error at line 1, column 2: reason; last read:
    // 'token'; expected 'y'". Its own tag and the token, which may be long and need not be UTF-8,
    // go.
    std::string_view text = error.what();
    text.remove_prefix(std::min(text.find("] "), text.size() - 2) + 2);
    const std::size_t token = text.find("; last read: '");
    const std::size_t expected = text.rfind("; expected");
    std::string message(text.substr(0, token));
    if (token != std::string_view::npos && expected != std::string_view::npos && expected > token) {
      message += text.substr(expected);
    }
    constexpr std::string_view kPrefix = "parse error at ";
    if (message.starts_with(kPrefix)) {
      message.erase(0, kPrefix.size());
    }
    fail_at(source_, pointer(), "not valid JSON: " + excerpt(message, 200));
  }

 private:
  template <class Value>
  bool add(Value&& value) {
    place(json(std::forward<Value>(value)));
    return true;
  }

  json& place(json value) {
    if (open_.empty()) {
      return *root_ = std::move(value);
    }
    json& parent = *open_.back();
    if (parent.is_object()) {
      return *member_ = std::move(value);
    }
    parent.push_back(std::move(value));
    return parent.back();
  }

  bool open(json container) {
    if (open_.size() == kMaxLevels) {
      fail_at(source_, pointer(), fmt::format("nested more than {} levels deep", kMaxLevels));
    }
    open_.push_back(&place(std::move(container)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  // Returns the place of the value that is being read.
  std::string pointer() const {
    std::string text;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i]->is_array()) {
        const bool inside = i + 1 < open_.size();
        text = child_pointer(text, std::to_string(open_[i]->size() - (inside ? 1 : 0)));
      } else if (!keys_[i].empty()) {
        text = child_pointer(text, keys_[i]);
      }
    }
    return text;
  }

  json* root_;
  std::string_view source_;
  std::vector<json*> open_;
  std::vector<std::string> keys_;
  json* member_ = nullptr;
};

// Notes the members of the root.
class RootMembers final : public nlohmann::json_sax<json> {
 public:
  std::vector<std::string> names{};

  bool null() override { return depth_ > 0; }
  bool boolean(bool) override { return depth_ > 0; }
  bool number_integer(std::int64_t) override { return depth_ > 0; }
  bool number_unsigned(std::uint64_t) override { return depth_ > 0; }
  bool number_float(double, const std::string&) override { return depth_ > 0; }
  bool string(std::string&) override { return depth_ > 0; }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxLevels; }
  bool start_array(std::size_t) override { return depth_ > 0 && ++depth_ <= kMaxLevels; }
  bool end_object() override { return --depth_ > 0; }
  bool end_array() override { return --depth_ > 0; }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      names.push_back(std::move(name));
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  std::size_t depth_ = 0;
};

}  // namespace

JsonCursor JsonCursor::at(std::string_view key) const {
  std::optional<JsonCursor> member = find(key);
  if (!member) {
    fail(fmt::format("the member '{}' is missing", key));
  }
  return *std::move(member);
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  if (!value_->is_object()) {
    fail_expected("an object");
  }
  const auto member = value_->find(key);
  if (member == value_->end()) {
    return std::nullopt;
  }
  return JsonCursor(*member, source_, child_pointer(pointer_, key));
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key,
                                           std::string_view former_key) const {
  auto member = find(key);
  return member ? member : find(former_key);
}

std::vector<JsonCursor> JsonCursor::elements() const {
  if (!value_->is_array()) {
    fail_expected("an array");
  }
  std::vector<JsonCursor> cursors;
  cursors.reserve(value_->size());
  for (const json& element : *value_) {
    cursors.emplace_back(element, source_, fmt::format("{}/{}", pointer_, cursors.size()));
  }
  return cursors;
}

std::vector<std::pair<std::string, JsonCursor>> JsonCursor::members() const {
  if (!value_->is_object()) {
    fail_expected("an object");
  }
  std::vector<std::pair<std::string, JsonCursor>> cursors;
  for (const auto& [key, member] : value_->items()) {
    cursors.emplace_back(key, JsonCursor(member, source_, child_pointer(pointer_, key)));
  }
  return cursors;
}

void JsonCursor::expect_only(std::span<const std::string_view> keys) const {
  if (!value_->is_object()) {
    fail_expected("an object");
  }
  for (const auto& [key, member] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      const std::vector<std::string> known(keys.begin(), keys.end());
      fail_at(source_, child_pointer(pointer_, key),
              "the member is not known" + suggest_names(key, known));
    }
  }
}

void JsonCursor::expect_schema(std::string_view schema, std::int64_t version) const {
  const JsonCursor name = at("schema");
  if (name.text() != schema) {
    name.fail_expected(fmt::format("the text '{}'", schema));
  }
  const JsonCursor number = at("version");
  const std::int64_t found = number.integer(1);
  if (found > version) {
    number.fail(fmt::format("this program reads version {} at most, found {}", version, found));
  }
}

std::string JsonCursor::text() const {
  if (!value_->is_string()) {
    fail_expected("a text");
  }
  return value_->get<std::string>();
}

std::string JsonCursor::non_empty_text() const {
  if (!value_->is_string() || value_->get_ref<const std::string&>().empty()) {
    fail_expected("a text that is not empty");
  }
  return value_->get<std::string>();
}

std::size_t JsonCursor::one_of(std::span<const std::string_view> choices) const {
  const auto found = value_->is_string()
                         ? std::find(choices.begin(), choices.end(), value_->get<std::string>())
                         : choices.end();
  if (found == choices.end()) {
    fail_expected(fmt::format("'{}'", fmt::join(choices, "' or '")));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

double JsonCursor::number(double min, double max) const {
  // The parser lets no NaN and no infinity in.
  if (!value_->is_number() || value_->get<double>() < min || value_->get<double>() > max) {
    fail_expected(fmt::format("a number from {} to {}", min, max));
  }
  return value_->get<double>();
}

std::int64_t JsonCursor::integer(std::int64_t min, std::int64_t max) const {
  using Limits = std::numeric_limits<std::int64_t>;
  const bool is_integer = value_->is_number_integer();
  const bool fits = !is_integer || !value_->is_number_unsigned() ||
                    std::in_range<std::int64_t>(value_->get<std::uint64_t>());
  if (!is_integer || !fits || value_->get<std::int64_t>() < min ||
      value_->get<std::int64_t>() > max) {
    fail_expected(max < Limits::max() || !fits
                      ? fmt::format("a whole number from {} to {}", min, max)
                  : min > Limits::min() ? fmt::format("a whole number of at least {}", min)
                                        : "a whole number");
  }
  return value_->get<std::int64_t>();
}

bool JsonCursor::boolean() const {
  if (!value_->is_boolean()) {
    fail_expected("true or false");
  }
  return value_->get<bool>();
}

bool JsonCursor::is_array() const { return value_->is_array(); }
bool JsonCursor::is_object() const { return value_->is_object(); }

bool JsonCursor::is_text() const { return value_->is_string(); }

bool JsonCursor::is_boolean() const { return value_->is_boolean(); }
bool JsonCursor::is_integer() const { return value_->is_number_integer(); }
bool JsonCursor::is_null() const { return value_->is_null(); }

void JsonCursor::fail(std::string_view message) const { fail_at(source_, pointer_, message); }

void JsonCursor::fail_expected(std::string_view expected) const {
  fail(fmt::format("expected {}, found {}", expected, describe(*value_)));
}

// Where the value of a document stands: in a file, at a JSON pointer.
struct JsonDocument::Place {
  std::string source{};
  std::string pointer{};
};

JsonDocument JsonCursor::copy() const { return {*value_, {std::string(source_), pointer_}}; }

JsonDocument::JsonDocument(json value, Place place)
    : value_(std::make_unique<json>(std::move(value))),
      place_(std::make_unique<Place>(std::move(place))) {}

JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonDocument JsonDocument::parse(std::string_view text, std::string source) {
  JsonDocument document({}, {.source = std::move(source)});
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    fail_at(document.place_->source, "", "not valid JSON: the text is empty");
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    fail_at(document.place_->source, "", "not valid JSON: it begins with a byte-order mark");
  }
  Builder builder(*document.value_, document.place_->source);
  json::sax_parse(text, &builder);
  return document;
}

JsonDocument JsonDocument::read(const std::string& path) {
  return parse(read_text_file(path), path == "-" ? "standard input" : path);
}

JsonCursor JsonDocument::root() const { return {*value_, place_->source, place_->pointer}; }

std::vector<std::string> json_root_members(std::string_view text) {
  RootMembers members;
  json::sax_parse(text, &members);
  return std::move(members.names);
}

}  // namespace emplace
