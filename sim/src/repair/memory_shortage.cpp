#include <emplace/graphs/id_vector.hpp>
#include <emplace/sim/memory_shortage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace emplace {
namespace {

// Ops at which what must be there is counted.
constexpr std::size_t kMaxCuts = 16;

// The `placeto` model frees a tensor up to 2 us before the end of its last reader. What takes
// longer than that everywhere finds its inputs there when it starts, in all models.
constexpr double kMinCostUs = 2;

class ShortageFinder {
 public:
  explicit ShortageFinder(const Problem& problem)
      : problem_(problem),
        is_placeto_(problem.cluster().transfer_model == TransferModel::kPlaceto),
        position_(problem.num_ops()),
        mark_(problem.num_ops(), Mark::kNeither) {
    const std::span<const OpId> order = problem.topological_order();
    for (std::size_t at = 0; at < order.size(); ++at) {
      position_[order[at]] = at;
    }
    for (const DeviceId device : problem.placeable_devices()) {
      memory_bytes_ += problem.memory_bytes(device);
      largest_bytes_ = std::max(largest_bytes_, problem.memory_bytes(device));
    }
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      persistent_bytes_ += problem.group_persistent_bytes(group);
    }
  }

  std::optional<MemoryShortage> find() {
    if (auto shortage = of_one_device()) {
      return shortage;
    }
    if (auto shortage = of_packing()) {
      return shortage;
    }
    return of_all_devices();
  }

 private:
  static constexpr GroupId kAllGroups = -1;

  enum class Mark : std::uint8_t { kNeither, kBefore, kAfter };

  bool is_long(OpId op) const {
    return std::ranges::all_of(problem_.placeable_devices(), [&](DeviceId device) {
      return problem_.cost_us(op, device) >= kMinCostUs;
    });
  }

  // Returns what an op takes for itself while it runs.
  std::int64_t own_bytes(OpId op) const {
    return problem_.allocated_bytes(op) + (is_placeto_ ? 0 : problem_.op(op).workspace_bytes);
  }

  std::optional<MemoryShortage> of_one_device() {
    std::vector<OpId> members;
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      if (most_bytes(group) <= largest_bytes_) {
        continue;
      }
      MemoryShortage shortage{.kind = MemoryShortage::Kind::kOneDevice,
                              .needed_bytes = problem_.group_persistent_bytes(group),
                              .memory_bytes = largest_bytes_,
                              .group = group};
      const auto all = problem_.grouping().members(group);
      members.assign(all.begin(), all.end());
      std::ranges::sort(members, {}, [&](OpId op) { return position_[op]; });
      for (const OpId op : cuts(members)) {
        const std::int64_t needed =
            problem_.group_persistent_bytes(group) + bytes_across(op, group);
        if (needed > shortage.needed_bytes) {
          shortage.needed_bytes = needed;
          shortage.op = op;
        }
      }
      if (shortage.needed_bytes > largest_bytes_) {
        return shortage;
      }
    }
    return std::nullopt;
  }

  // Returns what a group takes if nothing of it or of what it reads is ever freed.
  std::int64_t most_bytes(GroupId group) const {
    std::int64_t bytes = problem_.group_persistent_bytes(group);
    for (const OpId op : problem_.grouping().members(group)) {
      bytes += own_bytes(op);
      for (const UseId input : problem_.inputs(op)) {
        bytes += problem_.allocated_bytes(problem_.uses()[input].producer);
      }
    }
    return bytes;
  }

  std::optional<MemoryShortage> of_packing() const {
    std::vector<std::int64_t> sizes;
    sizes.reserve(index_of(problem_.num_groups()));
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      sizes.push_back(problem_.group_persistent_bytes(group));
    }
    std::ranges::sort(sizes, std::greater{});
    for (std::size_t at = 0; at < sizes.size() && sizes[at] > 0; ++at) {
      std::int64_t fitting = 0;
      for (const DeviceId device : problem_.placeable_devices()) {
        fitting += problem_.memory_bytes(device) / sizes[at];
      }
      const auto count = static_cast<std::int64_t>(at) + 1;
      if (count > fitting) {
        return MemoryShortage{.kind = MemoryShortage::Kind::kPacking,
                              .needed_bytes = sizes[at],
                              .memory_bytes = largest_bytes_,
                              .num_groups = count,
                              .max_groups = fitting};
      }
    }
    return std::nullopt;
  }

  std::optional<MemoryShortage> of_all_devices() {
    MemoryShortage shortage{.kind = MemoryShortage::Kind::kAllDevices,
                            .needed_bytes = persistent_bytes_,
                            .memory_bytes = memory_bytes_};
    if (persistent_bytes_ > memory_bytes_) {
      return shortage;
    }
    for (const OpId op : cuts(problem_.topological_order())) {
      const std::int64_t needed = persistent_bytes_ + bytes_across(op, kAllGroups);
      if (needed > shortage.needed_bytes) {
        shortage.needed_bytes = needed;
        shortage.op = op;
      }
    }
    return shortage.needed_bytes > memory_bytes_ ? std::optional(shortage) : std::nullopt;
  }

  // Returns ops during which much must be there: of those that run for long enough, the ones at
  // which most of their tensors are alive if they run one after the other in the given order, which
  // is topological.
  std::vector<OpId> cuts(std::span<const OpId> order) const {
    std::vector<std::int64_t> change(order.size() + 1, 0);
    for (std::size_t at = 0; at < order.size(); ++at) {
      std::size_t last = at;
      for (const Problem::Child& child : problem_.children(order[at])) {
        const auto found = std::ranges::lower_bound(order, position_[child.op], {},
                                                    [&](OpId op) { return position_[op]; });
        if (found != order.end() && *found == child.op) {
          last = std::max(last, static_cast<std::size_t>(found - order.begin()));
        }
      }
      change[at] += problem_.allocated_bytes(order[at]);
      change[last + 1] -= problem_.allocated_bytes(order[at]);
    }
    struct Cut {
      std::int64_t bytes;
      OpId op;
    };
    std::vector<Cut> cuts;
    std::int64_t alive = 0;
    for (std::size_t at = 0; at < order.size(); ++at) {
      alive += change[at];
      if (is_long(order[at])) {
        cuts.push_back(
            {alive + own_bytes(order[at]) - problem_.allocated_bytes(order[at]), order[at]});
      }
    }
    std::ranges::stable_sort(cuts, std::greater{}, &Cut::bytes);
    cuts.resize(std::min(cuts.size(), kMaxCuts));
    std::vector<OpId> ops;
    ops.reserve(cuts.size());
    for (const Cut& cut : cuts) {
      ops.push_back(cut.op);
    }
    return ops;
  }

  // Returns what is there when `op` starts, in any step: its own memory, and all tensors from an op
  // before it to itself or an op after it. Of the ops after it only those of `group` count, if it
  // is one: what they read is on its device, since no path leads out of a group and back. In the
  // `placeto` model that goes for what the group itself produces only.
  std::int64_t bytes_across(OpId op, GroupId group) {
    std::int64_t bytes = own_bytes(op);
    mark_before(op, group);
    const std::size_t num_before = marked_.size();
    mark_after(op, group);
    for (const OpId producer : std::span(marked_).first(num_before)) {
      if (!is_placeto_ || is_within(producer, group)) {
        bytes += bytes_kept(producer);
      }
    }
    for (const OpId marked : marked_) {
      mark_[marked] = Mark::kNeither;
    }
    marked_.clear();
    return bytes;
  }

  bool is_within(OpId op, GroupId group) const {
    return group == kAllGroups || problem_.grouping().group_of(op) == group;
  }

  // Returns the bytes of an op's outputs that an op marked as kAfter reads; all outputs together in
  // the `placeto` model.
  std::int64_t bytes_kept(OpId producer) const {
    std::int64_t bytes = 0;
    OutputId counted = Dependency::kControl;
    const auto [begin, end] = problem_.uses_of(producer);
    for (UseId at = begin; at < end; ++at) {
      const Problem::Use& use = problem_.uses()[at];
      if (mark_[use.consumer] != Mark::kAfter) {
        continue;
      }
      if (is_placeto_) {
        return problem_.allocated_bytes(producer);
      }
      if (use.output != counted && use.output != Dependency::kControl) {
        counted = use.output;
        bytes += problem_.output_allocated_bytes(use.output);
      }
    }
    return bytes;
  }

  void set_mark(OpId op, Mark mark) {
    mark_[op] = mark;
    marked_.push_back(op);
  }

  // Marks the ops from which a path leads to `op`: those of the group, and those that these read.
  void mark_before(OpId op, GroupId group) {
    stack_.assign(1, op);
    while (!stack_.empty()) {
      const OpId consumer = stack_.back();
      stack_.pop_back();
      for (const UseId input : problem_.inputs(consumer)) {
        const OpId producer = problem_.uses()[input].producer;
        if (mark_[producer] == Mark::kNeither) {
          set_mark(producer, Mark::kBefore);
          if (is_within(producer, group)) {
            stack_.push_back(producer);
          }
        }
      }
    }
  }

  // Marks `op` and the ops of the group to which a path leads from it.
  void mark_after(OpId op, GroupId group) {
    set_mark(op, Mark::kAfter);
    stack_.assign(1, op);
    while (!stack_.empty()) {
      const OpId producer = stack_.back();
      stack_.pop_back();
      for (const Problem::Child& child : problem_.children(producer)) {
        if (mark_[child.op] == Mark::kNeither && is_within(child.op, group)) {
          set_mark(child.op, Mark::kAfter);
          stack_.push_back(child.op);
        }
      }
    }
  }

  const Problem& problem_;
  bool is_placeto_;
  std::int64_t memory_bytes_ = 0;         // of all placeable devices
  std::int64_t largest_bytes_ = 0;        // of one of them
  std::int64_t persistent_bytes_ = 0;     // of all groups
  IdVector<OpId, std::size_t> position_;  // in topological order
  IdVector<OpId, Mark> mark_;
  std::vector<OpId> marked_;  // in the order of marking
  std::vector<OpId> stack_;
};

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{:.3f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

std::optional<MemoryShortage> find_memory_shortage(const Problem& problem) {
  return ShortageFinder(problem).find();
}

std::string describe(const Problem& problem, const MemoryShortage& shortage) {
  const std::string during =
      shortage.op < 0 ? "" : fmt::format(" while {} runs", problem.op(shortage.op).name);
  switch (shortage.kind) {
    case MemoryShortage::Kind::kAllDevices:
      return fmt::format(
          "weights, optimizer slots and tensors take {}{}; all placeable devices have {}",
          gigabytes(shortage.needed_bytes), during, gigabytes(shortage.memory_bytes));
    case MemoryShortage::Kind::kOneDevice:
      return fmt::format("the group of {} takes {}{}; the largest device has {}",
                         problem.op(problem.grouping().members(shortage.group).front()).name,
                         gigabytes(shortage.needed_bytes), during,
                         gigabytes(shortage.memory_bytes));
    case MemoryShortage::Kind::kPacking:
      return fmt::format(
          "{} groups have weights and optimizer slots of {} or more each; the devices hold {} of "
          "them",
          shortage.num_groups, gigabytes(shortage.needed_bytes), shortage.max_groups);
  }
  return {};
}

}  // namespace emplace
