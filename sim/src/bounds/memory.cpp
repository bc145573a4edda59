#include "memory.hpp"

#include "earliest_starts.hpp"
#include "resident_bytes.hpp"
#include "work.hpp"

#include <emplace/base/infinity.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace emplace::bounds {
namespace {

// With these, 200 steps come within 1 % of 3,000 steps on large networks (gpt2, bert-large,
// llama-7b) on a GPU and a CPU.
constexpr int kSteps = 200;
constexpr double kRate = 0.5;
constexpr double kPriceRate = 1.5;
constexpr double kDecay = 0.1;

// Returns the bytes of groups while that op runs at which they are most.
IdVector<GroupId, std::int64_t> most_bytes(const Problem& problem,
                                           std::span<const DeviceId> devices) {
  ResidentBytes resident(problem, devices);
  OpId fullest = -1;
  std::int64_t most = 0;
  for (const OpId op : resident.fullest_ops(problem.topological_order())) {
    const std::int64_t bytes = resident.during(op, ResidentBytes::kAllGroups);
    if (bytes > most) {
      most = bytes;
      fullest = op;
    }
  }
  if (fullest >= 0) {
    return resident.by_group(fullest);
  }
  IdVector<GroupId, std::int64_t> persistent;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    persistent.push_back(problem.group_persistent_bytes(group));
  }
  return persistent;
}

// An op of the path, and how much later it starts if it is not with the one before.
struct Step {
  OpId op;
  double extra_us;
};

// Returns the longest path, each op on the device that runs it fastest.
std::vector<Step> longest_path(const Precedence& ops) {
  const IdVector<OpId, double> starts_us = longest_paths(ops);
  std::vector<Step> path;
  OpId last = 0;
  for (OpId op = 0; op < ops.num_ops(); ++op) {
    if (starts_us[op] + ops.busy_us(op) > starts_us[last] + ops.busy_us(last)) {
      last = op;
    }
  }
  for (OpId op = last; op >= 0;) {
    Step step{op, 0};
    OpId before = -1;
    double latest_us = -kInfinity;
    for (const Precedence::Edge& edge : ops.before(op)) {
      const double us = starts_us[edge.op] + ops.busy_us(edge.op) + std::min(0.0, edge.extra_us);
      if (us > latest_us || (us == latest_us && edge.extra_us > step.extra_us)) {
        latest_us = us;
        before = edge.op;
        step.extra_us = edge.extra_us;
      }
    }
    path.push_back(step);
    op = before;
  }
  std::ranges::reverse(path);
  return path;
}

class Relaxation {
 public:
  Relaxation(const Problem& problem, const std::vector<DeviceKind>& kinds,
             const IdVector<GroupId, std::int64_t>& bytes, const Precedence& ops)
      : problem_(problem),
        kinds_(kinds),
        num_kinds_(kinds.size()),
        sum_bytes_(static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), INT64_C(0)))),
        kept_(1 - 16 * std::numeric_limits<double>::epsilon() * problem.num_ops()),
        load_us_(num_kinds_),
        taken_bytes_(num_kinds_) {
    for (const DeviceKind& kind : kinds) {
      memory_bytes_.push_back(kind.count * static_cast<double>(problem.memory_bytes(kind.example)));
    }
    const auto choices_of = [&](GroupId group, std::vector<Choice>& choices) {
      for (const DeviceKind& kind : kinds) {
        choices.push_back({problem.group_cost_us(group, kind.example) / problem.slots(kind.example),
                           static_cast<double>(bytes[group])});
      }
    };
    IdVector<GroupId, bool> is_on_path(problem.num_groups(), false);
    for (const Step& step : longest_path(ops)) {
      extras_us_.push_back(step.extra_us);
      for (const DeviceKind& kind : kinds) {
        busy_us_.push_back(problem.busy_us(step.op, kind.example));
      }
      const GroupId group = problem.grouping().group_of(step.op);
      if (is_on_path[group]) {  // counted with an earlier op
        path_.resize(path_.size() + num_kinds_);
      } else {
        is_on_path[group] = true;
        choices_of(group, path_);
      }
    }
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      if (!is_on_path[group]) {
        choices_of(group, others_);
      }
    }
    cheapest_.resize(path_.size());
    from_.resize(path_.size());
  }

  // Returns the best bound that was found.
  double maximize(double about_us) {
    start();
    double best_us = 0;
    for (int step = 0; step < kSteps; ++step) {
      best_us = std::max(best_us, bound_us());
      improve(std::sqrt(1 + kDecay * step), std::max(best_us, about_us));
    }
    return best_us;
  }

 private:
  // What a group takes of a kind of devices.
  struct Choice {
    double load_us = 0;
    double bytes = 0;
  };

  // Half of the weight on the path, the rest on devices by their speed, and memory for nothing.
  void start() {
    path_weight_ = 0.5;
    weights_ = weights_by_speed(problem_, kinds_);
    for (double& weight : weights_) {
      weight *= 1 - path_weight_;
    }
    prices_.assign(num_kinds_, 0);
  }

  double cost_us(const Choice& choice, std::size_t kind) const {
    return weights_[kind] * choice.load_us + prices_[kind] * choice.bytes;
  }

  // Returns the bound by the present weights and prices, and notes what the minimum takes.
  double bound_us() {
    std::ranges::fill(load_us_, 0);
    std::ranges::fill(taken_bytes_, 0);
    double sum_us = assign_path();
    for (std::size_t at = 0; at < others_.size(); at += num_kinds_) {
      std::size_t best = 0;
      double least_us = kInfinity;
      for (std::size_t kind = 0; kind < num_kinds_; ++kind) {
        const double on_it_us = cost_us(others_[at + kind], kind);
        if (on_it_us < least_us) {
          least_us = on_it_us;
          best = kind;
        }
      }
      sum_us += least_us;
      take(others_[at + best], best);
    }
    double memory_us = 0;
    for (std::size_t kind = 0; kind < num_kinds_; ++kind) {
      memory_us += prices_[kind] * memory_bytes_[kind];
    }
    return sum_us * kept_ - memory_us / kept_;  // both are rounded
  }

  void take(const Choice& choice, std::size_t kind) {
    load_us_[kind] += choice.load_us;
    taken_bytes_[kind] += choice.bytes;
  }

  double extra_us(std::size_t at, bool stays) const {
    return stays ? std::min(0.0, extras_us_[at]) : extras_us_[at];
  }

  // Finds the cheapest kinds for the ops of the path, from its start. Returns the cost.
  double assign_path() {
    for (std::size_t at = 0; at < extras_us_.size(); ++at) {
      for (std::size_t kind = 0; kind < num_kinds_; ++kind) {
        const std::size_t cell = at * num_kinds_ + kind;
        double before_us = at == 0 ? 0 : kInfinity;
        for (std::size_t from = 0; at > 0 && from < num_kinds_; ++from) {
          const double us =
              cheapest_[cell - kind - num_kinds_ + from] + weighted(extra_us(at, from == kind));
          if (us < before_us) {
            before_us = us;
            from_[cell] = from;
          }
        }
        cheapest_[cell] = before_us + weighted(busy_us_[cell]) + cost_us(path_[cell], kind);
      }
    }
    const auto last = cheapest_.end() - static_cast<std::ptrdiff_t>(num_kinds_);
    const auto cheapest = std::min_element(last, cheapest_.end());
    path_us_ = 0;
    auto kind = static_cast<std::size_t>(cheapest - last);
    for (std::size_t at = extras_us_.size(); at-- > 0;) {
      const std::size_t cell = at * num_kinds_ + kind;
      take(path_[cell], kind);
      path_us_ += busy_us_[cell];
      if (at > 0) {
        path_us_ += extra_us(at, from_[cell] == kind);
        kind = from_[cell];
      }
    }
    return *cheapest;
  }

  // Ops of one group cannot part, whatever the weight.
  double weighted(double us) const { return us == kInfinity ? us : path_weight_ * us; }

  // Gives more weight to what takes longer than `target_us`, by multiplicative updates, and a
  // higher price to memory that is too small, by a subgradient step; both the less, the larger
  // `damping` is.
  void improve(double damping, double target_us) {
    const auto factor = [&](double us) {
      return 1 + kRate / damping * std::clamp(us / target_us - 1, -1.0, 1.0);
    };
    const double price_step = kPriceRate / damping * target_us / sum_bytes_;
    path_weight_ *= factor(path_us_);
    double sum = path_weight_;
    for (std::size_t kind = 0; kind < num_kinds_; ++kind) {
      weights_[kind] *= factor(load_us_[kind] / kinds_[kind].count);
      sum += kinds_[kind].count * weights_[kind];
      prices_[kind] = std::max(0.0, prices_[kind] + price_step * share_over(kind));
    }
    path_weight_ /= sum;
    for (double& weight : weights_) {
      weight /= sum;
    }
  }

  // Returns by which share of its memory a kind has too much, from -1 to 1.
  double share_over(std::size_t kind) const {
    const double over_bytes = taken_bytes_[kind] - memory_bytes_[kind];
    return memory_bytes_[kind] > 0 ? std::min(1.0, over_bytes / memory_bytes_[kind])
           : over_bytes > 0        ? 1
                                   : 0;
  }

  const Problem& problem_;
  const std::vector<DeviceKind>& kinds_;
  std::size_t num_kinds_;
  double sum_bytes_;
  double kept_;  // less than 1, by what sums may be rounded
  std::vector<double> memory_bytes_;
  // By op of the path or other group, and kind of devices.
  std::vector<double> extras_us_;  // by op of the path alone
  std::vector<double> busy_us_;
  std::vector<Choice> path_;
  std::vector<Choice> others_;

  double path_weight_ = 0;
  std::vector<double> weights_;  // of each device of a kind
  std::vector<double> prices_;   // of a byte

  // Of the minimum.
  std::vector<double> cheapest_;
  std::vector<std::size_t> from_;
  double path_us_ = 0;
  std::vector<double> load_us_;
  std::vector<double> taken_bytes_;
};

}  // namespace

double memory_bound_us(const Problem& problem, std::span<const DeviceId> devices,
                       const Precedence& ops, double about_us) {
  const std::vector<DeviceKind> kinds = kinds_of(problem, devices);
  if (kinds.size() < 2 || about_us <= 0) {
    return 0;
  }
  const IdVector<GroupId, std::int64_t> bytes = most_bytes(problem, devices);
  const auto sum_bytes =
      static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), INT64_C(0)));
  double all_bytes = 0;
  double least_bytes = kInfinity;
  for (const DeviceKind& kind : kinds) {
    const double of_kind = kind.count * static_cast<double>(problem.memory_bytes(kind.example));
    all_bytes += of_kind;
    least_bytes = std::min(least_bytes, of_kind);
  }
  if (sum_bytes <= least_bytes || sum_bytes > all_bytes) {
    return 0;
  }
  return Relaxation(problem, kinds, bytes, ops).maximize(about_us);
}

}  // namespace emplace::bounds
