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
        mark_(problem.num_ops(), Mark::kNeither) {
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

  std::optional<MemoryShortage> of_one_device() const {
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      const std::int64_t persistent = problem_.group_persistent_bytes(group);
      MemoryShortage shortage{.kind = MemoryShortage::Kind::kOneDevice,
                              .needed_bytes = persistent,
                              .memory_bytes = largest_bytes_,
                              .group = group};
      for (const OpId op : problem_.grouping().members(group)) {
        const std::int64_t needed = persistent + bytes_on_device(op);
        if (needed > shortage.needed_bytes && is_long(op)) {
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

  // Returns what is on the device of an op while it runs. Copies of what it reads from elsewhere
  // are counted outside of the `placeto` model.
  std::int64_t bytes_on_device(OpId op) const {
    std::int64_t bytes = own_bytes(op);
    OpId counted = -1;  // producer; its uses by one op stand together
    for (const UseId input : problem_.inputs(op)) {
      const Problem::Use& use = problem_.uses()[input];
      if (!is_placeto_) {
        bytes +=
            use.output == Dependency::kControl ? 0 : problem_.output_allocated_bytes(use.output);
      } else if (use.producer != counted &&
                 problem_.grouping().group_of(use.producer) == problem_.grouping().group_of(op)) {
        counted = use.producer;
        bytes += problem_.allocated_bytes(use.producer);
      }
    }
    return bytes;
  }

  std::optional<MemoryShortage> of_packing() const {
    std::vector<std::int64_t> sizes;
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
    for (const OpId op : cuts()) {
      const std::int64_t needed = persistent_bytes_ + bytes_across(op);
      if (needed > shortage.needed_bytes) {
        shortage.needed_bytes = needed;
        shortage.op = op;
      }
    }
    return shortage.needed_bytes > memory_bytes_ ? std::optional(shortage) : std::nullopt;
  }

  // Returns ops during which much must be there: of those that run for long enough, the ones at
  // which most tensors are alive if ops run one after the other in topological order.
  std::vector<OpId> cuts() const {
    const std::span<const OpId> order = problem_.topological_order();
    IdVector<OpId, std::size_t> position(order.size());
    for (std::size_t at = 0; at < order.size(); ++at) {
      position[order[at]] = at;
    }
    std::vector<std::int64_t> change(order.size() + 1, 0);
    for (const OpId op : order) {
      std::size_t last = position[op];
      for (const Problem::Child& child : problem_.children(op)) {
        last = std::max(last, position[child.op]);
      }
      change[position[op]] += problem_.allocated_bytes(op);
      change[last + 1] -= problem_.allocated_bytes(op);
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
    for (const Cut& cut : cuts) {
      ops.push_back(cut.op);
    }
    return ops;
  }

  // Returns what is somewhere when `op` starts, in any step: its own memory, and all tensors from
  // an op before it to itself or an op after it.
  std::int64_t bytes_across(OpId op) {
    std::ranges::fill(mark_, Mark::kNeither);
    mark_before(op);
    mark_after(op);
    std::int64_t bytes = own_bytes(op);
    for (OpId producer = 0; producer < problem_.num_ops(); ++producer) {
      if (mark_[producer] == Mark::kBefore) {
        bytes += bytes_kept(producer);
      }
    }
    return bytes;
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

  void mark_before(OpId op) {
    stack_.assign(1, op);
    while (!stack_.empty()) {
      const OpId consumer = stack_.back();
      stack_.pop_back();
      for (const UseId input : problem_.inputs(consumer)) {
        const OpId producer = problem_.uses()[input].producer;
        if (mark_[producer] == Mark::kNeither) {
          mark_[producer] = Mark::kBefore;
          stack_.push_back(producer);
        }
      }
    }
  }

  // Marks `op` too.
  void mark_after(OpId op) {
    mark_[op] = Mark::kAfter;
    stack_.assign(1, op);
    while (!stack_.empty()) {
      const OpId producer = stack_.back();
      stack_.pop_back();
      for (const Problem::Child& child : problem_.children(producer)) {
        if (mark_[child.op] == Mark::kNeither) {
          mark_[child.op] = Mark::kAfter;
          stack_.push_back(child.op);
        }
      }
    }
  }

  const Problem& problem_;
  bool is_placeto_;
  std::int64_t memory_bytes_ = 0;      // of all placeable devices
  std::int64_t largest_bytes_ = 0;     // of one of them
  std::int64_t persistent_bytes_ = 0;  // of all groups
  IdVector<OpId, Mark> mark_;
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
