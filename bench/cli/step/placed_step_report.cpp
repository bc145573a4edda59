// What `place` and `simulate` say of a step.

#include "placed_step.hpp"
#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/uncounted_work.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

namespace emplace::cli {

namespace {

// Returns the device classes for which ops have measured costs, but which the cluster lacks.
std::set<std::string> unknown_classes(const Problem& problem) {
  std::set<std::string> classes;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    for (const MeasuredCost& cost : problem.op(op).measured) {
      classes.insert(cost.device_class);
    }
  }
  for (const DeviceProfile& profile : problem.cluster().profiles) {
    classes.erase(profile.device_class);
  }
  return classes;
}

// Returns how the user can say that the costs in the file are those of a device of the cluster, or
// nothing where the format of the file has no parameter for that.
std::string mapping_of_classes(const PlacedStep& step) {
  const GraphFile file = find_graph_file(step.graph);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file.path, ignored)) {
    return "";
  }
  const GraphFormats& formats = GraphFormats::global();
  const GraphFormat& format =
      formats.find(formats.guess(read_text_file(file.path), file.path).name);
  constexpr const char* kParameter = "device-class";
  if (std::ranges::find(format.read_parameters, kParameter, &ParamSpec::name) ==
      format.read_parameters.end()) {
    return "";
  }
  const DeviceId first = step.problem().placeable_devices().front();
  return fmt::format("; {}{}{}={} uses them for its {}", step.graph,
                     file.parameters.empty() ? ":" : ",", kParameter,
                     step.problem().profile(first).device_class, step.problem().device(first).name);
}

}  // namespace

void note_warnings(const OpGraph& graph) {
  for (const std::string& warning : graph[boost::graph_bundle].warnings) {
    note(escape_terminal(fmt::format("emplace: warning: {}", warning)));
  }
}

void note_guesses(const PlacedStep& step) {
  note_warnings(step.one_step().graph());
  const std::int32_t guesses =
      step.ops_by_cost_source[static_cast<std::size_t>(CostSource::kGuess)];
  if (guesses > 0) {
    note(fmt::format(
        "emplace: warning: the costs of {} of {} are guesses: the devices of {} have neither a "
        "measured cost nor an efficiency for them (see emplace show {} --cluster {})",
        guesses, counted(step.one_step().num_ops(), "op"), step.cluster, escape_shell(step.graph),
        escape_shell(step.cluster)));
  }
  if (const auto uncounted = describe_uncounted(step.one_step().graph()); !uncounted.empty()) {
    note(escape_terminal(fmt::format("emplace: warning: {}", uncounted)));
  }
  if (const auto classes = unknown_classes(step.problem()); guesses > 0 && !classes.empty()) {
    note(escape_terminal(
        fmt::format("emplace: warning: the graph has costs measured on {}, but no device of {} is "
                    "of that class{}",
                    fmt::join(classes, ", "), step.cluster, mapping_of_classes(step))));
  }
}

namespace {

using bench::TextTable;

std::string above_best_known_of(const PlacedStep& step) {
  const std::optional<double> above = step.above_best_known();
  return !above       ? ""
         : *above < 0 ? fmt::format(", a new best: {:.1f} % below the best known", -*above * 100)
                      : fmt::format(", {:.1f} % above the best known", *above * 100);
}

std::string above_bound_of(const PlacedStep& step) {
  return step.record.status != StepStatus::kOk ? "if memory sufficed"
         : step.is_optimal()                   ? "optimal"
                             : fmt::format("{:.1f} % above the lower bound", step.gap() * 100);
}

std::string reference_text(const ReferenceStep& reference) {
  return reference.status == StepStatus::kOk
             ? fmt::format("{:.3f} ms, by {}", reference.step_time_us / 1e3, reference.agent)
             : fmt::format("does not fit, by {}", reference.agent);
}

std::string step_time_text(const PlacedStep& step, std::string_view more_times) {
  const LowerBounds& bounds = step.entry.bounds;
  std::string text = fmt::format("  step time    {:.3f} ms, {}{}\n", step.record.makespan_us / 1e3,
                                 above_bound_of(step), above_best_known_of(step));
  text += more_times;
  for (const auto& [graph, end_us] : step.graph_ends_us) {
    text += fmt::format("  {:<12} {:.3f} ms\n", graph, end_us / 1e3);
  }
  for (const ReferenceStep& reference : step.references) {
    text += fmt::format("  {:<12} {}\n", reference.name, reference_text(reference));
  }
  if (step.best_known_us) {
    text += fmt::format("  best known   {:.3f} ms\n", *step.best_known_us / 1e3);
  }
  return text + fmt::format("  lower bound  {:.3f} ms, by {}\n", bounds.best_us() / 1e3,
                            to_string(bounds.binding_part()));
}

std::string throughput_text(const PlacedStep& step, const OverlappingSteps& overlap) {
  const Throughput& throughput = overlap.throughput;
  std::string text = fmt::format("  period       {:.3f} ms, {}{}\n", throughput.period_us / 1e3,
                                 above_bound_of(step),
                                 throughput.repeats || throughput.period_us <= throughput.load_us
                                     ? ""
                                     : "; a mean, for it does not repeat");
  text += fmt::format("  throughput   {:.3f} steps/s, {} in flight\n", 1e6 / throughput.period_us,
                      overlap.in_flight);
  text += fmt::format("  fullest      {}, {:.3f} ms in a step\n", throughput.fullest,
                      throughput.load_us / 1e3);
  return text + fmt::format("  lower bound  {:.3f} ms\n", overlap.bound_us / 1e3);
}

}  // namespace

std::string to_text(const PlacedStep& step, std::string_view more_times) {
  std::string text =
      fmt::format("{} on {}, placed by {}\n", step.graph, step.cluster, step.placed_by);
  text += fmt::format("  status       {}\n", to_string(step.record.status));
  text += step.overlap ? throughput_text(step, *step.overlap) : step_time_text(step, more_times);
  if (step.decision_groups > 0) {
    const GroupId groups = step.problem().num_groups();
    text += fmt::format(
        "  groups       {}{}\n", groups,
        step.decision_groups == groups ? "" : fmt::format(", decided on {}", step.decision_groups));
  }
  if (step.evaluations > 0) {
    // Heuristics and searches in several parts do not count where it was.
    const std::string best = step.evaluations_to_best > 0
                                 ? fmt::format(", the best was number {}", step.evaluations_to_best)
                                 : "";
    text += fmt::format("  evaluations  {} simulated{}\n", counted(step.evaluations, "placement"),
                        best);
  }
  using Align = TextTable::Align;
  TextTable table({{"device"},
                   {"busy [ms]", Align::kRight},
                   {"busy [%]", Align::kRight},
                   {"peak [GB]", Align::kRight},
                   {"memory [GB]", Align::kRight}});
  for (const DeviceUse& device : step.devices) {
    table.add_row({device.name, fmt::format("{:.3f}", device.busy_us / 1e3),
                   fmt::format("{:.1f}", device.utilization * 100),
                   fmt::format("{:.3f}", static_cast<double>(device.peak_bytes) / 1e9),
                   fmt::format("{:.3f}", static_cast<double>(device.capacity_bytes) / 1e9)});
  }
  return text + "\n" + table.to_terminal(false, table_width());
}

namespace {

Json facts_of(const PlacedStep& step) {
  Json cost_sources = Json::object();
  for (std::size_t source = 0; source < step.ops_by_cost_source.size(); ++source) {
    cost_sources.add(to_string(static_cast<CostSource>(source)), step.ops_by_cost_source[source]);
  }
  Json peak_bytes = Json::array();
  Json devices = Json::array();
  for (const DeviceUse& device : step.devices) {
    peak_bytes.push_back(device.peak_bytes);
    devices.push_back({{"name", device.name},
                       {"busy_us", device.busy_us},
                       {"utilization", device.utilization},
                       {"peak_bytes", device.peak_bytes},
                       {"capacity_bytes", device.capacity_bytes}});
  }
  Json json = {
      {"schema_version", 1},
      {"graph", step.graph},
      {"cluster", step.cluster},
      {"placed_by", step.placed_by},
      {"ops", step.one_step().num_ops()},
      {"groups", step.problem().num_groups()},
      {"decision_groups", step.decision_groups > 0 ? Json(step.decision_groups) : Json(nullptr)},
      {"grouping", step.grouping},
      {"ops_by_cost_source", std::move(cost_sources)},
      {"status", to_string(step.record.status)}};
  if (step.overlap) {
    const Throughput& throughput = step.overlap->throughput;
    json.add("period_us", throughput.period_us);
    json.add("repeats", throughput.repeats);
    json.add("steps_in_flight", step.overlap->in_flight);
    json.add("fullest", throughput.fullest);
    json.add("load_us", throughput.load_us);
    json.add("bound_us", step.overlap->bound_us);
  } else {
    json.add("step_time_us", step.record.makespan_us);
    json.add("bound_us", step.entry.bounds.best_us());
    json.add("bound_by", to_string(step.entry.bounds.binding_part()));
  }
  json.add("gap", step.gap());
  json.add("peak_bytes", peak_bytes);
  json.add("devices", devices);
  json.add("evaluations", step.evaluations);
  json.add("evaluations_to_best", step.evaluations_to_best);
  return json;
}

}  // namespace

Json to_json(const PlacedStep& step) {
  Json json = facts_of(step);
  if (step.best_known_us) {
    json.add("best_known_us", *step.best_known_us);
  }
  if (!step.graph_ends_us.empty()) {
    Json ends = Json::object();
    for (const auto& [graph, end_us] : step.graph_ends_us) {
      ends.add(graph, end_us);
    }
    json.add("graph_step_times_us", ends);
  }
  if (!step.references.empty()) {
    Json references = Json::array();
    for (const ReferenceStep& reference : step.references) {
      references.push_back({{"agent", reference.agent},
                            {"status", to_string(reference.status)},
                            {"step_time_us", reference.step_time_us}});
    }
    json.add("references", references);
  }
  if (const auto above = step.above_best_known()) {
    json.add("above_best_known", *above);
    json.add("new_best", *above < 0);
  }
  return json;
}

}  // namespace emplace::cli
