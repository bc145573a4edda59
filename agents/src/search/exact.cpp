#include "completion_bound.hpp"
#include "heuristic/heuristics.hpp"
#include "list_search.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/agents/move_evaluator.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/base/infinity.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// What a bound must come below the best so far for a search to go on: less is rounding.
constexpr double kWorthwhile = 1 - 1e-9;

// Says whether transfers take the same time by both routes, whatever their bytes.
bool take_the_same(const Problem& problem, std::pair<DeviceId, DeviceId> one,
                   std::pair<DeviceId, DeviceId> other) {
  // A time is a latency plus bytes over a bandwidth, so two amounts tell.
  return std::ranges::all_of(std::array{std::int64_t{0}, std::int64_t{1} << 40},
                             [&](std::int64_t bytes) {
                               return problem.transfer_us(bytes, one.first, one.second) ==
                                      problem.transfer_us(bytes, other.first, other.second);
                             });
}

// Says whether no bound changes if two devices change places.
bool are_alike(const Problem& problem, DeviceId a, DeviceId b) {
  return problem.device(a).profile == problem.device(b).profile &&
         take_the_same(problem, {a, b}, {b, a}) &&
         std::ranges::all_of(problem.placeable_devices(), [&](DeviceId other) {
           return other == a || other == b ||
                  (take_the_same(problem, {a, other}, {b, other}) &&
                   take_the_same(problem, {other, a}, {other, b}));
         });
}

// Returns for each device the first one that is like it. At most four are told to be like one
// another, since all ways to name them are tried at the end.
IdVector<DeviceId, DeviceId> find_alike(const Problem& problem) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  IdVector<DeviceId, DeviceId> first_alike(index_of(problem.num_devices()));
  std::iota(first_alike.begin(), first_alike.end(), 0);
  if (!problem.constraints().empty()) {
    return first_alike;  // a device to which something is pinned is like no other
  }
  for (const DeviceId device : devices) {
    for (const DeviceId first : devices) {
      if (first < device && first_alike[first] == first && are_alike(problem, first, device) &&
          std::ranges::count(first_alike, first) < 4) {
        first_alike[device] = first;
        break;
      }
    }
  }
  return first_alike;
}

// Depth-first branch and bound: gives one group after the other a device, the most urgent first,
// where the bound is least first.
class BranchAndBound {
 public:
  BranchAndBound(const Problem& problem, Evaluator& evaluator, double max_nodes)
      : problem_(problem),
        evaluator_(evaluator),
        max_nodes_(max_nodes),
        bound_(problem),
        first_alike_(find_alike(problem)),
        placement_(problem.num_groups(), CompletionBound::kOpen),
        groups_on_(index_of(problem.num_devices()), 0),
        free_bytes_(index_of(problem.num_devices())),
        levels_(index_of(problem.num_groups())) {
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      free_bytes_[device] = problem.memory_bytes(device);
    }
    order_groups();
  }

  // Searches until the incumbent is proven to be optimal or the budget is spent, and records what
  // is proven. `bound_us` is a bound of all placements.
  void run(double bound_us) {
    enter(0, bound_us);
    std::size_t depth = 0;
    for (;;) {
      Level& level = levels_[depth];
      take_back(depth);
      if (level.next == level.choices.size() || level.choices[level.next].bound_us >= limit_us()) {
        level.next = level.choices.size();
        if (depth == 0) {
          break;
        }
        --depth;
        continue;
      }
      if (++num_nodes_ > max_nodes_ || evaluator_.budget().exhausted()) {
        break;
      }
      const Choice choice = level.choices[level.next];
      assign(depth, choice.device);
      if (depth + 1 == levels_.size()) {
        if (!evaluate()) {
          break;
        }
        if (choice.bound_us < limit_us() && !evaluate_in_order_of_tails()) {
          break;
        }
        // In an order that was not tried the devices may be faster.
        if (choice.bound_us < limit_us()) {
          open_leaf_us_ = std::min(open_leaf_us_, choice.bound_us);
        }
        ++level.next;
      } else {
        ++level.next;
        enter(++depth, choice.bound_us);
      }
    }
    double open_us = std::min(limit_us(), open_leaf_us_);
    for (std::size_t at = 0; at <= depth; ++at) {
      if (levels_[at].next < levels_[at].choices.size()) {
        open_us = std::min(open_us, levels_[at].choices[levels_[at].next].bound_us);
      }
    }
    if (open_us < kInfinity) {
      evaluator_.prove_bound(open_us);
    }
  }

 private:
  struct Choice {
    double bound_us;
    DeviceId device;
  };

  // The devices of one group that are left to try, those of least bound first.
  struct Level {
    GroupId group = 0;
    std::vector<Choice> choices{};
    std::size_t next = 0;
  };

  // Puts the groups first through which the longest paths lead: their devices raise bounds most.
  void order_groups() {
    const OpBounds& ops = bound_.of_ops();
    IdVector<GroupId, double> longest_us(index_of(problem_.num_groups()), 0.0);
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      double& path_us = longest_us[problem_.grouping().group_of(op)];
      path_us = std::max(path_us, ops.start_us[op] + ops.share_us[op] + ops.tail_us[op]);
    }
    std::vector<GroupId> order(problem_.group_order().begin(), problem_.group_order().end());
    std::ranges::stable_sort(order, std::greater<>{},
                             [&](GroupId group) { return longest_us[group]; });
    for (std::size_t at = 0; at < order.size(); ++at) {
      levels_[at].group = order[at];
    }
  }

  // Returns the time below which a placement would be the best.
  double limit_us() const {
    const Evaluation& best = evaluator_.incumbent().evaluation();
    return best.status == EvaluationStatus::kOk ? best.step_time_us * kWorthwhile : kInfinity;
  }

  void assign(std::size_t depth, DeviceId device) {
    const GroupId group = levels_[depth].group;
    placement_[group] = device;
    ++groups_on_[device];
    free_bytes_[device] -= problem_.group_persistent_bytes(group);
    bound_.assign(group, device);
  }

  void take_back(std::size_t depth) {
    const GroupId group = levels_[depth].group;
    if (const DeviceId device = placement_[group]; device != CompletionBound::kOpen) {
      placement_[group] = CompletionBound::kOpen;
      --groups_on_[device];
      free_bytes_[device] += problem_.group_persistent_bytes(group);
      bound_.assign(group, CompletionBound::kOpen);
    }
  }

  // Lists the devices of a level's group, with the bounds of what may follow.
  void enter(std::size_t depth, double bound_so_far_us) {
    Level& level = levels_[depth];
    level.choices.clear();
    level.next = 0;
    for (const DeviceId device : devices_for(level.group)) {
      if (free_bytes_[device] < problem_.group_persistent_bytes(level.group) ||
          is_like_an_earlier_empty_one(device)) {
        continue;
      }
      assign(depth, device);
      const double bound_us = std::max(bound_so_far_us, bound_.bound_us(limit_us()));
      take_back(depth);
      if (bound_us < limit_us()) {
        level.choices.push_back({bound_us, device});
      }
    }
    std::ranges::stable_sort(level.choices, {}, &Choice::bound_us);
  }

  // Those of the problem, or the one of the groups with which it must be together.
  std::span<const DeviceId> devices_for(GroupId group) const {
    for (const GroupId other : problem_.constraints().tied_to(group)) {
      if (placement_[other] != CompletionBound::kOpen) {
        return placement_.devices().subspan(index_of(other), 1);
      }
    }
    return problem_.devices_for(group);
  }

  bool is_like_an_earlier_empty_one(DeviceId device) const {
    if (groups_on_[device] > 0) {
      return false;
    }
    for (DeviceId other = 0; other < device; ++other) {
      if (groups_on_[other] == 0 && first_alike_[other] == first_alike_[device] &&
          std::ranges::count(problem_.placeable_devices(), other) > 0) {
        return true;
      }
    }
    return false;
  }

  // Evaluates the complete placement, and the same with devices that are alike renamed: names break
  // ties in time. Returns whether the budget lasted.
  bool evaluate() {
    IdVector<DeviceId, DeviceId> name(first_alike_.size());
    std::iota(name.begin(), name.end(), 0);
    for (;;) {
      Placement renamed = placement_;
      for (GroupId group = 0; group < renamed.size(); ++group) {
        renamed[group] = name[renamed[group]];
      }
      if (evaluator_.evaluate(renamed).status == EvaluationStatus::kBudgetSpent) {
        return false;
      }
      if (!next_names(name)) {
        return true;
      }
    }
  }

  // Evaluates the complete placement with those groups first that have most to follow them. Returns
  // whether the budget lasted.
  bool evaluate_in_order_of_tails() {
    bound_.bound_us(kInfinity);
    const IdVector<GroupId, double> tails_us = bound_.group_tails_us();
    std::vector<GroupId> order(index_of(problem_.num_groups()));
    std::iota(order.begin(), order.end(), GroupId{0});
    std::ranges::stable_sort(order, {}, [&](GroupId group) { return tails_us[group]; });
    IdVector<GroupId, Priority> priorities(order.size());
    for (std::size_t at = 0; at < order.size(); ++at) {
      priorities[order[at]] = static_cast<Priority>(at);
    }
    Placement ordered = placement_;
    ordered.set_priorities(std::move(priorities));
    return evaluator_.evaluate(ordered).status != EvaluationStatus::kBudgetSpent;
  }

  // Goes on to the next way to name devices among those alike; false after the last.
  bool next_names(IdVector<DeviceId, DeviceId>& name) const {
    for (const DeviceId first : problem_.placeable_devices()) {
      if (first_alike_[first] != first) {
        continue;
      }
      std::vector<DeviceId> alike;
      std::vector<DeviceId> names;
      for (const DeviceId device : problem_.placeable_devices()) {
        if (first_alike_[device] == first) {
          alike.push_back(device);
          names.push_back(name[device]);
        }
      }
      const bool is_next = std::ranges::next_permutation(names).found;
      for (std::size_t at = 0; at < alike.size(); ++at) {
        name[alike[at]] = names[at];
      }
      if (is_next) {
        return true;
      }
    }
    return false;
  }

  const Problem& problem_;
  Evaluator& evaluator_;
  double max_nodes_;
  double num_nodes_ = 0;
  double open_leaf_us_ = kInfinity;  // the least bound of a placement that may have a better order
  CompletionBound bound_;
  IdVector<DeviceId, DeviceId> first_alike_;
  Placement placement_;
  IdVector<DeviceId, GroupId> groups_on_;
  IdVector<DeviceId, std::int64_t> free_bytes_;
  std::vector<Level> levels_;
};

// Branch and bound from the best of some heuristics, a climb from there, and a search for orders on
// the devices.
class Exact final : public Agent {
 public:
  explicit Exact(const Params& params) : nodes_(params.get<double>("nodes")) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    Placement start(problem.num_groups(), problem.placeable_devices().front());
    const double max_nodes = nodes_ * static_cast<double>(evaluator.budget().evaluations_left());
    evaluator.evaluate(start);
    for (ListScheduler* const heuristic : {heft, etf}) {
      evaluator.evaluate(heuristic(problem, evaluator.budget(), StepOrder::kQueue));
    }
    climb(problem, evaluator, start);
    const double bound_us = lower_bounds(problem).best_us();
    search_orders(evaluator, bound_us);
    if (!evaluator.budget().exhausted()) {
      BranchAndBound(problem, evaluator, max_nodes).run(bound_us);
    }
    return evaluator.incumbent().placement().value_or(std::move(start));
  }

 private:
  // Moves one group of the best placement at a time while that helps, with a tenth of the budget;
  // `start` is one that was evaluated.
  static void climb(const Problem& problem, Evaluator& evaluator, const Placement& start) {
    const std::int64_t leave = evaluator.budget().evaluations_left() / 10 * 9;
    MoveEvaluator moves(evaluator);
    moves.go_to(evaluator.incumbent().placement().value_or(start));
    GroupId unimproved = 0;
    for (GroupId group = 0;
         unimproved < problem.num_groups() && evaluator.budget().evaluations_left() > leave;
         group = (group + 1) % problem.num_groups()) {
      ++unimproved;
      for (const DeviceId device : problem.devices_for(group)) {
        const Evaluation best = evaluator.incumbent().evaluation();
        const Move move{group, device};
        if (evaluator.budget().evaluations_left() > leave &&
            moves.evaluate({&move, 1}).better_than(best)) {
          moves.accept();
          unimproved = 0;
        }
      }
    }
  }

  // Searches priority lists until the bound is met, or for a tenth of the budget: anew each time,
  // with four times the evaluations.
  static void search_orders(Evaluator& evaluator, double bound_us) {
    const double used = evaluator.budget().share_used();
    for (double share = 0.001; share < 0.1; share *= 4) {
      const Evaluation& best = evaluator.incumbent().evaluation();
      if (best.status == EvaluationStatus::kOk && best.step_time_us * kWorthwhile <= bound_us) {
        return;
      }
      search_lists(evaluator, used + share);
    }
  }

  double nodes_;
};

EMPLACE_REGISTER_AGENT(
    Exact,
    {.name = "exact",
     .kind = AgentKind::kSearch,
     .summary = "branch and bound: proves for small problems that a placement is optimal",
     .description =
         "Searches orders of the groups first, until a lower bound is met. Then tries the "
         "devices of one group after the other, depth first, and leaves out what a "
         "bound shows to be no better than the best so far; identical devices are tried "
         "once. What it proves holds in whatever order devices run their groups: for "
         "most task graphs of up to 20 groups on 2 to 4 devices, and of up to 100 where "
         "transfers take no time. Ended by its budget, it has the best so far and a "
         "lower bound. Give it many evaluations.",
     .reference = "Land, Doig, Econometrica 28(3), 1960; bounds: emplace/sim/bounds.hpp",
     .parameters = {{.name = "nodes",
                     .default_value = 100.0,
                     .min = 1,
                     .max = 1e9,
                     .summary = "nodes of the search tree for each evaluation of the budget"}},
     .deterministic = false});

}  // namespace
}  // namespace emplace::agents
