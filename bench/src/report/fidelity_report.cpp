// What the simulator says of published steps, as text, JSON, comma-separated values and HTML.

#include "suite/units.hpp"

#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/svg.hpp>
#include <emplace/bench/fidelity.hpp>
#include <emplace/bench/text_table.hpp>

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace emplace::bench {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

std::string number(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string percent(const std::optional<double>& part) {
  return part ? fmt::format("{:.1f} %", 100 * *part) : "-";
}

std::string count(std::int64_t value) { return fmt::format("{}", value); }

// What a reader must know of a row: "fit, 0.5 GB over".
std::string remark_of(const StepPrediction& prediction, bool used_for_fit) {
  std::string remark = used_for_fit ? "fit" : "";
  const auto add = [&](std::string_view what) {
    remark += fmt::format("{}{}", remark.empty() ? "" : ", ", what);
  };
  if (!prediction.us) {
    add("not simulated");
  }
  if (prediction.status == StepStatus::kOutOfMemory) {
    add(fmt::format("{:.1f} GB over", static_cast<double>(prediction.bytes_over) / 1e9));
  }
  return remark;
}

std::optional<double> ms_of(const StepPrediction& prediction) {
  return prediction.us ? std::optional(*prediction.us / kUsPerMs) : std::nullopt;
}

TextTable step_table(const Fidelity& fidelity) {
  TextTable table({{"device"},
                   {"graph"},
                   {"batch", kRight, 1},
                   {"numbers", TextTable::Align::kLeft, 4},
                   {"source", TextTable::Align::kLeft, 3},
                   {"measured [ms]", kRight},
                   {"predicted [ms]", kRight},
                   {"ratio", kRight},
                   {"remark", TextTable::Align::kLeft, 2}});
  for (std::size_t i = 0; i < fidelity.steps.size(); ++i) {
    const PublishedStep& step = fidelity.published.steps[i];
    table.add_row({step.profile, step.graph.name, count(step.graph.batch), numbers_of(step),
                   fidelity.published.sources[step.source].name,
                   number(step.measured_us() / kUsPerMs, 1), number(ms_of(fidelity.steps[i]), 1),
                   number(fidelity.ratio(i), 2), remark_of(fidelity.steps[i], step.used_for_fit)});
  }
  return table;
}

// "v100", "all in tf32", "of NVIDIA", "all".
std::string label_of(const Accuracy& accuracy) {
  return !accuracy.profile.empty()     ? accuracy.profile
         : !accuracy.numbers.empty()   ? "all in " + accuracy.numbers
         : !accuracy.publisher.empty() ? "of " + accuracy.publisher
                                       : "all";
}

TextTable accuracy_table(const Fidelity& fidelity) {
  TextTable table({{"device"},
                   {"steps", kRight},
                   {"not simulated", kRight, 4},
                   {"out of memory", kRight, 4},
                   {"fit", kRight, 5},
                   {"judging", kRight, 3},
                   {"median ratio", kRight, 2},
                   {"median error", kRight},
                   {"mean error", kRight, 3},
                   {"tau", kRight}});
  for (const Accuracy& accuracy : accuracy_of(fidelity)) {
    table.add_row(
        {label_of(accuracy), count(accuracy.steps), count(accuracy.not_simulated),
         count(accuracy.out_of_memory), count(accuracy.used_for_fit), count(accuracy.judging),
         number(accuracy.median_ratio, 2), percent(accuracy.median_error),
         percent(accuracy.mean_error), number(accuracy.tau, 2)},
        label_of(accuracy) == "all");
  }
  return table;
}

// What ops take in steps over what they take alone.
TextTable factor_table(const Fidelity& fidelity) {
  std::vector<TextTable::Column> columns = {{"fitted without"}};
  for (const std::string_view precision : kPrecisions) {
    columns.push_back({std::string(precision), kRight});
  }
  TextTable table(std::move(columns));
  for (const LeftOut& one : fidelity.factors) {
    std::vector<std::string> row = {one.publisher.empty() ? "(fitted to all)" : one.publisher};
    for (const double factor : one.factors) {
      row.push_back(number(factor, 2));
    }
    table.add_row(std::move(row), one.publisher.empty());
  }
  return table;
}

TextTable speedup_table(const Fidelity& fidelity) {
  TextTable table({{"cluster"},
                   {"devices", kRight, 1},
                   {"graph"},
                   {"batch", kRight, 1},
                   {"placed by", TextTable::Align::kLeft, 5},
                   {"source", TextTable::Align::kLeft, 3},
                   {"measured", kRight},
                   {"predicted", kRight},
                   {"ratio", kRight},
                   {"remark", TextTable::Align::kLeft, 2}});
  for (std::size_t i = 0; i < fidelity.speedups.size(); ++i) {
    const PublishedSpeedup& published = fidelity.published.speedups[i];
    const SpeedupPrediction& prediction = fidelity.speedups[i];
    const std::optional<double> speedup = prediction.speedup();
    std::string remark = remark_of(prediction.placed, false);
    if (const std::string one = remark_of(prediction.one, false); !one.empty() && speedup) {
      remark += fmt::format("{}{} on one device", remark.empty() ? "" : ", ", one);
    }
    table.add_row({published.cluster, count(published.devices), published.graph.name,
                   count(published.graph.batch), published.agent,
                   fidelity.published.sources[published.source].name,
                   number(published.measured(), 2), number(speedup, 2),
                   number(speedup ? std::optional(*speedup / published.measured()) : speedup, 2),
                   std::move(remark)});
  }
  return table;
}

// Why steps could not be simulated, with how many each reason holds for.
std::map<std::string, int> reasons_of(const Fidelity& fidelity) {
  std::map<std::string, int> reasons;
  const auto add = [&](const StepPrediction& prediction) {
    if (!prediction.us) {
      ++reasons[prediction.why_none];
    }
  };
  for (const StepPrediction& prediction : fidelity.steps) {
    add(prediction);
  }
  for (const SpeedupPrediction& prediction : fidelity.speedups) {
    add(prediction.placed);
  }
  return reasons;
}

std::string address_of(const PublishedSource& source) {
  return fmt::format("https://github.com/{}/tree/{}", source.repository, source.commit);
}

Json to_json(const PublishedSource& source) {
  return {{"name", source.name},
          {"repository", source.repository},
          {"path", source.path},
          {"commit", source.commit},
          {"licence", source.licence}};
}

Json to_json(const StepPrediction& prediction) {
  return {{"predicted_us", prediction.us},
          {"alone_us", prediction.us ? Json(prediction.alone_us) : Json(nullptr)},
          {"status", prediction.us ? std::string(to_string(prediction.status)) : "not simulated"},
          {"bytes_over", prediction.bytes_over},
          {"why_none", prediction.why_none}};
}

Json to_json(const Accuracy& accuracy) {
  return {{"device", accuracy.profile.empty() ? Json(nullptr) : Json(accuracy.profile)},
          {"numbers", accuracy.numbers.empty() ? Json(nullptr) : Json(accuracy.numbers)},
          {"publisher", accuracy.publisher.empty() ? Json(nullptr) : Json(accuracy.publisher)},
          {"steps", accuracy.steps},
          {"not_simulated", accuracy.not_simulated},
          {"out_of_memory", accuracy.out_of_memory},
          {"used_for_fit", accuracy.used_for_fit},
          {"judging", accuracy.judging},
          {"median_ratio", accuracy.median_ratio},
          {"median_error", accuracy.median_error},
          {"mean_error", accuracy.mean_error},
          {"tau", accuracy.tau}};
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    line += fmt::format("{}{}", line.empty() ? "" : ",", escape_csv(field));
  }
  return line + "\n";
}

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

std::string write_terminal(const Fidelity& fidelity, bool color, std::size_t width) {
  std::string text = step_table(fidelity).to_terminal(color, width);
  text += "\n" + accuracy_table(fidelity).to_terminal(color, width);
  if (!fidelity.factors.empty()) {
    text += "\nStep factors:\n" + factor_table(fidelity).to_terminal(color, width);
  }
  if (!fidelity.speedups.empty()) {
    text +=
        "\nTimes faster than on one device:\n" + speedup_table(fidelity).to_terminal(color, width);
  }
  const std::map<std::string, int> reasons = reasons_of(fidelity);
  if (!reasons.empty()) {
    text += "\nNot simulated:\n";
    for (const auto& [reason, rows] : reasons) {
      text += fmt::format("  {} of them: {}\n", rows, escape_terminal(reason));
    }
  }
  return text;
}

std::string write_markdown(const Fidelity& fidelity) {
  std::string text = "## Accuracy\n\n" + accuracy_table(fidelity).to_markdown();
  text += "\n## Steps\n\n" + step_table(fidelity).to_markdown();
  if (!fidelity.factors.empty()) {
    text += "\n## Step factors\n\n" + factor_table(fidelity).to_markdown();
  }
  if (!fidelity.speedups.empty()) {
    text += "\n## Times faster than on one device\n\n" + speedup_table(fidelity).to_markdown();
  }
  if (const auto reasons = reasons_of(fidelity); !reasons.empty()) {
    text += "\n## Not simulated\n\n";
    for (const auto& [reason, rows] : reasons) {
      text += fmt::format("- {}: {}\n", rows, escape_markdown(reason));
    }
  }
  return text;
}

std::string write_json(const Fidelity& fidelity) {
  const PublishedSteps& published = fidelity.published;
  Json sources = Json::array();
  for (const PublishedSource& source : published.sources) {
    sources.push_back(to_json(source));
  }
  Json steps = Json::array();
  for (std::size_t i = 0; i < fidelity.steps.size(); ++i) {
    const PublishedStep& step = published.steps[i];
    Json json = {{"source", published.sources[step.source].name},
                 {"software", step.software},
                 {"published_device", step.device},
                 {"device", step.profile},
                 {"math", step.math},
                 {"graph", step.graph.spec()},
                 {"used_for_fit", step.used_for_fit},
                 {"note", step.note},
                 {"measured_us", step.measured_us()}};
    json.add_all(to_json(fidelity.steps[i]));
    json.add("ratio", fidelity.ratio(i));
    steps.push_back(json);
  }
  Json speedups = Json::array();
  for (std::size_t i = 0; i < fidelity.speedups.size(); ++i) {
    const PublishedSpeedup& speedup = published.speedups[i];
    const SpeedupPrediction& prediction = fidelity.speedups[i];
    speedups.push_back({{"source", published.sources[speedup.source].name},
                        {"software", speedup.software},
                        {"published_device", speedup.device},
                        {"cluster", speedup.cluster},
                        {"devices", speedup.devices},
                        {"agent", speedup.agent},
                        {"graph", speedup.graph.spec()},
                        {"note", speedup.note},
                        {"measured", speedup.measured()},
                        {"predicted", prediction.speedup()},
                        {"one", to_json(prediction.one)},
                        {"placed", to_json(prediction.placed)}});
  }
  Json accuracy = Json::array();
  for (const Accuracy& one : accuracy_of(fidelity)) {
    accuracy.push_back(to_json(one));
  }
  Json factors = Json::array();
  for (const LeftOut& one : fidelity.factors) {
    Json json = {{"without", one.publisher.empty() ? Json(nullptr) : Json(one.publisher)}};
    for (std::size_t at = 0; at < kPrecisions.size(); ++at) {
      json.add(kPrecisions[at], one.factors[at]);
    }
    factors.push_back(json);
  }
  const Json json = {{"schema_version", 1},
                     {"sources", std::move(sources)},
                     {"steps", std::move(steps)},
                     {"speedups", std::move(speedups)},
                     {"step_factors", std::move(factors)},
                     {"accuracy", std::move(accuracy)}};
  return json.indented(2) + "\n";
}

std::string write_csv(const Fidelity& fidelity) {
  const PublishedSteps& published = fidelity.published;
  std::string text = csv_line({"kind", "repository", "path", "commit", "licence", "software",
                               "published_device", "device", "math", "graph", "unit", "measured",
                               "predicted", "ratio", "used_for_fit", "status", "note"});
  for (std::size_t i = 0; i < fidelity.steps.size(); ++i) {
    const PublishedStep& step = published.steps[i];
    const PublishedSource& source = published.sources[step.source];
    const StepPrediction& prediction = fidelity.steps[i];
    text +=
        csv_line({"step", source.repository, source.path, source.commit, source.licence,
                  step.software, step.device, step.profile, step.math, step.graph.spec(), "ms",
                  csv_number(step.measured_us() / kUsPerMs), csv_number(ms_of(prediction)),
                  csv_number(fidelity.ratio(i)), step.used_for_fit ? "true" : "false",
                  prediction.us ? std::string(to_string(prediction.status)) : prediction.why_none,
                  step.note});
  }
  for (std::size_t i = 0; i < fidelity.speedups.size(); ++i) {
    const PublishedSpeedup& speedup = published.speedups[i];
    const PublishedSource& source = published.sources[speedup.source];
    const StepPrediction& placed = fidelity.speedups[i].placed;
    const std::optional<double> predicted = fidelity.speedups[i].speedup();
    text += csv_line(
        {"speed-up", source.repository, source.path, source.commit, source.licence,
         speedup.software, speedup.device, fmt::format("{} x {}", speedup.devices, speedup.cluster),
         std::string(kFloat32Math), speedup.graph.spec(), "times", csv_number(speedup.measured()),
         csv_number(predicted),
         csv_number(predicted ? std::optional(*predicted / speedup.measured()) : predicted),
         "false", placed.us ? std::string(to_string(placed.status)) : placed.why_none,
         speedup.note});
  }
  return text;
}

std::string write_html(const Fidelity& fidelity) {
  constexpr std::string_view kTitle = "Predicted against measured";
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>\nbody {{ font-family: sans-serif; max-width: 66em; margin: 2em auto; }}\n"
      "table {{ border-collapse: collapse; margin: 1em 0; }}\n"
      "th, td {{ padding: 0.2em 0.7em; border-bottom: 1px solid #ddd; text-align: left; }}\n"
      ".number {{ text-align: right; }}\n.emphasized {{ font-weight: bold; }}\n"
      "circle:hover {{ stroke: #000; stroke-width: 2; }}\n</style>\n</head>\n<body>\n"
      "<h1>{0}</h1>\n<p>Training steps that others measured and published, against the simulator. "
      "Point at a point to see which step it is.</p>\n",
      kTitle);
  text += draw_fidelity(fidelity);
  text += "<h2>Accuracy</h2>\n" + accuracy_table(fidelity).to_html();
  text +=
      "<p>An error is |predicted - measured| / measured. Steps to which a profile was fitted, and "
      "steps that could not be simulated, do not count. Tau is Kendall's rank correlation.</p>\n";
  text += "<h2>Steps</h2>\n" + step_table(fidelity).to_html();
  if (!fidelity.factors.empty()) {
    text += "<h2>Step factors</h2>\n" + factor_table(fidelity).to_html();
  }
  if (!fidelity.speedups.empty()) {
    text += "<h2>Times faster than on one device</h2>\n" + speedup_table(fidelity).to_html();
  }
  if (const auto reasons = reasons_of(fidelity); !reasons.empty()) {
    text += "<h2>Not simulated</h2>\n<ul>\n";
    for (const auto& [reason, rows] : reasons) {
      text += fmt::format("<li>{}: {}</li>\n", rows, escape_markup(reason));
    }
    text += "</ul>\n";
  }
  text += "<h2>Sources</h2>\n<ul>\n";
  for (const PublishedSource& source : fidelity.published.sources) {
    text += fmt::format("<li>{}: <a href=\"{}\">{}</a>, {} ({})</li>\n", escape_markup(source.name),
                        escape_markup(address_of(source)), escape_markup(source.repository),
                        escape_markup(source.path), escape_markup(source.licence));
  }
  return text + "</ul>\n</body>\n</html>\n";
}

}  // namespace emplace::bench
