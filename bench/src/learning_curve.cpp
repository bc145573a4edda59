#include <emplace/bench/learning_curve.hpp>
#include <emplace/bench/log_plot.hpp>
#include <emplace/graphs/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

namespace emplace::bench {
namespace {

using agents::TrainingUpdate;

// From the palette of Okabe and Ito, which colour-blind readers can tell apart.
constexpr const char* kLastColor = "#56b4e9";
constexpr const char* kBestColor = "#d55e00";

// Returns a field of CSV (RFC 4180), in quotes if it contains a separator.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char letter : text) {
    quoted += letter;
    if (letter == '"') {
      quoted += letter;
    }
  }
  return quoted + '"';
}

// The step time at the end of episodes, and the best so far, after a number of episodes.
struct CurvePoint {
  double episodes = 0;
  double last = 0;
  double best = 0;
};

// Returns, after each row, the geometric means over problems of the last and best times relative to
// the best of the training, from the row on at which every problem has one. `best_us` is by
// problem.
std::vector<CurvePoint> mean_points(std::span<const TrainingUpdate> rows,
                                    std::span<const double> best_us) {
  std::map<std::size_t, const TrainingUpdate*> latest;  // by problem
  double sum_last = 0;                                  // of logarithms
  double sum_best = 0;
  std::vector<CurvePoint> points;
  for (const TrainingUpdate& row : rows) {
    const double best_of_all_us = best_us[row.session];
    const auto [at, is_first] = latest.try_emplace(row.session, &row);
    if (!is_first) {
      sum_last -= std::log(at->second->last_us / best_of_all_us);
      sum_best -= std::log(at->second->best_us / best_of_all_us);
      at->second = &row;
    }
    sum_last += std::log(row.last_us / best_of_all_us);
    sum_best += std::log(row.best_us / best_of_all_us);
    if (latest.size() == best_us.size()) {
      const auto count = static_cast<double>(latest.size());
      points.push_back({.episodes = static_cast<double>(row.episodes),
                        .last = std::exp(sum_last / count),
                        .best = std::exp(sum_best / count)});
    }
  }
  return points;
}

LogPlot plot_of(const std::string& title, const std::string& unit,
                const std::vector<CurvePoint>& points) {
  const auto by_last = std::ranges::minmax(points, {}, &CurvePoint::last);
  const double least =
      std::min(by_last.min.last, std::ranges::min(points, {}, &CurvePoint::best).best);
  // An axis must not be empty.
  const double most = std::max(by_last.max.last, 1.01 * least);
  const double first = points.front().episodes;
  LogPlot plot(title, {"episodes", first, std::max(points.back().episodes, first + 1)},
               {"step time " + unit, least, most});
  std::vector<LogPlot::Place> last;
  std::vector<LogPlot::Place> best;
  for (const CurvePoint& point : points) {
    last.push_back({point.episodes, point.last});
    best.push_back({point.episodes, point.best});
  }
  plot.add_curve("end of episodes", std::move(last), {kLastColor, false});
  plot.add_curve("best so far", std::move(best), {kBestColor, false});
  return plot;
}

}  // namespace

void LearningCurve::add(const TrainingUpdate& update) {
  EMPLACE_CHECK(update.session < problems_.size(), "problem {} of {}", update.session,
                problems_.size());
  best_us_.resize(problems_.size(), std::numeric_limits<double>::infinity());
  // A change of the best is an improvement, even if its step time grows: a placement that fits is
  // better than one that is out of memory.
  if (update.best_us != best_us_[update.session]) {
    best_us_[update.session] = update.best_us;
    last_gain_ = update.episodes;
  }
  rows_.push_back(update);
}

std::int64_t LearningCurve::episodes_without_gain() const { return episodes() - last_gain_; }

std::string LearningCurve::to_csv() const {
  std::string text = "update,episodes,graph,cluster,last_us,best_us,entropy,gradient_norm\n";
  for (const TrainingUpdate& row : rows_) {
    const ProblemName& problem = problems_[row.session];
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", row.update, row.episodes,
                   field(problem.graph), field(problem.cluster), row.last_us, row.best_us,
                   row.entropy, row.gradient_norm);
  }
  return text;
}

std::string LearningCurve::to_svg() const {
  std::vector<std::vector<CurvePoint>> by_problem(problems_.size());
  for (const TrainingUpdate& row : rows_) {
    by_problem[row.session].push_back({.episodes = static_cast<double>(row.episodes),
                                       .last = row.last_us / 1e3,
                                       .best = row.best_us / 1e3});
  }
  std::vector<LogPlot> plots;
  if (problems_.size() > 1) {
    if (const std::vector<CurvePoint> points = mean_points(rows_, best_us_); !points.empty()) {
      plots.push_back(plot_of("All problems", "/ best of the training", points));
    }
  }
  for (std::size_t problem = 0; problem < problems_.size(); ++problem) {
    if (!by_problem[problem].empty()) {
      plots.push_back(
          plot_of(fmt::format("{} on {}", problems_[problem].graph, problems_[problem].cluster),
                  "[ms]", by_problem[problem]));
    }
  }
  return LogPlot::to_svg(plots);
}

}  // namespace emplace::bench
