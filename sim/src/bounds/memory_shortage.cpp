#include "resident_bytes.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/memory_shortage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace emplace {
namespace {

class ShortageFinder {
 public:
  explicit ShortageFinder(const Problem& problem)
      : problem_(problem), resident_(problem, problem.used_devices()) {
    for (const DeviceId device : problem.used_devices()) {
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

  std::optional<std::int64_t> least_devices() {
    if (of_one_device() || largest_bytes_ == 0) {
      return std::nullopt;
    }
    std::int64_t devices = devices_for(needed_by_all().needed_bytes, largest_bytes_);
    const std::vector<std::int64_t> sizes = persistent_sizes();
    for (std::size_t at = 0; at < sizes.size() && sizes[at] > 0; ++at) {
      devices = std::max(
          devices, devices_for(static_cast<std::int64_t>(at) + 1, largest_bytes_ / sizes[at]));
    }
    return devices;
  }

 private:
  static std::int64_t devices_for(std::int64_t count, std::int64_t on_each) {
    return (count + on_each - 1) / on_each;
  }

  std::optional<MemoryShortage> of_one_device() {
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      if (most_bytes(group) <= largest_bytes_) {
        continue;
      }
      MemoryShortage shortage{.kind = MemoryShortage::Kind::kOneDevice,
                              .needed_bytes = problem_.group_persistent_bytes(group),
                              .memory_bytes = largest_bytes_,
                              .group = group};
      for (const OpId op : resident_.fullest_ops(problem_.grouping().members(group))) {
        const std::int64_t needed =
            problem_.group_persistent_bytes(group) + resident_.during(op, group);
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
      bytes += resident_.own_bytes(op);
      for (const UseId input : problem_.inputs(op)) {
        bytes += problem_.allocated_bytes(problem_.uses()[input].producer);
      }
    }
    return bytes;
  }

  // Of the groups, largest first.
  std::vector<std::int64_t> persistent_sizes() const {
    std::vector<std::int64_t> sizes;
    sizes.reserve(index_of(problem_.num_groups()));
    for (GroupId group = 0; group < problem_.num_groups(); ++group) {
      sizes.push_back(problem_.group_persistent_bytes(group));
    }
    std::ranges::sort(sizes, std::greater{});
    return sizes;
  }

  std::optional<MemoryShortage> of_packing() const {
    const std::vector<std::int64_t> sizes = persistent_sizes();
    for (std::size_t at = 0; at < sizes.size() && sizes[at] > 0; ++at) {
      std::int64_t fitting = 0;
      for (const DeviceId device : problem_.used_devices()) {
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
    const MemoryShortage needed = needed_by_all();
    return needed.needed_bytes > memory_bytes_ ? std::optional(needed) : std::nullopt;
  }

  MemoryShortage needed_by_all() {
    MemoryShortage shortage{.kind = MemoryShortage::Kind::kAllDevices,
                            .needed_bytes = persistent_bytes_,
                            .memory_bytes = memory_bytes_};
    if (persistent_bytes_ > memory_bytes_) {
      return shortage;
    }
    for (const OpId op : resident_.fullest_ops(problem_.topological_order())) {
      const std::int64_t needed =
          persistent_bytes_ + resident_.during(op, ResidentBytes::kAllGroups);
      if (needed > shortage.needed_bytes) {
        shortage.needed_bytes = needed;
        shortage.op = op;
      }
    }
    return shortage;
  }

  const Problem& problem_;
  ResidentBytes resident_;
  std::int64_t memory_bytes_ = 0;      // of all placeable devices
  std::int64_t largest_bytes_ = 0;     // of one of them
  std::int64_t persistent_bytes_ = 0;  // of all groups
};

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{:.3f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

std::optional<MemoryShortage> find_memory_shortage(const Problem& problem) {
  return ShortageFinder(problem).find();
}

std::optional<std::int64_t> least_devices(const Problem& problem) {
  return ShortageFinder(problem).least_devices();
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
          "{} groups have weights and optimizer slots of {} or more each; the devices have room "
          "for {} of them",
          shortage.num_groups, gigabytes(shortage.needed_bytes), shortage.max_groups);
  }
  return {};
}

}  // namespace emplace
