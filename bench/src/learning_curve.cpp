#include <emplace/bench/learning_curve.hpp>
#include <emplace/bench/log_plot.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <system_error>

namespace emplace::bench {
namespace {

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

constexpr const char* kEntropyColor = "#009e73";

constexpr std::size_t kMostPlots = 12;  // of problems; more are not legible
constexpr double kFinest = 1.02;  // ratio of evaluations from one point of a curve to the next
constexpr double kMsPerS = 1e3;
constexpr double kUsPerMs = 1e3;

// Returns a point for each ratio kFinest of evaluations: the means of its points, and their last
// best.
std::vector<CurvePoint> thinned(std::span<const CurvePoint> points) {
  std::vector<CurvePoint> means;
  for (std::size_t begin = 0; begin < points.size();) {
    const double most = kFinest * points[begin].evaluations;
    CurvePoint mean;
    std::size_t end = begin;
    for (; end < points.size() && points[end].evaluations <= most; ++end) {
      mean.last += points[end].last;
      mean.entropy += points[end].entropy;
    }
    const auto count = static_cast<double>(end - begin);
    means.push_back({.evaluations = points[end - 1].evaluations,
                     .last = mean.last / count,
                     .best = points[end - 1].best,
                     .entropy = mean.entropy / count});
    begin = end;
  }
  return means;
}

constexpr std::string_view kHeader =
    "update,episodes,evaluations,graph,cluster,last_us,best_us,entropy,gradient_norm\n";
constexpr std::size_t kFields = 9;

// Takes the next record off `text`: fields up to the end of the line.
std::vector<std::string> take_record(std::string_view& text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size() && (quoted || text[at] != '\n'); ++at) {
    const char letter = text[at];
    if (letter == '"' && quoted && at + 1 < text.size() && text[at + 1] == '"') {
      fields.back() += letter;
      ++at;
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (letter == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += letter;
    }
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  return fields;
}

template <class Number>
Number number_of(const std::string& field, const std::string& place) {
  Number number{};
  const char* const end = field.data() + field.size();
  if (const auto [at, error] = std::from_chars(field.data(), end, number);
      error != std::errc() || at != end) {
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: expected a number, found '{}'", place, excerpt(field)));
  }
  return number;
}

// Returns, after each row, the geometric means over problems of the last and best times relative to
// the best of the training, from the row on at which every problem has one; with the entropy of the
// row. `best_us` is by problem.
std::vector<CurvePoint> mean_points(std::span<const CurveRow> rows,
                                    std::span<const double> best_us) {
  std::map<std::size_t, const CurveRow*> latest;  // by problem
  double sum_last = 0;                            // of logarithms
  double sum_best = 0;
  std::vector<CurvePoint> points;
  for (const CurveRow& row : rows) {
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
      points.push_back({.evaluations = static_cast<double>(row.evaluations),
                        .last = std::exp(sum_last / count),
                        .best = std::exp(sum_best / count),
                        .entropy = row.entropy});
    }
  }
  return points;
}

LogPlot::Axis evaluations_axis(std::span<const CurvePoint> points) {
  const double first = points.front().evaluations;
  return {"evaluations", first, std::max(points.back().evaluations, first + 1)};
}

LogPlot plot_of(const std::string& title, const std::string& unit,
                std::span<const CurvePoint> points) {
  const auto by_last = std::ranges::minmax(points, {}, &CurvePoint::last);
  const double least =
      std::min(by_last.min.last, std::ranges::min(points, {}, &CurvePoint::best).best);
  // An axis must not be empty.
  const double most = std::max(by_last.max.last, 1.01 * least);
  const bool is_linear = most < 2 * least;  // so that there are round numbers between the ends
  LogPlot plot(title, evaluations_axis(points), {"step time " + unit, least, most, is_linear});
  std::vector<LogPlot::Place> last;
  std::vector<LogPlot::Place> best;
  for (const CurvePoint& point : points) {
    last.push_back({point.evaluations, point.last});
    best.push_back({point.evaluations, point.best});
  }
  plot.add_curve("end of episodes", std::move(last), {kLastColor, false});
  plot.add_curve("best so far", std::move(best), {kBestColor, false});
  return plot;
}

LogPlot plot_of_entropy(std::span<const CurvePoint> points) {
  const double most = std::ranges::max(points, {}, &CurvePoint::entropy).entropy;
  LogPlot plot("Entropy of the policy", evaluations_axis(points),
               {"entropy of a decision [nats]", 0, most, true});
  std::vector<LogPlot::Place> entropy;
  for (const CurvePoint& point : points) {
    entropy.push_back({point.evaluations, point.entropy});
  }
  plot.add_curve("mean", std::move(entropy), {kEntropyColor, false});
  return plot;
}

// In seconds, if all times are that long.
LogPlot plot_of_problem(const ProblemName& problem, std::vector<CurvePoint> points) {
  const bool in_s =
      std::ranges::all_of(points, [](const CurvePoint& point) { return point.best >= kMsPerS; });
  for (CurvePoint& point : points) {
    point.last /= in_s ? kMsPerS : 1;
    point.best /= in_s ? kMsPerS : 1;
  }
  return plot_of(fmt::format("{} on {}", problem.graph, problem.cluster), in_s ? "[s]" : "[ms]",
                 points);
}

}  // namespace

void LearningCurve::add(const CurveRow& update) {
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

std::vector<CurvePoint> LearningCurve::overall() const {
  return thinned(mean_points(rows_, best_us_));
}

std::string LearningCurve::to_csv() const {
  std::string text(kHeader);
  for (const CurveRow& row : rows_) {
    const ProblemName& problem = problems_[row.session];
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{}\n", row.update,
                   row.episodes, row.evaluations, field(problem.graph), field(problem.cluster),
                   row.last_us, row.best_us, row.entropy, row.gradient_norm);
  }
  return text;
}

std::string LearningCurve::to_svg() const {
  std::vector<std::vector<CurvePoint>> by_problem(problems_.size());
  std::vector<CurvePoint> all;
  for (const CurveRow& row : rows_) {
    all.push_back({.evaluations = static_cast<double>(row.evaluations),
                   .last = row.last_us / kUsPerMs,
                   .best = row.best_us / kUsPerMs,
                   .entropy = row.entropy});
    by_problem[row.session].push_back(all.back());
  }
  std::vector<LogPlot> plots;
  if (problems_.size() > 1) {
    if (const std::vector<CurvePoint> points = overall(); !points.empty()) {
      plots.push_back(plot_of("All problems", "/ best of the training", points));
    }
  }
  for (std::size_t problem = 0; problem < problems_.size() && problems_.size() <= kMostPlots;
       ++problem) {
    if (!by_problem[problem].empty()) {
      plots.push_back(plot_of_problem(problems_[problem], thinned(by_problem[problem])));
    }
  }
  if (std::ranges::any_of(all, [](const CurvePoint& point) { return point.entropy > 0; })) {
    plots.push_back(plot_of_entropy(thinned(all)));
  }
  return LogPlot::to_svg(plots);
}

LearningCurve read_learning_curve(std::string_view csv, const std::string& source) {
  if (!csv.starts_with(kHeader)) {
    throw Error(ErrorCode::kFormat, fmt::format("{}:1: expected the columns {}", source,
                                                kHeader.substr(0, kHeader.size() - 1)));
  }
  csv.remove_prefix(kHeader.size());
  std::vector<ProblemName> problems;
  std::vector<CurveRow> rows;
  for (int line = 2; !csv.empty(); ++line) {
    const std::string place = fmt::format("{}:{}", source, line);
    const std::vector<std::string> fields = take_record(csv);
    if (fields.size() != kFields) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("{}: expected {} fields, found {}", place, kFields, fields.size()));
    }
    auto problem = std::ranges::find_if(problems, [&](const ProblemName& name) {
      return name.graph == fields[3] && name.cluster == fields[4];
    });
    if (problem == problems.end()) {
      problem = problems.insert(problem, {fields[3], fields[4]});
    }
    rows.push_back({{.update = number_of<std::int64_t>(fields[0], place),
                     .episodes = number_of<std::int64_t>(fields[1], place),
                     .session = static_cast<std::size_t>(problem - problems.begin()),
                     .last_us = number_of<double>(fields[5], place),
                     .best_us = number_of<double>(fields[6], place),
                     .entropy = number_of<double>(fields[7], place),
                     .gradient_norm = number_of<double>(fields[8], place)},
                    number_of<std::int64_t>(fields[2], place)});
  }
  LearningCurve curve(std::move(problems));
  for (const CurveRow& row : rows) {
    curve.add(row);
  }
  return curve;
}

}  // namespace emplace::bench
