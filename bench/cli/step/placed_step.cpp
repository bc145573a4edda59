#include "placed_step.hpp"

#include "search_progress.hpp"
#include "stop_signal.hpp"
#include "stored_cell.hpp"
#include "terminal.hpp"

#include <emplace/agents/placeable.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/best_known.hpp>
#include <emplace/bench/executor.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/side_by_side.hpp>
#include <emplace/sim/placement_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

namespace emplace::cli {
namespace {

// How many steps an agent sees for each in flight. The time of few steps is mostly that of filling
// the devices; of many, a simulation takes long. In 20 s, auto finds periods that are 6 to 14 %
// shorter with four than with two.
constexpr std::int64_t kSearchedForEachInFlight = 4;

// Prepares a step for the objective of the user, and computes bounds.
PlacedStep prepared(PlacedStep step, const ProblemOptions& options) {
  if (options.objective == "throughput") {
    const Problem one = step.problem();
    const std::span<const DeviceId> devices = one.used_devices();
    const std::int64_t in_flight =
        options.steps_in_flight > 0 ? options.steps_in_flight : steps_in_flight_for(one, devices);
    step.overlap = OverlappingSteps{.step = one,
                                    .in_flight = in_flight,
                                    .searched = kSearchedForEachInFlight * in_flight,
                                    .bound_us = period_bound_us(one, devices, in_flight)};
    step.entry.problem = repeated(one, step.overlap->searched, in_flight);
  } else if (options.steps_in_flight > 0) {
    throw Error(ErrorCode::kUsage, "--steps-in-flight is for --objective throughput");
  }
  step.entry.bounds = lower_bounds(step.problem());
  return step;
}

std::optional<double> best_known_us(const PlacedStep& step) {
  const std::optional<bench::BestKnownStep> entry =
      bench::find_best_known(step.graph, step.cluster);
  return entry && entry->step_hash == bench::step_hash_of(step.problem())
             ? std::optional(entry->step_time_us)
             : std::nullopt;
}

bool uses_only(const Placement& placement, std::span<const DeviceId> devices) {
  return std::ranges::all_of(placement.devices(), [&](DeviceId device) {
    return std::ranges::find(devices, device) != devices.end();
  });
}

// Bounds are of the devices from which agents choose. A placement that uses others is held against
// the bounds of all devices.
void widen_bounds(PlacedStep& step, const Placement& placement) {
  const Problem& problem = step.problem();
  if (!uses_only(placement, problem.used_devices())) {
    step.entry.bounds = lower_bounds(problem, problem.devices_by_name());
    if (step.overlap) {
      step.overlap->bound_us =
          period_bound_us(step.one_step(), problem.devices_by_name(), step.overlap->in_flight);
    }
  }
}

// Returns when each of several graphs has ended; nothing for one graph.
std::vector<std::pair<std::string, double>> graph_ends_us(const PlacedStep& step) {
  std::vector<std::pair<std::string, double>> ends;
  if (!names_several_graphs(step.graph)) {
    return ends;
  }
  const std::vector<std::string> graphs = split_graphs(step.graph);
  for (const std::string& name : part_names(graphs)) {
    double end_us = 0;
    for (OpId op = 0; op < step.problem().num_ops(); ++op) {
      if (step.op_name(op).starts_with(name + "/")) {
        end_us = std::max(end_us, step.record.end_us[op]);
      }
    }
    ends.emplace_back(name, end_us);
  }
  return ends;
}

// Simulates the placement and fills in what the step gave.
void simulate(PlacedStep& step, const Placement& placement) {
  const Problem& problem = step.problem();
  // Only the placement of a file may part ops that must share a device.
  bool keeps_colocation = true;
  if (step.from_file && !step.overlap) {
    Grouping finest = bench::group_graph(problem.graph(), 0, bench::kFinestGrouping);
    keeps_colocation = bench::at_grouping(finest, problem, placement).has_value();
    if (keeps_colocation) {
      // Bounds that hold for such placements only: those that the agent had.
      step.entry.bounds = lower_bounds(problem.regrouped(std::move(finest)));
    }
  }
  widen_bounds(step, placement);
  step.record = Simulator(problem).record(placement);
  const IdSpan<DeviceId, const std::int64_t> peak_bytes(std::span(step.record.peak_bytes));
  const IdSpan<OpId, const double> start_us(std::span(step.record.start_us));
  const IdSpan<OpId, const double> end_us(std::span(step.record.end_us));
  const IdSpan<DeviceId, const Device> devices(std::span(problem.cluster().devices));
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    step.devices.push_back({.name = devices[device].name,
                            .peak_bytes = peak_bytes[device],
                            .capacity_bytes = problem.memory_bytes(device)});
  }
  // Steps that overlap do the same work.
  for (OpId op = 0; op < step.one_step().num_ops(); ++op) {
    const DeviceId device = placement[problem.grouping().group_of(op)];
    step.devices[device].busy_us += end_us[op] - start_us[op];
    ++step.ops_by_cost_source[static_cast<std::size_t>(problem.cost_source(op, device))];
  }
  if (step.record.status == StepStatus::kOutOfMemory) {
    step.entry.bounds.memory_us = 0;  // these hold for what fits only
    step.entry.bounds.search_us = 0;
  }
  if (step.overlap) {
    step.overlap->throughput =
        measure_throughput(step.one_step(), placement, step.overlap->in_flight);
  } else {
    step.best_known_us = keeps_colocation ? best_known_us(step) : std::nullopt;
    step.graph_ends_us = graph_ends_us(step);
  }
  const double step_time_us =
      step.overlap ? step.overlap->throughput.period_us : step.record.makespan_us;
  for (DeviceUse& device : step.devices) {
    device.utilization = step_time_us > 0 ? device.busy_us / step_time_us : 0;
  }
}

// Returns the graph or cluster that a placement file names as its `member`; only one that emplace
// knows by name, for a file is not found by its name alone.
std::string named_in(const JsonDocument& file, const std::string& path, const char* member,
                     const std::string& option, const std::vector<std::string>& known) {
  const auto name = file.root().find(member);
  if (!name) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: no {} is named: give {}", path, member, option));
  }
  std::string text = name->text();
  const std::vector<std::string> parts = split_graphs(text);
  if (!std::ranges::all_of(parts, [&](const std::string& part) {
        return std::ranges::find(known, part.substr(0, part.find(':'))) != known.end();
      })) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: /{}: '{}' is not built into emplace: give {}",
                                               path, member, excerpt(text), option));
  }
  return text;
}

// A file names ops, so it is read op by op: it may part what a grouping would hold together.
PlacedStep place_from_file(ProblemOptions problem, const std::string& path) {
  const std::string text = read_text_file(path);
  if (problem.graph.empty() || problem.cluster.empty()) {
    const JsonDocument file = JsonDocument::parse(text, path);
    if (problem.graph.empty()) {
      problem.graph = named_in(file, path, "graph", "GRAPH", GraphCatalog::global().names());
    }
    if (problem.cluster.empty()) {
      problem.cluster = named_in(file, path, "cluster", "--cluster", cluster_names());
    }
    problem.add_parameters();
  }
  return place_op_by_op(problem, text, path);
}

// Splits DIR or DIR:CELL; nothing if `source` is neither.
std::optional<CellChoice> cell_named(const std::string& source, const ProblemOptions& problem) {
  std::error_code ignored;
  CellChoice choice{.folder = source, .graph = problem.graph, .cluster = problem.cluster};
  if (std::filesystem::is_directory(source, ignored)) {
    return choice;
  }
  const std::size_t colon = source.rfind(':');
  if (colon == std::string::npos || std::filesystem::exists(source, ignored) ||
      !std::filesystem::is_directory(source.substr(0, colon), ignored)) {
    return std::nullopt;
  }
  choice.folder = source.substr(0, colon);
  choice.id = source.substr(colon + 1);
  return choice;
}

}  // namespace

const std::string& PlacedStep::op_name(OpId op) const {
  return problem().graph()[static_cast<std::size_t>(op)].name;
}

double PlacedStep::gap() const {
  return overlap ? gap_to_bound(overlap->throughput.period_us, overlap->bound_us)
                 : gap_to_bound(record.makespan_us, entry.bounds.best_us());
}

bool PlacedStep::is_optimal() const {
  return record.status == StepStatus::kOk && gap() <= kBoundRounding;
}

std::optional<double> PlacedStep::above_best_known() const {
  return best_known_us && record.status == StepStatus::kOk
             ? std::optional(gap_to_bound(record.makespan_us, *best_known_us))
             : std::nullopt;
}

PlacedStep place_with_agent(const ProblemOptions& problem, const AgentOptions& agent,
                            std::optional<Placement> start) {
  // A mistyped agent is told before the graph is built.
  const agents::AgentSpec spec = agent.agent;
  spec.make();

  PlacedStep step = prepared({.entry = {bench::load_problem(problem.graph, problem.cluster,
                                                            problem.groups, problem.grouping()),
                                        {}},
                              .graph = problem.graph,
                              .cluster = problem.cluster,
                              .grouping = problem.grouping(),
                              .placed_by = agent.agent},
                             problem);
  const bench::Cell cell{
      .graph = problem.graph,
      .cluster = problem.cluster,
      .agent = spec,
      .repetition = 0,
      .max_evaluations = agent.time_limit_s ? agents::Budget::kUnlimited : agent.evaluations,
      .groups = problem.groups,
      .grouping = problem.grouping(),
      .root_seed = static_cast<std::uint64_t>(agent.seed)};
  if (!agent.from.empty()) {
    start = read_placement_json(read_text_file(agent.from), agent.from, step.problem());
    const agents::AgentInfo& info = spec.info();
    if (info.respects_placeable) {
      agents::require_placeable(step.problem(), *start, agent.from + ": the placement");
    }
    const bool searches = info.kind == agents::AgentKind::kSearch ||
                          info.kind == agents::AgentKind::kLearned || !info.deterministic;
    if (!searches) {
      note(fmt::format("emplace: warning: {} does not search, so it ignores --from", info.name));
    }
  }
  if (start) {
    widen_bounds(step, *start);
  }
  SearchProgress progress(step.entry.bounds.best_us(), step.overlap ? step.overlap->searched : 1);
  bench::CellWatch watch = progress.watch(agent.time_limit_s);
  watch.start = std::move(start);
  bench::CellResult result = bench::run_cell(cell, step.entry, {}, stop_on_signal(), watch);
  if (result.status == bench::CellStatus::kFailed) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("agent {} failed: {}", agent.agent, result.message));
  }
  step.decision_groups = result.decision_groups;
  step.entry.bounds.search_us = result.bound_us;
  step.was_stopped = stop_on_signal();
  step.evaluations = result.evaluations;
  step.evaluations_to_best = result.evaluations_to_best;
  simulate(step, result.placement);
  return step;
}

void add_references(PlacedStep& step) {
  if (step.overlap) {
    return;
  }
  const Problem& problem = step.problem();
  for (ReferenceStep reference :
       {ReferenceStep{.name = "one device", .agent = "single-gpu"},
        ReferenceStep{.name = "by weights", .agent = "pipeline-expert:balance=weights"}}) {
    if (reference.agent != step.placed_by) {
      agents::Evaluator evaluator(problem, {.budget = {.stop = &stop_on_signal()}});
      Placement placement =
          agents::AgentSpec(std::string(reference.agent)).make()->place(problem, evaluator);
      problem.constrain(placement);
      const StepRecord record = Simulator(problem).record(placement);
      reference.status = record.status;
      reference.step_time_us = record.makespan_us;
      step.references.push_back(reference);
    }
  }
}

PlacedStep place_with_policy(const ProblemOptions& problem_options, const PolicyOptions& with) {
  const bench::PolicyFile file = bench::read_policy_file(read_text_file(with.path), with.path);
  ProblemOptions options = problem_options;
  if (with.groups_as_trained) {
    options.groups = file.origin.plan.groups;
    options.given_grouping = file.origin.plan.grouping;
  }
  const std::unique_ptr<agents::TrainableAgent> agent =
      bench::agent_of(file, options.grouping() != kDefaultGrouping);
  PlacedStep step =
      prepared({.entry = {bench::load_problem(options.graph, options.cluster, options.groups,
                                              options.grouping()),
                          {}},
                .graph = options.graph,
                .cluster = options.cluster,
                .grouping = options.grouping(),
                .placed_by = fmt::format("{} with {}", file.origin.plan.agent.text(), with.path)},
               options);
  const Problem& problem = step.problem();
  const bench::Cell cell{.graph = options.graph,
                         .cluster = options.cluster,
                         .agent = file.origin.plan.agent,
                         .groups = options.groups,
                         .grouping = options.grouping(),
                         .root_seed = static_cast<std::uint64_t>(with.seed)};
  // One for the policy as it is, and those that it learns from.
  const std::int64_t episodes = 1 + with.episodes;
  SearchProgress progress(step.entry.bounds.best_us(), step.overlap ? step.overlap->searched : 1);
  bench::CellWatch watch = progress.watch(std::nullopt);
  agents::Evaluator evaluator(
      problem, {.seed = cell.seed(),
                .budget = {.max_evaluations =
                               episodes * agent->evaluations_per_episode(problem.num_groups()),
                           .stop = &stop_on_signal()},
                .progress = std::move(watch.progress),
                .improved = std::move(watch.improved)});
  Placement placement = with.episodes == 0 ? agent->place_with_policy(problem, evaluator)
                                           : agent->place(problem, evaluator);
  step.decision_groups = agent->decision_groups(problem);
  step.was_stopped = stop_on_signal();
  step.evaluations = evaluator.budget().evaluations();
  step.evaluations_to_best = evaluator.incumbent().evaluations_to_best();
  problem.constrain(placement);
  simulate(step, placement);
  return step;
}

PlacedStep place_from(const ProblemOptions& problem, const std::string& source) {
  const std::optional<CellChoice> cell = cell_named(source, problem);
  if (!cell) {
    return place_from_file(problem, source);
  }
  if (problem.no_framework) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--no-framework: the costs of '{}' are those of its run", source));
  }
  if (!problem.constraints.empty() || !problem.constraints_file.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("constraints: those of '{}' are those of its run", source));
  }
  const bench::StoredRun run = bench::read_store(cell->folder);
  return place_from_run(run, find_cell(run, *cell), cell->folder, problem);
}

PlacedStep place_op_by_op(const ProblemOptions& problem, const std::string& text,
                          const std::string& path) {
  auto graph = std::make_shared<const OpGraph>(load_graph(problem.graph));
  Grouping grouping = ungrouped(*graph);
  PlacedStep step =
      prepared({.entry = {Problem(std::move(graph), std::move(grouping),
                                  std::make_shared<const Cluster>(load_cluster(problem.cluster))),
                          {}},
                .graph = problem.graph,
                .cluster = problem.cluster,
                .grouping = "ungrouped",
                .placed_by = path,
                .from_file = true},
               problem);
  const Placement placement = read_placement_json(text, path, step.problem());
  require_constraints(step.problem(), placement, path);
  simulate(step, placement);
  return step;
}

PlacedStep op_by_op(const PlacedStep& step) {
  return place_op_by_op({.graph = step.graph, .cluster = step.cluster},
                        write_placement_json(step.problem(), step.record.placement),
                        step.placed_by);
}

PlacedStep place_from_run(const bench::StoredRun& run, const bench::CellResult& result,
                          const std::string& folder, const ProblemOptions& options) {
  const bench::Cell& cell = result.cell;
  PlacedStep step = prepared(
      {.entry = {bench::load_problem(cell.graph, cell.cluster, cell.groups, cell.grouping), {}},
       .graph = cell.graph,
       .cluster = cell.cluster,
       .grouping = cell.grouping,
       .placed_by = cell.agent.text(),
       .decision_groups = result.decision_groups,
       .evaluations = result.evaluations,
       .evaluations_to_best = result.evaluations_to_best},
      options);
  if (!bench::had_problem(run.manifest, cell.graph, cell.cluster, step.one_step())) {
    const bench::BuildInfo& build = run.manifest.starts.back().build;
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: {} on {} has changed since emplace {} (git {}) ran it", folder,
                            cell.graph, cell.cluster, build.version, build.git_revision));
  }
  step.entry.bounds.search_us = result.bound_us;
  simulate(step, result.placement);
  if (!step.overlap && step.record.makespan_us != result.step_time_us) {
    note(fmt::format("emplace: warning: the step takes {:.3f} ms now, and took {:.3f} ms in {}",
                     step.record.makespan_us / 1e3, result.step_time_us / 1e3, folder));
  }
  return step;
}

}  // namespace emplace::cli
