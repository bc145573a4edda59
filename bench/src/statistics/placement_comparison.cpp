#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/placement_comparison.hpp>
#include <emplace/graphs/scope.hpp>
#include <emplace/sim/explanation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace emplace::bench {
namespace {

void require_same_ops(const SimulatedPlacement& first, const SimulatedPlacement& other) {
  const Problem& a = first.problem;
  const Problem& b = other.problem;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} is of {}, {} of {}: {}", excerpt(first.name), excerpt(first.graph),
                            excerpt(other.name), excerpt(other.graph), what));
  };
  for (OpId op = 0; op < std::min(a.num_ops(), b.num_ops()); ++op) {
    if (a.op(op).name != b.op(op).name) {
      refuse(fmt::format("expected the same ops, found '{}' and '{}'", excerpt(a.op(op).name),
                         excerpt(b.op(op).name)));
    }
  }
  if (a.num_ops() != b.num_ops()) {
    refuse(fmt::format("expected the same ops, found {} and {}", a.num_ops(), b.num_ops()));
  }
}

DeviceId device_of(const SimulatedPlacement& side, OpId op) {
  return side.record.placement[side.problem.grouping().group_of(op)];
}

const std::string& device_name(const SimulatedPlacement& side, OpId op) {
  return side.problem.device(device_of(side, op)).name;
}

// Finds the largest scopes that moved as one.
class MovedScopes {
 public:
  MovedScopes(const SimulatedPlacement& a, const SimulatedPlacement& b) : a_(a), b_(b) {
    for (OpId op = 0; op < a.problem.num_ops(); ++op) {
      for_each_scope(op, [&](std::string_view scope) {
        const auto [known, is_new] = scopes_.try_emplace(scope, Scope{.first = op});
        known->second.is_uniform &= moves_like(known->second.first, op);
        return true;
      });
    }
  }

  std::vector<MovedOps> find() const {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, MovedOps> moved;
    for (OpId op = 0; op < a_.problem.num_ops(); ++op) {
      const std::string& from = device_name(a_, op);
      const std::string& to = device_name(b_, op);
      if (from == to) {
        continue;
      }
      const std::string_view what = outermost(op);
      MovedOps& ops = moved
                          .try_emplace({what, from, to},
                                       MovedOps{.what = std::string(what), .from = from, .to = to})
                          .first->second;
      ++ops.ops;
      ops.from_us += a_.problem.cost_us(op, device_of(a_, op));
      ops.to_us += b_.problem.cost_us(op, device_of(b_, op));
    }
    std::vector<MovedOps> list;
    list.reserve(moved.size());
    for (auto& [key, ops] : moved) {
      list.push_back(std::move(ops));
    }
    std::ranges::stable_sort(list, std::greater{},
                             [](const MovedOps& ops) { return std::max(ops.from_us, ops.to_us); });
    return list;
  }

 private:
  struct Scope {
    OpId first = 0;
    bool is_uniform = true;
  };

  bool moves_like(OpId one, OpId other) const {
    return device_name(a_, one) == device_name(a_, other) &&
           device_name(b_, one) == device_name(b_, other);
  }

  // Calls visit(scope) from the outermost scope of `op` inwards until it returns false.
  template <class Visit>
  void for_each_scope(OpId op, Visit&& visit) const {
    const std::string_view scope = a_.problem.op(op).scope;
    std::string_view outer;
    for (int depth = 1; outer.size() < scope.size(); ++depth) {
      outer = outer_scope(scope, depth);
      if (!visit(outer)) {
        return;
      }
    }
  }

  std::string_view outermost(OpId op) const {
    const Op& facts = a_.problem.op(op);
    std::string_view found = facts.scope.empty() ? facts.name : facts.scope;
    for_each_scope(op, [&](std::string_view scope) {
      const bool is_uniform = scopes_.at(scope).is_uniform;
      found = is_uniform ? scope : found;
      return !is_uniform;
    });
    return found;
  }

  const SimulatedPlacement& a_;
  const SimulatedPlacement& b_;
  std::unordered_map<std::string_view, Scope> scopes_;
};

// Adds what the resources of one placement do, and new ones behind those that are known.
class Resources {
 public:
  explicit Resources(std::size_t placements) : placements_(placements) {}

  void add(std::size_t placement, const SimulatedPlacement& side, const Explanation& explanation) {
    for (DeviceId device = 0; device < side.problem.num_devices(); ++device) {
      const DeviceLoad& load = explanation.devices[device];
      add(placement, side.problem.device(device).name, true,
          {.path_us = load.path_us,
           .busy_us = load.busy_us,
           .bytes = side.record.peak_bytes[device]});
    }
    for (const LinkLoad& load : explanation.links) {
      add(placement, load.name, false, {.path_us = load.path_us, .bytes = load.bytes});
    }
  }

  std::vector<ComparedResource> used() && {
    std::erase_if(resources_, [](const ComparedResource& resource) {
      return std::ranges::none_of(resource.uses, [&](const auto& use) {
        return use && (use->busy_us > 0 || use->bytes > 0);
      });
    });
    std::ranges::stable_sort(resources_, std::greater{}, &ComparedResource::is_device);
    return std::move(resources_);
  }

 private:
  void add(std::size_t placement, const std::string& name, bool is_device,
           const ComparedResource::Use& use) {
    const auto [at, is_new] = places_.try_emplace({is_device, name}, resources_.size());
    if (is_new) {
      resources_.push_back({.name = name, .is_device = is_device});
      resources_.back().uses.resize(placements_);
    }
    resources_[at->second].uses[placement] = use;
  }

  std::size_t placements_;
  std::vector<ComparedResource> resources_;
  std::map<std::pair<bool, std::string>, std::size_t> places_;
};

void add_draws(std::span<const SimulatedPlacement> placements, const DrawOptions& options,
               PlacementComparison& comparison) {
  const SimulatedPlacement& first = placements.front();
  std::vector<Placement> drawn;
  drawn.reserve(placements.size());
  for (const SimulatedPlacement& side : placements) {
    if (side.graph != first.graph || side.cluster != first.cluster) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("draws: expected placements of one graph on one cluster, found {} on "
                              "{} and {} on {}",
                              excerpt(first.graph), excerpt(first.cluster), excerpt(side.graph),
                              excerpt(side.cluster)));
    }
    drawn.push_back(side.record.placement);
  }
  const std::vector<Draws> draws = simulate_draws(first.problem, drawn, options);
  for (std::size_t at = 0; at < draws.size(); ++at) {
    comparison.placements[at].draws = {.summary = summarize(draws[at]),
                                       .against_first = compare(draws[at], draws.front())};
  }
}

}  // namespace

PlacementComparison compare_placements(std::span<const SimulatedPlacement> placements,
                                       const std::optional<DrawOptions>& draws) {
  EMPLACE_CHECK(placements.size() >= 2, "expected two placements, found {}", placements.size());
  const SimulatedPlacement& first = placements.front();
  PlacementComparison comparison{.graph = first.graph};
  comparison.placements.reserve(placements.size());
  Resources resources(placements.size());
  for (std::size_t at = 0; at < placements.size(); ++at) {
    const SimulatedPlacement& side = placements[at];
    require_same_ops(first, side);
    const Explanation explanation = explain(side.problem, side.record);
    comparison.placements.push_back(
        {.name = side.name,
         .cluster = side.cluster,
         .status = side.record.status,
         .step_time_us = side.record.makespan_us,
         .exposed_us = explanation.exposed_us,
         .over_first = first.record.makespan_us > 0
                           ? side.record.makespan_us / first.record.makespan_us - 1
                           : 0,
         .moved = at > 0 ? MovedScopes(first, side).find() : std::vector<MovedOps>()});
    resources.add(at, side, explanation);
  }
  comparison.resources = std::move(resources).used();
  if (draws) {
    add_draws(placements, *draws, comparison);
  }
  return comparison;
}

}  // namespace emplace::bench
