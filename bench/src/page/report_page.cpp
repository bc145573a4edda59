#include "report/report_columns.hpp"
#include "report/report_json.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/counted.hpp>
#include <emplace/base/embedded.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/svg.hpp>
#include <emplace/bench/agent_colors.hpp>
#include <emplace/bench/convergence.hpp>
#include <emplace/bench/overall_comparison.hpp>
#include <emplace/bench/report_page.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

namespace emplace::embedded {
std::span<const Document> page();
}

namespace emplace::bench {
namespace {

// Enough for a curve of some thousand pixels.
constexpr int kCurveDigits = 6;
constexpr std::size_t kMostColored = 8;
constexpr std::size_t kColoredOfMany = 6;
// A browser takes long to open a page of more.
constexpr std::size_t kMostStepBytes = 40'000'000;

std::string_view part(std::string_view name) {
  for (const embedded::Document& document : embedded::page()) {
    if (document.name == name) {
      return document.text;
    }
  }
  EMPLACE_CHECK(false, "the page has no part {}", name);
}

// Returns JSON for a script element: no text in it can end the element.
std::string for_script(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char letter : escape_json(json)) {
    switch (letter) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      default:
        text += letter;
    }
  }
  return text;
}

// Numbers near 0 included, which std::stod refuses.
double rounded(double value) {
  const std::string text = fmt::format("{:.{}g}", value, kCurveDigits);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Json if_finite(double value) { return std::isfinite(value) ? Json(rounded(value)) : Json(nullptr); }

// [at, median, least, largest] of each point.
Json to_json(const std::vector<ConvergencePoint>& points) {
  Json json = Json::array();
  for (const ConvergencePoint& point : points) {
    json.push_back(Json::array({rounded(point.at), if_finite(point.median_us),
                                if_finite(point.least_us), if_finite(point.largest_us)}));
  }
  return json;
}

Json to_json(const Convergence& convergence) {
  Json curves = Json::array();
  for (const ConvergenceCurve& curve : convergence.curves) {
    curves.push_back({{"agent", curve.agent},
                      {"repetitions", curve.repetitions},
                      {"by_evaluations", to_json(curve.by_evaluations)},
                      {"by_seconds", to_json(curve.by_seconds)}});
  }
  return {{"graph", convergence.graph},
          {"cluster", convergence.cluster},
          {"curves", std::move(curves)}};
}

Json to_json(const OverallComparison& comparison) {
  Json rows = Json::array();
  for (const OverallRow& row : comparison.rows) {
    Json json = {
        {"agent", row.agent}, {"times_best", row.times_best}, {"over_best", row.over_best}};
    Json against_best;
    if (row.against_best) {
      const PairedComparison& pairs = *row.against_best;
      against_best = {
          {"pairs", pairs.pairs},
          {"faster", pairs.less},
          {"slower", pairs.greater},
          {"ratio", pairs.ratio},
          {"interval",
           pairs.interval ? Json::array({pairs.interval->first, pairs.interval->second}) : Json()},
          {"range", Json::array({pairs.range.first, pairs.range.second})},
          {"p", pairs.p},
          {"corrected_p", row.corrected_p}};
    }
    json.add("against_best", against_best);
    rows.push_back(json);
  }
  return {{"problems", comparison.problems}, {"rows", std::move(rows)}};
}

Json starts_of(const Manifest& manifest) {
  Json starts = Json::array();
  for (const Start& start : manifest.starts) {
    Json libraries = Json::array();
    for (const auto& [name, version] : start.build.libraries) {
      libraries.push_back(fmt::format("{} {}", name, version));
    }
    starts.push_back({{"time", start.time},
                      {"arguments", start.arguments},
                      {"version", start.build.version},
                      {"git_revision", start.build.git_revision},
                      {"compiler", start.build.compiler},
                      {"build_type", start.build.build_type},
                      {"libraries", std::move(libraries)},
                      {"cpu", start.machine.cpu},
                      {"cores", start.machine.cores},
                      {"memory_bytes", start.machine.memory_bytes},
                      {"system", start.machine.system}});
  }
  return starts;
}

// Of many agents only the best have colours: more would not be told apart.
Json agents_of(const Report& report, const OverallComparison& overall) {
  Json agents = Json::array();
  const bool are_many = report.agents.size() > kMostColored;
  for (const std::string& agent : report.agents) {
    const auto rank = static_cast<std::size_t>(
        std::ranges::find(overall.rows, agent, &OverallRow::agent) - overall.rows.begin());
    Json color;
    if (!are_many) {
      color = agent_pen(report.agents, agent).color;
    } else if (rank < kColoredOfMany) {
      color = kPictureColors[rank];
    }
    Json json = {{"label", agent}};
    json.add("color", color);
    agents.push_back(json);
  }
  return agents;
}

// Steps in order as long as there is room; `elements` gets the data, in elements of their own that
// are read when somebody looks at them.
Json steps_of(std::span<const PageStep> steps, std::string& elements) {
  Json list = Json::array();
  std::size_t bytes = 0;
  for (const PageStep& step : steps) {
    Json json = {{"graph", step.graph},
                 {"cluster", step.cluster},
                 {"agent", step.agent},
                 {"cell", step.cell}};
    Json id;
    std::string missing = step.missing;
    if (!step.data.empty() && bytes + step.data.size() > kMostStepBytes) {
      missing = left_out(
          fmt::format("the steps of this run take more than {} MB", kMostStepBytes / 1'000'000),
          step.cell);
    } else if (!step.data.empty()) {
      bytes += step.data.size();
      const std::string name = fmt::format("step-{}", &step - steps.data());
      id = name;
      elements += fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", name,
                              for_script(step.data));
    }
    json.add("data", id);
    json.add("missing", missing);
    list.push_back(json);
  }
  return list;
}

// The first agent that starts from a policy: both have one colour.
std::string agent_of(const Suite& suite, const std::string& policy) {
  const auto agent = std::ranges::find(suite.agents, policy, &SuiteAgent::policy);
  return agent == suite.agents.end() ? std::string() : agent->label();
}

// [evaluations, last, best, entropy] of each point.
Json trainings_of(const Suite& suite, std::span<const PageTraining> trainings) {
  Json list = Json::array();
  for (const PageTraining& training : trainings) {
    Json points = Json::array();
    for (const CurveMean& point : training.points) {
      points.push_back(Json::array({rounded(point.at), if_finite(point.last), if_finite(point.best),
                                    if_finite(point.entropy)}));
    }
    list.push_back({{"policy", training.policy},
                    {"agent", agent_of(suite, training.policy)},
                    {"family", training.family},
                    {"cluster", training.cluster},
                    {"points", std::move(points)}});
  }
  return list;
}

// The columns of the table of all results.
Json columns_of(const Report& report) {
  Json columns = Json::array();
  for (const ReportColumn& column : report_columns(report)) {
    if (!column.title.empty()) {
      columns.push_back({{"id", column.id},
                         {"title", column.title},
                         {"unit", column.unit},
                         {"decimals", column.decimals},
                         {"importance", column.importance},
                         {"meaning", column.meaning}});
    }
  }
  return columns;
}

// Puts `value` where the template says @name@.
void fill_in(std::string& page, std::string_view name, std::string_view value) {
  const std::string mark = fmt::format("@{}@", name);
  const std::size_t at = page.find(mark);
  EMPLACE_CHECK(at != std::string::npos, "the page has no place for {}", name);
  page.replace(at, mark.size(), value);
}

Json palette() {
  Json colors = Json::array();
  for (const std::string_view color : kPictureColors) {
    colors.push_back(color);
  }
  return colors;
}

// `elements` holds the data of steps, `tables` what is HTML already.
std::string page_of(const std::string& title, const Json& data, const std::string& elements,
                    std::string_view tables) {
  // From the end, so that no mark is looked for in what was filled in.
  std::string page(part("template"));
  fill_in(page, "script", part("script"));
  fill_in(page, "echarts", part("echarts.min"));
  fill_in(page, "data",
          fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n{}",
                      for_script(data.text()), elements));
  fill_in(page, "tables", tables);
  fill_in(page, "style", part("style"));
  fill_in(page, "title", escape_markup(title));
  return page;
}

}  // namespace

std::string left_out(std::string_view why, std::string_view cell) {
  return fmt::format(
      "left out, because {}; emplace simulate --placement DIR:{} --trace step.svg draws it, and "
      "--trace step.json writes it for ui.perfetto.dev",
      why, cell);
}

std::string write_html(const Report& report, const StoredRun& run, std::span<const PageStep> steps,
                       std::span<const PageTraining> trainings) {
  const Suite& suite = run.manifest.suite;
  Json convergence = Json::array();
  for (const Convergence& one : convergence_of(run)) {
    convergence.push_back(to_json(one));
  }
  Json figures = Json::array();
  if (suite.published) {
    for (const PublishedFigure& figure : suite.published->figures) {
      figures.push_back(
          {{"graph", figure.graph},
           {"cluster", figure.cluster},
           {"agent", figure.agent},
           {"step_time_us", figure.step_time_s ? Json(*figure.step_time_s * 1e6) : Json(nullptr)},
           {"evaluations", figure.evaluations ? Json(*figure.evaluations) : Json(nullptr)}});
    }
  }
  const OverallComparison overall = compare_over_all(report.tables);
  std::string elements;
  const Json data = {{"report", report_json(report, Members::kOfPage)},
                     {"summary", suite.summary},
                     {"repetitions", suite.repetitions},
                     {"max_evaluations", suite.max_evaluations},
                     {"trainings", trainings_of(suite, trainings)},
                     {"starts", starts_of(run.manifest)},
                     {"agents", agents_of(report, overall)},
                     {"columns", columns_of(report)},
                     {"palette", palette()},
                     {"overall", to_json(overall)},
                     {"convergence", std::move(convergence)},
                     {"published", std::move(figures)},
                     {"steps", steps_of(steps, elements)}};
  return page_of(fmt::format("{}: emplace report", report.suite), data, elements, "");
}

std::string write_html(const PlacementComparison& comparison,
                       std::span<const SimulatedPlacement> placements) {
  std::vector<PageStep> steps;
  steps.reserve(placements.size());
  Json rows = Json::array();
  for (const SimulatedPlacement& placement : placements) {
    const OpId ops = placement.problem.num_ops();
    PageStep step{.graph = comparison.graph, .agent = placement.name};
    if (ops > kMostPageOps) {
      step.missing = fmt::format("left out, because it has {}", counted(ops, "op"));
    } else {
      step.data = describe_step(placement.problem, placement.record);
    }
    steps.push_back(std::move(step));
    rows.push_back({{"agent", placement.name}, {"step_time_us", placement.record.makespan_us}});
  }
  std::string elements;
  const Json none = Json::array();
  const Json table = {{"graph", comparison.graph}, {"cluster", ""}, {"rows", std::move(rows)}};
  const Json data = {
      {"compares_placements", true},
      {"report",
       {{"suite", title_of(comparison)}, {"tables", Json::array({table})}, {"families", none}}},
      {"overall", {{"rows", none}, {"problems", 0}}},
      {"agents", none},
      {"columns", none},
      {"palette", palette()},
      {"steps", steps_of(steps, elements)}};
  return page_of(title_of(comparison) + ": emplace compare", data, elements,
                 write_html_tables(comparison));
}

}  // namespace emplace::bench
