#include "support/errors.hpp"

#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace emplace::json_cursor_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();

template <class Action>
std::string format_error(Action action) {
  return test::error_of(ErrorCode::kFormat, action);
}

std::string parse_error(std::string_view text) {
  return format_error([&] { JsonDocument::parse(text, "x.json"); });
}

TEST(JsonCursor, CopiesAValueThatOutlivesItsDocumentAndKnowsItsPlace) {
  std::optional<JsonDocument> document =
      JsonDocument::parse(R"({"a": {"b": [0.1, 1e-300]}, "c": 1})", "x.json");
  const JsonDocument copy = document->root().at("a").copy();
  document.reset();
  const JsonCursor list = copy.root().at("b");
  EXPECT_EQ(list.elements().at(0).number(0, 1), 0.1);
  EXPECT_EQ(list.elements().at(1).number(0, 1), 1e-300);
  EXPECT_EQ(format_error([&] { list.elements().at(1).text(); }),
            "x.json: /a/b/1: expected a text, found the number 1e-300");
}

TEST(JsonCursor, ReadsEveryKindOfValue) {
  const JsonDocument document = JsonDocument::parse(
      R"({"text": "grüße", "number": 2.5, "integer": -7, "truth": true, "array": [1, [2]]})",
      "x.json");
  const JsonCursor root = document.root();
  EXPECT_EQ(root.at("text").text(), "grüße");
  EXPECT_EQ(root.at("number").number(0, 10), 2.5);
  EXPECT_EQ(root.at("integer").number(-7, 10), -7);
  EXPECT_EQ(root.at("integer").integer(-7, 10), -7);
  EXPECT_TRUE(root.at("truth").boolean());
  EXPECT_EQ(root.at("array").elements().at(1).elements().at(0).integer(0, 9), 2);
  EXPECT_FALSE(root.find("absent").has_value());
  EXPECT_EQ(root.members().at(1).first, "integer");  // sorted by name
}

TEST(JsonCursor, TellsAnIntegerZeroFromZeroWithAPoint) {
  const JsonDocument document = JsonDocument::parse("[0, 0.0]", "x.json");
  EXPECT_TRUE(document.root().elements()[0].is_integer());
  EXPECT_FALSE(document.root().elements()[1].is_integer());
  EXPECT_EQ(document.root().elements()[1].number(0, 0), 0.0);
}

TEST(JsonCursor, TellsFileAndPlaceAndWhatWasExpected) {
  const JsonDocument document = JsonDocument::parse(
      R"({"devices": [{}, {}, {"profile": 7, "a/b": {"c~d": null}}], "n": 1.5, "big": 1e18})",
      "cluster.json");
  const JsonCursor root = document.root();
  const JsonCursor device = root.at("devices").elements()[2];
  EXPECT_EQ(format_error([&] { device.at("profile").text(); }),
            "cluster.json: /devices/2/profile: expected a text, found the number 7");
  EXPECT_EQ(format_error([&] { device.at("memory"); }),
            "cluster.json: /devices/2: the member 'memory' is missing");
  EXPECT_EQ(format_error([&] { device.at("a/b").at("c~d").boolean(); }),
            "cluster.json: /devices/2/a~1b/c~0d: expected true or false, found null");
  EXPECT_EQ(format_error([&] { root.at("devices").members(); }),
            "cluster.json: /devices: expected an object, found an array of 3");
  EXPECT_EQ(format_error([&] { root.elements(); }),
            "cluster.json: expected an array, found an object");
  EXPECT_EQ(format_error([&] { root.at("n").integer(0, 9); }),
            "cluster.json: /n: expected a whole number from 0 to 9, found the number 1.5");
  EXPECT_EQ(format_error([&] { root.at("n").number(2, 9); }),
            "cluster.json: /n: expected a number from 2 to 9, found the number 1.5");
}

TEST(JsonCursor, RefusesIntegersThatDoNotFit) {
  const JsonDocument document =
      JsonDocument::parse("[9223372036854775807, 9223372036854775808, 1e18]", "x.json");
  const std::vector<JsonCursor> numbers = document.root().elements();
  EXPECT_EQ(numbers[0].integer(0, kMaxInteger), kMaxInteger);
  EXPECT_THAT(format_error([&] { numbers[1].integer(0, kMaxInteger); }),
              StartsWith("x.json: /1: expected a whole number from 0 to 9223372036854775807"));
  EXPECT_THAT(format_error([&] { numbers[2].integer(0, kMaxInteger); }), StartsWith("x.json: /2"));
}

TEST(JsonCursor, CutsLongTextInMessages) {
  const JsonDocument document = JsonDocument::parse(fmt::format("\"{:x>100000}\"", ""), "x.json");
  EXPECT_EQ(format_error([&] { document.root().integer(0, 1); }),
            "x.json: expected a whole number from 0 to 1, found the text '" + std::string(40, 'x') +
                "...'");
}

TEST(JsonCursor, RefusesEmptyTextWhereAsked) {
  const JsonDocument document = JsonDocument::parse(R"({"name": ""})", "x.json");
  EXPECT_EQ(document.root().at("name").text(), "");
  EXPECT_EQ(format_error([&] { document.root().at("name").non_empty_text(); }),
            "x.json: /name: expected a text that is not empty, found the text ''");
}

TEST(JsonCursor, FindsATextAmongChoices) {
  const std::vector<std::string_view> choices = {"fair", "fifo"};
  const JsonDocument document = JsonDocument::parse(R"(["fifo", "lifo", 1])", "x.json");
  const std::vector<JsonCursor> texts = document.root().elements();
  EXPECT_EQ(texts[0].one_of(choices), 1U);
  EXPECT_EQ(format_error([&] { texts[1].one_of(choices); }),
            "x.json: /1: expected 'fair' or 'fifo', found the text 'lifo'");
  EXPECT_EQ(format_error([&] { texts[2].one_of(choices); }),
            "x.json: /2: expected 'fair' or 'fifo', found the number 1");
}

TEST(JsonCursor, RefusesUnknownMembersAndNamesTheNearest) {
  const JsonDocument document = JsonDocument::parse(R"({"flop": 1})", "x.json");
  EXPECT_EQ(format_error([&] {
              document.root().expect_only({"flops", "bytes"});
            }),
            "x.json: /flop: the member is not known; did you mean 'flops'?");
  document.root().expect_only({"flop"});
}

TEST(JsonCursor, ChecksSchemaAndVersion) {
  const auto check = [](std::string_view text) {
    return format_error(
        [&] { JsonDocument::parse(text, "x.json").root().expect_schema("emplace-graph", 1); });
  };
  JsonDocument::parse(R"({"schema": "emplace-graph", "version": 1})", "x.json")
      .root()
      .expect_schema("emplace-graph", 1);
  EXPECT_EQ(check("{}"), "x.json: the member 'schema' is missing");
  EXPECT_EQ(check(R"({"schema": "cluster"})"),
            "x.json: /schema: expected the text 'emplace-graph', found the text 'cluster'");
  EXPECT_EQ(check(R"({"schema": "emplace-graph", "version": 2})"),
            "x.json: /version: this program reads version 1 at most, found 2");
  EXPECT_THAT(check(R"({"schema": "emplace-graph", "version": 0})"), HasSubstr("/version"));
}

TEST(JsonDocument, TellsWhereTextIsNotJson) {
  EXPECT_THAT(parse_error("{\n  \"a\": [1, 2\n"),
              AllOf(StartsWith("x.json: /a/2: not valid JSON: line 3, column 1: "),
                    HasSubstr("unexpected end of input")));
  EXPECT_THAT(parse_error("[1] []"), HasSubstr("line 1, column 5"));
  EXPECT_THAT(parse_error(R"({"a": 1,})"), StartsWith("x.json: "));
  EXPECT_THAT(parse_error("[01]"), StartsWith("x.json: "));
  EXPECT_THAT(parse_error("{'a': 1}"), StartsWith("x.json: "));
  EXPECT_THAT(parse_error("[1, // two\n2]"), StartsWith("x.json: "));
}

TEST(JsonDocument, RefusesEmptyTextAndAByteOrderMark) {
  EXPECT_EQ(parse_error(""), "x.json: not valid JSON: the text is empty");
  EXPECT_EQ(parse_error(" \n"), "x.json: not valid JSON: the text is empty");
  EXPECT_EQ(parse_error("\xEF\xBB\xBF{}"),
            "x.json: not valid JSON: it begins with a byte-order mark");
}

TEST(JsonDocument, RefusesDuplicateMembers) {
  EXPECT_EQ(parse_error(R"({"a": [0, {"b/c": 1, "b/c": 1}]})"),
            "x.json: /a/1/b~1c: the member appears twice");
}

TEST(JsonDocument, RefusesNumbersThatNoDoubleHolds) {
  EXPECT_THAT(parse_error(R"({"a": [0, 1e999]})"), StartsWith("x.json: /a/1: not valid JSON: "));
  EXPECT_THAT(parse_error(std::string(100'000, '9')), StartsWith("x.json: not valid JSON: "));
  EXPECT_LT(parse_error(std::string(100'000, '9')).size(), 400U);
  EXPECT_THAT(parse_error("[NaN]"), StartsWith("x.json: /0: "));
  EXPECT_THAT(parse_error("[Infinity]"), StartsWith("x.json: /0: "));
  EXPECT_THAT(parse_error("[-Infinity]"), StartsWith("x.json: /0: "));
}

TEST(JsonDocument, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(
      parse_error("{\"a\": \"\xFF\"}"),
      AllOf(StartsWith("x.json: /a: not valid JSON: line 1, column 8"), HasSubstr("UTF-8")));
  EXPECT_THAT(parse_error("{\"\xC3\x28\": 1}"), HasSubstr("UTF-8"));
  EXPECT_THAT(parse_error("\xFF\xFE{\0}\0"), StartsWith("x.json: not valid JSON: "));
  EXPECT_THAT(parse_error(R"(["\ud800"])"), StartsWith("x.json: /0: not valid JSON: "));
}

TEST(JsonDocument, RefusesEndlessNesting) {
  const std::string text(1'000'000, '[');
  EXPECT_THAT(parse_error(text), HasSubstr("nested more than 64 levels deep"));
  JsonDocument::parse(std::string(64, '[') + std::string(64, ']'), "x.json");
  EXPECT_THAT(parse_error(std::string(65, '[') + std::string(65, ']')), HasSubstr("64 levels"));
}

TEST(JsonDocument, ThatDoesNotExistIsAnIoError) {
  EXPECT_THAT(test::error_of(ErrorCode::kIo, [&] { JsonDocument::read("no-such-file.json"); }),
              HasSubstr("no-such-file.json"));
}

}  // namespace
}  // namespace emplace::json_cursor_test
