#include <emplace/bench/text_table.hpp>

#include <gtest/gtest.h>

namespace emplace::bench::text_table_test {
namespace {

TEST(TextTable, AlignsColumns) {
  TextTable table({{"name"}, {"ms", TextTable::Align::kRight}});
  table.add_row({"a", "10.0"});
  table.add_row({"longer", "9.5"});
  EXPECT_EQ(table.to_terminal(false),
            "  name      ms\n"
            "  a       10.0\n"
            "  longer   9.5\n");
}

TEST(TextTable, LeavesOutTheLeastImportantColumnsThatDoNotFit) {
  TextTable table({{"name"},
                   {"a", TextTable::Align::kLeft, 2},
                   {"b", TextTable::Align::kLeft, 1},
                   {"c", TextTable::Align::kLeft, 2}});
  table.add_row({"twelve chars", "aaaaaaaa", "bbbbbbbb", "cccccccc"});
  EXPECT_EQ(table.to_terminal(false, 44), table.to_terminal(false));
  EXPECT_EQ(table.to_terminal(false, 43),
            "  name          a         b\n"
            "  twelve chars  aaaaaaaa  bbbbbbbb\n"
            "  (--wide shows 1 more column: c)\n");
  EXPECT_EQ(table.to_terminal(false, 24),
            "  name          b\n"
            "  twelve chars  bbbbbbbb\n"
            "  (--wide shows 2 more\n"
            "    columns: a, c)\n");
  EXPECT_EQ(table.columns_within(1), std::vector<std::size_t>{0}) << "a table is never empty";
}

TEST(TextTable, FillsLinesWithWords) {
  EXPECT_EQ(filled("  one two three", 9, 4), "  one two\n    three");
  EXPECT_EQ(filled("  one two three", 0), "  one two three");
  EXPECT_EQ(filled("a-word-too-long for it", 6), "a-word-too-long\nfor it");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({{"name"}, {"x"}});
  table.add_row({"\xC3\xA9t\xC3\xA9", "1"});  // "ete" with two accents: three characters
  table.add_row({"abc", "2"});
  EXPECT_EQ(table.to_terminal(false),
            "  name  x\n"
            "  \xC3\xA9t\xC3\xA9   1\n"
            "  abc   2\n");
}

TEST(TextTable, LetsNoControlCharactersThrough) {
  TextTable table({{"name"}});
  table.add_row({"a\x1b[31m\n"});
  EXPECT_EQ(table.to_terminal(false), "  name\n  a?[31m?\n");
}

TEST(TextTable, HtmlEscapesItsOwnMarks) {
  TextTable table({{"name"}, {"n", TextTable::Align::kRight}});
  table.add_row({"<script>\"a\" & 'b'\n", "1"});
  table.add_row({"c", "2"}, true);
  EXPECT_EQ(table.to_html(),
            "<table>\n"
            "<tr><th>name</th><th class=\"number\">n</th></tr>\n"
            "<tr><td>&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;?</td><td class=\"number\">1</td>"
            "</tr>\n"
            "<tr class=\"emphasized\"><td>c</td><td class=\"number\">2</td></tr>\n"
            "</table>\n");
}

TEST(TextTable, MarkdownEscapesItsOwnMarks) {
  TextTable table({{"name"}, {"n", TextTable::Align::kRight}});
  table.add_row({"a|b_c", "1"}, true);
  EXPECT_EQ(table.to_markdown(),
            "| name | n |\n"
            "| --- | ---: |\n"
            "| **a\\|b\\_c** | **1** |\n");
}

}  // namespace
}  // namespace emplace::bench::text_table_test
