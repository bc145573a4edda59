#include "store/csv_row.hpp"
#include "suite/units.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/bench/checksum.hpp>
#include <emplace/bench/learning_curve.hpp>
#include <emplace/bench/log_plot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

namespace emplace::bench {
namespace {

// From the palette of Okabe and Ito, which colour-blind readers can tell apart.
constexpr const char* kLastColor = "#56b4e9";
constexpr const char* kBestColor = "#d55e00";
constexpr const char* kEntropyColor = "#009e73";
constexpr std::array kReferenceColors = {"#333333", "#cc79a7", "#e69f00", "#0072b2"};

constexpr std::size_t kMostPlots = 12;  // of problems; more are not legible
constexpr double kFinest = 1.02;        // ratio from one point of a curve to the next
constexpr double kMostRead = 1e300;     // of any number in a file
constexpr double kShortestMs = 1e-9;    // of a logarithmic axis

// Returns the logarithm of the ratio of two step times. It must be finite, and a step may take no
// time; so none is taken for shorter than a picosecond.
double log_ratio(double us, double other_us) {
  constexpr double kShortestUs = 1e-6;
  return std::log(std::clamp(us, kShortestUs, kMostRead) /
                  std::clamp(other_us, kShortestUs, kMostRead));
}

// Returns the number e^`log`, at most the largest one of a file.
double bounded_exp(double log) { return std::min(std::exp(log), kMostRead); }

// Returns the entropy of an update; a policy whose weights have grown too large has none.
double entropy_of(const CurveRow& row) {
  return std::isfinite(row.entropy) ? std::clamp(row.entropy, 0.0, kMostRead) : 0;
}

// Returns a point for each ratio kFinest on the axis: the means of its points, and their last
// best.
std::vector<CurveMean> thinned(std::span<const CurveMean> points) {
  std::vector<CurveMean> means;
  for (std::size_t begin = 0; begin < points.size();) {
    const double most = kFinest * points[begin].at;
    CurveMean mean;
    std::size_t end = begin;
    for (; end < points.size() && points[end].at <= most; ++end) {
      mean.last += points[end].last;
      mean.entropy += points[end].entropy;
    }
    const auto count = static_cast<double>(end - begin);
    means.push_back({.at = points[end - 1].at,
                     .last = mean.last / count,
                     .best = points[end - 1].best,
                     .entropy = mean.entropy / count});
    begin = end;
  }
  return means;
}

// Returns, after each row, the geometric means over problems of the last and best times relative to
// the best of the training, from the row on at which every problem has one; with the entropy of the
// row. `best_us` is by problem.
std::vector<CurveMean> mean_points(std::span<const CurveRow> rows,
                                   std::span<const double> best_us) {
  std::map<std::size_t, const CurveRow*> latest;  // by problem
  double sum_last = 0;                            // of logarithms
  double sum_best = 0;
  std::vector<CurveMean> points;
  for (const CurveRow& row : rows) {
    const double best_of_all_us = best_us[row.problem];
    const auto [at, is_first] = latest.try_emplace(row.problem, &row);
    if (!is_first) {
      sum_last -= log_ratio(at->second->last_us, best_of_all_us);
      sum_best -= log_ratio(at->second->best_us, best_of_all_us);
      at->second = &row;
    }
    sum_last += log_ratio(row.last_us, best_of_all_us);
    sum_best += log_ratio(row.best_us, best_of_all_us);
    if (latest.size() == best_us.size()) {
      const auto count = static_cast<double>(latest.size());
      points.push_back({.at = static_cast<double>(row.evaluations),
                        .last = bounded_exp(sum_last / count),
                        .best = bounded_exp(sum_best / count),
                        .entropy = entropy_of(row)});
    }
  }
  return points;
}

LogPlot::Axis axis_of(std::span<const CurveMean> points) {
  const double first = points.front().at;
  return {"evaluations", first, std::max(points.back().at, first + 1)};
}

// A level line.
struct Level {
  std::string name;
  double height;
};

LogPlot plot_of(const std::string& title, const std::string& unit,
                std::span<const CurveMean> points, std::span<const Level> levels) {
  const auto by_last = std::ranges::minmax(points, {}, &CurveMean::last);
  double least = std::min(by_last.min.last, std::ranges::min(points, {}, &CurveMean::best).best);
  double most = by_last.max.last;
  for (const Level& level : levels) {
    least = std::min(least, level.height);
    most = std::max(most, level.height);
  }
  least = least < kShortestMs ? 0 : least;                // no logarithmic axis begins near 0
  most = std::max({most, 1.01 * least, kShortestMs});     // an axis must not be empty
  const bool is_linear = most < 2 * least || least == 0;  // round numbers are between the ends
  LogPlot plot(title, axis_of(points), {"step time " + unit, least, most, is_linear});
  std::vector<LogPlot::Place> last;
  std::vector<LogPlot::Place> best;
  for (const CurveMean& point : points) {
    last.push_back({point.at, point.last});
    best.push_back({point.at, point.best});
  }
  plot.add_curve("end of episodes", std::move(last), {kLastColor});
  plot.add_curve("best so far", std::move(best), {kBestColor});
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double height = levels[i].height;
    plot.add_curve(levels[i].name, {{points.front().at, height}, {points.back().at, height}},
                   {kReferenceColors[i % kReferenceColors.size()], LogPlot::kDashes});
  }
  return plot;
}

// The references of a problem, in the unit of `us_per_unit`.
std::vector<Level> levels_of(std::span<const CurveReference> references, std::size_t problem,
                             double us_per_unit) {
  std::vector<Level> levels;
  for (const CurveReference& reference : references) {
    if (reference.us[problem] > 0) {
      levels.push_back({reference.name, reference.us[problem] / us_per_unit});
    }
  }
  return levels;
}

// Geometric means over problems, relative to the best of the training; of references that all
// problems have.
std::vector<Level> mean_levels(std::span<const CurveReference> references,
                               std::span<const double> best_us) {
  std::vector<Level> levels;
  for (const CurveReference& reference : references) {
    double sum = 0;  // of logarithms
    for (std::size_t problem = 0; problem < best_us.size(); ++problem) {
      sum += std::log(reference.us[problem] / best_us[problem]);
    }
    if (std::isfinite(sum)) {
      levels.push_back({reference.name, bounded_exp(sum / static_cast<double>(best_us.size()))});
    }
  }
  return levels;
}

LogPlot plot_of_entropy(std::span<const CurveMean> points) {
  const double most = std::ranges::max(points, {}, &CurveMean::entropy).entropy;
  LogPlot plot("Entropy of the policy", axis_of(points),
               {"entropy of a decision [nats]", 0, most, true});
  std::vector<LogPlot::Place> entropy;
  for (const CurveMean& point : points) {
    entropy.push_back({point.at, point.entropy});
  }
  plot.add_curve("mean", std::move(entropy), {kEntropyColor});
  return plot;
}

// In seconds, if all times are that long.
LogPlot plot_of_problem(const ProblemName& problem, std::vector<CurveMean> points,
                        std::span<const CurveReference> references, std::size_t number) {
  const bool in_s =
      std::ranges::all_of(points, [](const CurveMean& point) { return point.best >= kMsPerS; });
  const double ms_per_unit = in_s ? kMsPerS : 1;
  for (CurveMean& point : points) {
    point.last /= ms_per_unit;
    point.best /= ms_per_unit;
  }
  return plot_of(fmt::format("{} on {}", problem.graph, problem.cluster), in_s ? "[s]" : "[ms]",
                 points, levels_of(references, number, ms_per_unit * kUsPerMs));
}

}  // namespace

void LearningCurve::add(const CurveRow& update) {
  EMPLACE_CHECK(update.problem < problems_.size(), "problem {} of {}", update.problem,
                problems_.size());
  best_us_.resize(problems_.size(), std::numeric_limits<double>::infinity());
  // A change of the best is an improvement, even if its step time grows: a placement that fits is
  // better than one that is out of memory.
  if (update.best_us != best_us_[update.problem]) {
    best_us_[update.problem] = update.best_us;
    last_gain_ = update.episodes;
  }
  rows_.push_back(update);
}

std::int64_t LearningCurve::episodes_without_gain() const { return episodes() - last_gain_; }

std::string LearningCurve::to_csv() const {
  std::string text =
      "update,episodes,evaluations,graph,cluster,last_us,best_us,entropy,gradient_norm\r\n";
  for (const CurveRow& row : rows_) {
    const ProblemName& problem = problems_[row.problem];
    const std::array<FieldValue, 9> fields = {row.update,    row.episodes,    row.evaluations,
                                              problem.graph, problem.cluster, row.last_us,
                                              row.best_us,   row.entropy,     row.gradient_norm};
    add_csv_row(text, fields);
  }
  return text;
}

std::vector<CurveMean> LearningCurve::means() const {
  return thinned(mean_points(rows_, best_us_));
}

std::string LearningCurve::means_json() const {
  JsonColumns columns = {"evaluations", "last", "best", "entropy"};
  for (const CurveMean& mean : means()) {
    columns["evaluations"].push_back(mean.at);
    columns["last"].push_back(mean.last);
    columns["best"].push_back(mean.best);
    columns["entropy"].push_back(mean.entropy);
  }
  Json json = {{"schema_version", 1}};
  return with_checksum(json.add_all(columns.json()).text()) + "\n";
}

std::string LearningCurve::to_svg(std::span<const CurveReference> references) const {
  for (const CurveReference& reference : references) {
    EMPLACE_CHECK(reference.us.size() == problems_.size(), "{} times of {} for {} problems",
                  reference.us.size(), reference.name, problems_.size());
  }
  std::vector<std::vector<CurveMean>> by_problem(problems_.size());
  std::vector<CurveMean> all;
  for (const CurveRow& row : rows_) {
    all.push_back({.at = static_cast<double>(row.evaluations),
                   .last = row.last_us / kUsPerMs,
                   .best = row.best_us / kUsPerMs,
                   .entropy = entropy_of(row)});
    by_problem[row.problem].push_back(all.back());
  }
  std::vector<LogPlot> plots;
  if (problems_.size() > 1) {
    if (const std::vector<CurveMean> points = mean_points(rows_, best_us_); !points.empty()) {
      plots.push_back(plot_of("All problems", "/ best of the training", thinned(points),
                              mean_levels(references, best_us_)));
    }
  }
  for (std::size_t problem = 0; problem < problems_.size() && problems_.size() <= kMostPlots;
       ++problem) {
    if (!by_problem[problem].empty()) {
      plots.push_back(
          plot_of_problem(problems_[problem], thinned(by_problem[problem]), references, problem));
    }
  }
  if (std::ranges::any_of(all, [](const CurveMean& point) { return point.entropy > 0; })) {
    plots.push_back(plot_of_entropy(thinned(all)));
  }
  return LogPlot::to_svg(plots);
}

std::vector<CurveMean> read_curve_means(std::string_view json, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(json, source);
  const JsonCursor root = document.root();
  root.expect_only({"schema_version", "evaluations", "last", "best", "entropy", "crc32"});
  check_checksum(json, source);
  std::vector<CurveMean> means;
  for (const JsonCursor& at : root.at("evaluations").elements()) {
    means.push_back({.at = at.number(0, kMostRead)});
  }
  for (const auto& [name, member] :
       {std::pair("last", &CurveMean::last), std::pair("best", &CurveMean::best),
        std::pair("entropy", &CurveMean::entropy)}) {
    const JsonCursor list = root.at(name);
    const std::vector<JsonCursor> values = list.elements();
    if (values.size() != means.size()) {
      list.fail(fmt::format("expected {} numbers, found {}", means.size(), values.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      means[i].*member = values[i].number(0, kMostRead);
    }
  }
  return means;
}

}  // namespace emplace::bench
