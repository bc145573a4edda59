#include "exported_step.hpp"

#include "stop_signal.hpp"

#include <emplace/agents/budget.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/random.hpp>
#include <emplace/bench/placement_format.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/scope.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/placement_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

// Deeper layers are single ops in all networks that we know.
constexpr int kDeepest = 8;

// How many layers of the best placement move before the next climb.
constexpr int kKicked = 3;

// Returns 0 and the granularities that make different layers.
std::vector<std::int64_t> granularities(const OpGraph& graph) {
  std::vector<std::int64_t> found{0};
  std::size_t before = 1;  // layers of the last one
  for (int depth = 1; depth <= kDeepest; ++depth) {
    std::set<std::string_view> layers;
    for (OpId op = 0; op < num_ops(graph); ++op) {
      layers.insert(outer_scope(graph[index_of(op)].scope, depth));
    }
    if (layers.size() > before) {
      found.push_back(depth);
    }
    before = layers.size();
  }
  return found;
}

// Returns the ops of each layer of any depth, outer ones first.
std::vector<std::vector<OpId>> layers_of(const OpGraph& graph) {
  std::map<std::pair<int, std::string_view>, std::vector<OpId>> layers;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const std::string_view scope = graph[index_of(op)].scope;
    for (int depth = 1; depth <= kDeepest; ++depth) {
      const std::string_view layer = outer_scope(scope, depth);
      if (layer.empty() || (depth > 1 && layer == outer_scope(scope, depth - 1))) {
        break;
      }
      layers[{depth, layer}].push_back(op);
    }
  }
  std::vector<std::vector<OpId>> found;
  found.reserve(layers.size());
  for (auto& [name, ops] : layers) {
    found.push_back(std::move(ops));
  }
  return found;
}

// A placement as the format says it, and what its step takes, by which two are compared: what fits
// first.
struct Exported {
  Placement placement{};
  std::pair<std::int64_t, double> cost{};
};

// Returns the problem in which each op is a group.
Problem by_op(const ProblemOptions& problem) {
  auto graph = std::make_shared<const OpGraph>(load_graph(problem.graph));
  Grouping grouping = ungrouped(*graph);
  return {std::move(graph), std::move(grouping),
          std::make_shared<const Cluster>(load_cluster(problem.cluster))};
}

// Searches among what a format can say, op by op, under the constraints of a problem.
class ExportSearch {
 public:
  ExportSearch(const bench::PlacementFormat& format, const ProblemOptions& problem)
      : format_(format), problem_(by_op(problem)), simulator_(problem_) {}

  const Problem& problem() const { return problem_; }
  // Returns the best; its placement is empty if none was kept.
  const Exported& best() const { return best_; }

  // Says why the last placement that was refused was.
  const std::string& refused() const { return refused_; }

  // Writes a placement, and keeps what the file says if that is the best.
  void consider(const Placement& placement) { replace(best_, placement); }

  // Moves whole layers to other devices as long as that helps, and again from placements near the
  // best one. Requires: there is a best.
  void improve(agents::Budget& budget, RandomStream random) {
    const std::vector<std::vector<OpId>> layers = layers_of(problem_.graph());
    const auto devices = problem_.placeable_devices();
    climb(best_, layers, budget);
    if (layers.size() < 2 || devices.size() < 2) {
      return;
    }
    while (!budget.exhausted()) {
      Placement near = best_.placement;
      for (int i = 0; i < kKicked; ++i) {
        move(near, layers[random.below(layers.size())], devices[random.below(devices.size())]);
      }
      budget.charge(1);
      Exported other;
      if (replace(other, near)) {
        climb(other, layers, budget);
        if (other.cost < best_.cost) {
          best_ = std::move(other);
        }
      }
    }
  }

 private:
  // Writes a placement; if what the file says is better than `known`, or that is empty, it becomes
  // `known`. Returns whether it did.
  bool replace(Exported& known, const Placement& placement) {
    bench::PlacementExport file = format_.write(problem_, placement);
    Exported exported{.placement = std::move(file.placement)};
    try {  // what the format brings together may have to be apart
      require_constraints(problem_, exported.placement, format_.name);
    } catch (const Error& error) {
      refused_ = error.what();
      for (const bench::ColocatedOps& colocated : file.colocated) {
        if (!colocated.shared_by.empty()) {
          refused_ += fmt::format("; {} share '{}'", bench::sharing_modules(colocated),
                                  excerpt(colocated.what));
          break;
        }
      }
      return false;
    }
    const SimResult& step = simulator_.run(exported.placement);
    exported.cost = {step.bytes_over, step.makespan_us};
    if (known.placement.size() > 0 && exported.cost >= known.cost) {
      return false;
    }
    known = std::move(exported);
    return true;
  }

  void move(Placement& placement, const std::vector<OpId>& layer, DeviceId device) const {
    for (const OpId op : layer) {
      placement[GroupId(op)] = device;
    }
    problem_.constrain(placement);
  }

  void climb(Exported& from, const std::vector<std::vector<OpId>>& layers, agents::Budget& budget) {
    std::size_t unimproved = 0;
    for (std::size_t at = 0; unimproved < layers.size(); at = (at + 1) % layers.size()) {
      ++unimproved;
      for (const DeviceId device : problem_.placeable_devices()) {
        if (budget.exhausted()) {
          return;
        }
        Placement moved = from.placement;
        move(moved, layers[at], device);
        if (moved == from.placement) {
          continue;
        }
        budget.charge(1);
        unimproved = replace(from, moved) ? 0 : unimproved;
      }
    }
  }

  const bench::PlacementFormat& format_;
  Problem problem_;
  Simulator simulator_;
  Exported best_;
  std::string refused_;
};

}  // namespace

PlacedStep place_for_format(const std::string& name, const ProblemOptions& problem,
                            const AgentOptions& agent) {
  const bench::PlacementFormat& format = bench::find_placement_format(name);
  if (problem.objective != "step") {
    throw Error(ErrorCode::kUsage, "--for is for --objective step");
  }
  ExportSearch search(format, problem);
  // One part of the budget for each search, and one for the climbs.
  const std::vector<std::int64_t> depths = granularities(search.problem().graph());
  const auto parts = static_cast<std::int64_t>(depths.size()) + 1;
  AgentOptions each = agent;
  each.evaluations = std::max<std::int64_t>(1, agent.evaluations / parts);
  if (each.time_limit_s) {
    each.time_limit_s = *each.time_limit_s / static_cast<double>(parts);
  }
  std::int64_t evaluations = 0;
  for (const std::int64_t depth : depths) {
    ProblemOptions layered = problem;
    layered.cluster = with_constraints(problem.cluster, {.granularity = depth});
    const PlacedStep found = place_with_agent(layered, each);
    evaluations += found.evaluations;
    search.consider(bench::op_by_op(found.problem(), found.record.placement));
  }
  if (search.best().placement.size() == 0) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("{} can express no placement that was found: {}", name, search.refused()));
  }
  agents::Budget::Limits limits{.stop = &stop_on_signal()};
  if (each.time_limit_s) {
    limits.max_evaluations = agents::Budget::kUnlimited;
    limits.max_time = std::chrono::duration<double>(*each.time_limit_s);
  } else {
    limits.max_evaluations = each.evaluations;
  }
  agents::Budget budget(limits);
  search.improve(budget, RandomStream(static_cast<std::uint64_t>(agent.seed)));
  PlacedStep best = place_op_by_op(
      problem, write_placement_json(search.problem(), search.best().placement), name);
  best.placed_by = fmt::format("{} for {}", agent.agent, name);
  best.evaluations = evaluations + budget.evaluations();
  best.was_stopped = stop_on_signal();
  return best;
}

}  // namespace emplace::cli
