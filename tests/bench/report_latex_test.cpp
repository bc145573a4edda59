#include <emplace/bench/report.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::bench::report_latex_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ReportRow row_of(const std::string& agent, double step_time_us) {
  return {.agent = agent, .repetitions = 5, .step_time_us = step_time_us, .speedup = 1.25};
}

// One graph: the fastest of three agents takes 1.5 s; the last ran out of memory.
Report example() {
  ReportTable table{.graph = "nmt", .cluster = "p2", .bound_us = 1'000'000};
  table.rows = {row_of("a_b", 1'500'000), row_of("c", 2'000'000), row_of("full", 0)};
  table.rows[0].interval_us = {1'400'000, 1'600'000};
  table.rows[0].gap = 0.5;
  table.rows[2].out_of_memory = 5;
  return {.suite = "pair", .agents = {"c", "a_b", "full"}, .tables = {table}};
}

TEST(ReportLatex, SetsAgentsInTheOrderOfTheSuiteAndTheBestInBold) {
  const std::string text = write_latex(example());
  EXPECT_THAT(text, HasSubstr("\\label{tab:pair:1}"));
  EXPECT_THAT(text, HasSubstr("agent & \\multicolumn{2}{c}{p2 [s]} \\\\\n\\midrule\n"
                              "c & 2.000 & {\\scriptsize } \\\\\n"
                              "a\\_b & \\textbf{\\boldmath 1.500} & {\\scriptsize [1.400, 1.600]} "
                              "\\\\\nfull & OOM & {\\scriptsize } \\\\\n\\bottomrule\n"));
}

TEST(ReportLatex, HasTheDetailsOfEachProblem) {
  const std::string text = write_latex(example());
  EXPECT_THAT(text, HasSubstr("\\label{tab:pair:nmt:p2}"));
  EXPECT_THAT(text, HasSubstr("a\\_b & \\textbf{\\boldmath 1.500} & [1.400, 1.600] & 1.25 & 50.0 "
                              "\\\\\nc & 2.000 &  & 1.25 & 0.0 \\\\\n"));
  EXPECT_THAT(text, HasSubstr("nmt on p2, lower bound 1.000 s. step: "));
}

TEST(ReportLatex, WithoutIntervalsThereIsNoColumnForThem) {
  Report report = example();
  report.tables[0].rows[0].interval_us.reset();
  const std::string text = write_latex(report);
  EXPECT_THAT(text,
              HasSubstr("agent & \\multicolumn{1}{c}{p2 [s]} \\\\\n\\midrule\nc & 2.000 \\\\"));
  EXPECT_THAT(text, Not(HasSubstr("interval")));
}

TEST(ReportLatex, HasOneUnitInAllTables) {
  Report report = example();
  report.tables.push_back({.graph = "rnn", .cluster = "p2", .rows = {row_of("c", 900'000)}});
  const std::string text = write_latex(report);
  EXPECT_THAT(text, HasSubstr("\\textbf{\\boldmath 1500.0}"));
  EXPECT_THAT(text, HasSubstr("\\textbf{\\boldmath 900.0}"));
  EXPECT_THAT(text, Not(HasSubstr("[s]")));
}

TEST(ReportLatex, EscapesWhatTypesettingWouldRead) {
  Report report = example();
  report.tables[0].rows[0].agent = report.agents[1] = "50% & $x_1^2$ \\input{#} ~<|>--\"\n";
  EXPECT_THAT(write_latex(report),
              HasSubstr("50\\% \\& \\$x\\_1\\textasciicircum{}2\\$ \\textbackslash{}input\\{\\#\\} "
                        "\\textasciitilde{}\\textless{}\\textbar{}\\textgreater{}-{}-"
                        "''?"));
}

TEST(ReportLatex, MarksAgentsOfWhichSomeRepetitionsOverflowed) {
  Report report = example();
  report.tables[0].rows[1].out_of_memory = 2;
  EXPECT_THAT(write_latex(report), HasSubstr("c & 2.000$^\\dagger$ &"));
}

}  // namespace
}  // namespace emplace::bench::report_latex_test
