#include <emplace/agents/evaluator.hpp>
#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/agent_check.hpp>
#include <emplace/bench/executor.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/threads.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace emplace::bench {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::array<const char*, 3> kDeviceClasses = {"gpu-k80", "gpu-v100", "cpu"};
constexpr std::array<const char*, 3> kClusters = {"p2-8xlarge-2", "cpu-gpu", "mixed-v100-p100"};
constexpr std::array<std::int64_t, 5> kBudgets = {0, 1, 2, 7, 100};
constexpr double kRounding = 1e-9;
constexpr Seconds kTimeLimit(0.1);
// Whoever asks for the budget between evaluations ends long before, on a busy machine, too.
constexpr Seconds kGrace(10);
// A number without bounds may mean more work than can be done.
constexpr double kNoBound = 9007199254740992;  // 2^53

using Edges = std::vector<std::pair<OpId, OpId>>;

// Ops that take the same time on every device.
OpGraph tiny_graph(const std::vector<double>& costs_us, const Edges& edges,
                   std::int64_t persistent_bytes = 0) {
  constexpr std::int64_t kOutputBytes = 20'000;
  OpGraph graph;
  graph[boost::graph_bundle].name = "tiny";
  for (const double cost_us : costs_us) {
    Op op{.name = fmt::format("op{}", num_ops(graph)),
          .kind = "tiny",
          .outputs = {{.shape = {kOutputBytes}, .bytes = kOutputBytes}},
          .persistent_bytes = persistent_bytes};
    for (const char* device_class : kDeviceClasses) {
      op.measured.push_back({.device_class = device_class, .cost_us = cost_us});
    }
    boost::add_vertex(op, graph);
  }
  for (const auto& [producer, consumer] : edges) {
    add_dependency(graph, producer, 0, consumer);
  }
  return graph;
}

Edges fork_join_edges(OpId width) {
  Edges edges;
  for (OpId branch = 1; branch <= width; ++branch) {
    edges.emplace_back(0, branch);
    edges.emplace_back(branch, width + 1);
  }
  return edges;
}

OpGraph fork_and_join(std::int64_t persistent_bytes = 0) {
  return tiny_graph(std::vector<double>(8, 20), fork_join_edges(6), persistent_bytes);
}

struct TinyProblem {
  std::string name{};
  std::string cluster{};
  ProblemSet::Entry entry;
  bool fits = true;  // some placement
};

TinyProblem tiny_problem(const std::string& name, const OpGraph& graph,
                         const std::string& cluster) {
  auto shared = std::make_shared<const OpGraph>(graph);
  Grouping grouping = ungrouped(*shared);  // other groupings put all ops into one group
  Problem problem(std::move(shared), std::move(grouping),
                  std::make_shared<const Cluster>(load_cluster(cluster)));
  const LowerBounds bounds = lower_bounds(problem);
  return {fmt::format("{} on {}", name, cluster), cluster, {std::move(problem), bounds}};
}

std::vector<TinyProblem> tiny_problems() {
  std::vector<TinyProblem> problems;
  for (const char* cluster : kClusters) {
    problems.push_back(tiny_problem("one op", tiny_graph({10}, {}), cluster));
    problems.push_back(
        tiny_problem("chain", tiny_graph({10, 20, 30, 40}, {{0, 1}, {1, 2}, {2, 3}}), cluster));
    problems.push_back(tiny_problem("fork and join", fork_and_join(), cluster));
    problems.push_back(
        tiny_problem("disconnected", tiny_graph({10, 20, 30, 40, 15}, {{0, 1}, {2, 3}}), cluster));
  }
  constexpr std::int64_t kTooLarge = 10'000'000'000'000;
  problems.push_back(
      tiny_problem("what fits nowhere", fork_and_join(kTooLarge), kClusters.front()));
  problems.back().fits = false;
  return problems;
}

// A mistake of the agent, to be told with its problem.
class Mistake : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Request {
  std::int64_t evaluations = 100;
  std::uint64_t seed = 0;
  int threads = 1;
  std::optional<Seconds> max_time{};
};

// Lets the agent place, and checks what every placement must satisfy.
CellResult placed(const agents::AgentSpec& agent, const TinyProblem& problem,
                  const Request& request = {}, bool is_stopped = false) {
  const std::atomic<bool> stop = is_stopped;
  const Cell cell{.graph = "tiny",
                  .cluster = problem.cluster,
                  .agent = agent,
                  .max_evaluations = request.evaluations,
                  .root_seed = request.seed};
  CellResult result = on_threads(request.threads, [&] {
    return run_cell(cell, problem.entry, {}, stop, {.max_time = request.max_time});
  });
  if (result.status == CellStatus::kFailed) {
    throw Mistake(result.message);
  }
  if (result.evaluations > request.evaluations) {
    throw Mistake(fmt::format("makes {} of the {} that it may", result.evaluations,
                              counted(request.evaluations, "evaluation")));
  }
  return result;
}

using Check = std::function<void(const agents::AgentSpec&, const TinyProblem&)>;

void keeps_budget(const agents::AgentSpec& agent, const TinyProblem& problem) {
  for (const std::int64_t budget : kBudgets) {
    placed(agent, problem, {.evaluations = budget, .seed = 3});
  }
}

void keeps_time_limit(const agents::AgentSpec& agent, const TinyProblem& problem) {
  const auto begin = std::chrono::steady_clock::now();
  placed(agent, problem, {.evaluations = agents::Budget::kUnlimited, .max_time = kTimeLimit});
  const Seconds taken = std::chrono::steady_clock::now() - begin;
  if (taken > kGrace) {
    throw Mistake(fmt::format("takes {:.1f} s of {:.1f} s", taken.count(), kTimeLimit.count()));
  }
}

void ends_when_stopped(const agents::AgentSpec& agent, const TinyProblem& problem) {
  const CellResult result =
      placed(agent, problem, {.evaluations = agents::Budget::kUnlimited}, true);
  if (result.evaluations > 0) {
    throw Mistake(fmt::format("makes {}", counted(result.evaluations, "evaluation")));
  }
}

void repeats_itself(const agents::AgentSpec& agent, const TinyProblem& problem) {
  const auto on = [&](int threads) {
    return placed(agent, problem, {.evaluations = 200, .seed = 7, .threads = threads}).placement;
  };
  if (on(1) != on(4)) {
    throw Mistake("gives two placements for one seed");
  }
}

void is_deterministic(const agents::AgentSpec& agent, const TinyProblem& problem) {
  const auto with = [&](std::int64_t budget) {
    return placed(agent, problem,
                  {.evaluations = budget, .seed = static_cast<std::uint64_t>(budget)})
        .placement;
  };
  if (agent.info().deterministic && with(10) != with(100)) {
    throw Mistake("calls itself deterministic, but depends on the seed or the budget");
  }
}

void is_not_below_the_bound(const agents::AgentSpec& agent, const TinyProblem& problem) {
  const double step_time_us = placed(agent, problem).step_time_us;
  const Problem& all = problem.entry.problem;
  const double bound_us = agent.info().respects_placeable
                              ? problem.entry.bounds.best_us()
                              : lower_bounds(all, all.devices_by_name()).best_us();
  if (step_time_us * (1 + kRounding) < bound_us) {
    throw Mistake(fmt::format("{} us, less than the lower bound of {} us", step_time_us, bound_us));
  }
}

void returns_its_best(const agents::AgentSpec& agent, const TinyProblem& problem) {
  const CellResult result = placed(agent, problem, {.seed = 5});
  agents::Evaluator again(problem.entry.problem, {.budget = {.max_evaluations = 1},
                                                  .any_device = !agent.info().respects_placeable});
  if (!result.history.empty() &&
      result.history.back().evaluation.better_than(again.evaluate(result.placement))) {
    throw Mistake("returns a placement that is worse than the best that it evaluated");
  }
}

std::vector<std::string> bounds_of(const ParamSpec& parameter) {
  if (std::holds_alternative<bool>(parameter.default_value)) {
    return {"false", "true"};
  }
  if (std::holds_alternative<std::string>(parameter.default_value)) {
    return parameter.choices;
  }
  std::vector<std::string> bounds;
  for (const double bound : {parameter.min, parameter.max}) {
    if (std::abs(bound) < kNoBound) {
      bounds.push_back(std::holds_alternative<double>(parameter.default_value)
                           ? emplace::to_string(ParamValue(bound))
                           : emplace::to_string(ParamValue(static_cast<std::int64_t>(bound))));
    }
  }
  return bounds;
}

// Those of a program are emplace's own; those that the user gave stay.
void works_at_the_bounds_of_its_parameters(const agents::AgentSpec& agent,
                                           const TinyProblem& problem) {
  if (agent.info().needs_program) {
    return;
  }
  for (const ParamSpec& parameter : agent.info().parameters) {
    const auto& given = agent.spec().given;
    if (std::ranges::any_of(given, [&](const auto& one) { return one.first == parameter.name; })) {
      continue;
    }
    for (const std::string& value : bounds_of(parameter)) {
      const std::string setting = fmt::format("{}={}", parameter.name, value);
      const agents::AgentSpec with =
          fmt::format("{}{}{}", agent.text(), given.empty() ? ":" : ",", setting);
      try {
        placed(with, problem, {.evaluations = 30});
      } catch (const std::runtime_error& error) {
        const std::string text = error.what();
        // An agent may refuse what would have no effect together with its other parameters.
        if (text.find("has no effect with") == std::string::npos) {
          throw Mistake(fmt::format("with {}: {}", setting, text));
        }
      }
    }
  }
}

// Two of its evaluators train a policy, which then is saved, loaded and used.
void learns(const agents::AgentSpec& agent, const TinyProblem& problem) {
  constexpr std::int64_t kEpisodes = 10;
  const Problem& on = problem.entry.problem;
  const auto learner = make_trainable(agent);
  const std::int64_t per_episode = learner->evaluations_per_episode(on.num_groups());
  agents::Evaluator first(on, {.seed = 1, .budget = {.max_evaluations = kEpisodes * per_episode}});
  agents::Evaluator second(on, {.seed = 2, .budget = {.max_evaluations = kEpisodes * per_episode}});
  agents::Evaluator* const evaluators[] = {&first, &second};
  learner->train(evaluators, {});
  const std::string policy = learner->save();
  const auto loaded = make_trainable(agent);
  loaded->load(JsonDocument::parse(policy, "its policy").root());
  if (loaded->save() != policy) {
    throw Mistake("saves another policy than it loaded");
  }
  agents::Evaluator evaluator(on, {.seed = 3});
  const Placement placement = loaded->place_with_policy(on, evaluator);
  for (GroupId group = 0; group < on.num_groups(); ++group) {
    if (placement[group] < 0 || placement[group] >= on.num_devices()) {
      throw Mistake(fmt::format("places group {} nowhere with its policy", group));
    }
  }
  if (evaluator.budget().evaluations() > per_episode) {
    throw Mistake(
        fmt::format("makes {} when it places with its policy, more than the {} that it names",
                    counted(evaluator.budget().evaluations(), "evaluation"), per_episode));
  }
  if (loaded->save() != policy) {
    throw Mistake("changes its policy when it places with it");
  }
}

struct NamedCheck {
  std::string_view what{};
  Check run{};
  bool needs_fit = true;
  bool is_of_trainable = false;
};

std::vector<NamedCheck> all_checks() {
  return {{"places every group where it may, with any number of evaluations, and makes no more",
           keeps_budget, false},
          {"ends when its time is over", keeps_time_limit},
          {"ends when it is stopped", ends_when_stopped},
          {"gives one placement for a seed, on any number of threads", repeats_itself},
          {"ignores seed and budget if it calls itself deterministic", is_deterministic},
          {"is never faster than the lower bound", is_not_below_the_bound},
          {"returns the best placement that it evaluated", returns_its_best},
          {"works with each parameter at its bounds", works_at_the_bounds_of_its_parameters},
          {"loads the policy that it saved, and places with it", learns, true, true}};
}

}  // namespace

std::vector<AgentCheck> check_agent(const agents::AgentSpec& agent, const std::atomic<bool>& stop) {
  agent.resolve();
  const std::vector<TinyProblem> problems = tiny_problems();
  std::vector<AgentCheck> results;
  for (const NamedCheck& check : all_checks()) {
    if (check.is_of_trainable && !agent.info().trainable) {
      continue;
    }
    AgentCheck result{.what = check.what};
    for (const TinyProblem& problem : problems) {
      if (stop) {
        return results;
      }
      if (check.needs_fit && !problem.fits) {
        continue;
      }
      try {
        check.run(agent, problem);
      } catch (const std::runtime_error& error) {
        result.mistakes.push_back(fmt::format("{}: {}", problem.name, error.what()));
      }
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace emplace::bench
