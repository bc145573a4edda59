#include "picture.hpp"

#include "picture_file.hpp"
#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/step_picture.hpp>
#include <emplace/graphs/grouping_strategy.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace emplace::cli {
namespace {

// Into how many groups a graph is folded, one after the other, until its picture fits a screen.
constexpr auto kFoldings = std::to_array<std::int64_t>({96, 64, 48, 32, 24, 16});
constexpr double kScreenWidth = 1400;
constexpr double kScreenHeight = 1100;

bool fits_a_screen(const GroupingPicture& picture) {
  return picture.width <= kScreenWidth && picture.height <= kScreenHeight;
}

// What a placement makes of a group. One that was read op by op may part it.
struct PlacedGroup {
  std::vector<double> us{};  // by device: what the members take there
  std::int64_t kept_bytes = 0;
  std::int64_t made_bytes = 0;

  double total_us() const {
    double total = 0;
    for (const double one : us) {
      total += one;
    }
    return total;
  }
};

std::vector<PlacedGroup> placed_groups(const PlacedStep& step, const Grouping& grouping) {
  const Problem& problem = step.problem();
  std::vector<PlacedGroup> groups(index_of(grouping.size()));
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const DeviceId device = step.record.placement[problem.grouping().group_of(op)];
    PlacedGroup& group = groups[index_of(grouping.group_of(op))];
    group.us.resize(index_of(problem.num_devices()));
    // Ops that take no time are somewhere, too.
    constexpr double kLeastUs = 1e-9;
    group.us[index_of(device)] += std::max(problem.busy_us(op, device), kLeastUs);
    group.kept_bytes += problem.op(op).persistent_bytes;
    group.made_bytes += problem.allocated_bytes(op);
  }
  return groups;
}

// Says where the group is: most of its time first.
std::string devices_text(const PlacedStep& step, const PlacedGroup& group) {
  std::vector<std::size_t> devices;
  for (std::size_t device = 0; device < group.us.size(); ++device) {
    if (group.us[device] > 0) {
      devices.push_back(device);
    }
  }
  std::ranges::stable_sort(devices, std::ranges::greater(),
                           [&](std::size_t device) { return group.us[device]; });
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const std::size_t device : devices) {
    names.push_back(step.devices[device].name);
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

GroupColors colors_by_device(const PlacedStep& step, const Grouping& grouping) {
  const std::vector<PlacedGroup> groups = placed_groups(step, grouping);
  GroupColors colors{.edge_legend = "between devices"};
  std::vector<double> device_us(step.devices.size());
  double longest_us = 0;
  for (const PlacedGroup& group : groups) {
    for (std::size_t device = 0; device < group.us.size(); ++device) {
      device_us[device] += group.us[device];
    }
    longest_us = std::max(longest_us, group.total_us());
  }
  for (std::size_t device = 0; device < step.devices.size(); ++device) {
    colors.legend.push_back(
        device_us[device] == 0
            ? ""
            : fmt::format("{} ({:.3f} ms)", step.devices[device].name, device_us[device] / 1e3));
  }
  for (const PlacedGroup& group : groups) {
    const double us = group.total_us();
    const auto most = std::ranges::max_element(group.us);
    colors.marks.push_back(
        {.color = static_cast<std::size_t>(most - group.us.begin()),
         .share = longest_us > 0 ? us / longest_us : 0,
         .label = fmt::format("{:.3f} ms on {}", us / 1e3, devices_text(step, group)),
         .note = fmt::format(", {:.3f} ms on {}, keeps {:.3f} MB, makes {:.3f} MB", us / 1e3,
                             devices_text(step, group), static_cast<double>(group.kept_bytes) / 1e6,
                             static_cast<double>(group.made_bytes) / 1e6)});
  }
  return colors;
}

}  // namespace

void check_picture_path(std::string_view path) {
  if (!names_picture(path)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--output: expected a name that ends in {}, found '{}'",
                            fmt::join(kPictureEndings, ", "), excerpt(path)));
  }
}

GroupingPicture draw_groups(const OpGraph& graph, const Grouping& grouping,
                            std::string_view grouping_name, const PlacedStep* step) {
  if (grouping.size() > kMaxPictureGroups) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--output: expected at most {} groups, found {}; give --groups N, or "
                            "another --grouping",
                            kMaxPictureGroups, grouping.size()));
  }
  std::string caption = fmt::format("{} in {} by {}", counted(num_ops(graph), "op"),
                                    counted(grouping.size(), "group"), grouping_name);
  if (step == nullptr) {
    return draw_grouping(graph, grouping, caption, colors_by_pass(graph, grouping));
  }
  caption += fmt::format(", placed on {} by {}: one step in {:.3f} ms", step->cluster,
                         step->placed_by, step->record.makespan_us / 1e3);
  return draw_grouping(graph, grouping, caption, colors_by_device(*step, grouping));
}

GroupingPicture draw_folded_groups(const OpGraph& graph, const Grouping& finest,
                                   const PlacedStep* step) {
  if (static_cast<std::int64_t>(finest.size()) <= kFoldings.front()) {
    GroupingPicture whole = draw_groups(graph, finest, kDefaultGrouping, step);
    if (fits_a_screen(whole)) {
      return whole;
    }
  }
  GroupingPicture picture;
  for (const std::int64_t groups : kFoldings) {
    picture = draw_groups(graph, bench::group_graph(graph, groups, kTargetGrouping),
                          kTargetGrouping, step);
    if (fits_a_screen(picture)) {
      break;
    }
  }
  return picture;
}

void write_step_picture(const std::string& path, const PlacedStep& step) {
  const Problem& problem = step.problem();
  std::string caption = counted(problem.num_ops(), "op");
  if (problem.num_groups() < std::int32_t{problem.num_ops()}) {
    caption += " in " + counted(problem.num_groups(), "group");
  }
  caption += ", placed by " + step.placed_by;
  if (step.evaluations > 0) {
    caption += " in " + counted(step.evaluations, "evaluation");
  }
  write_answer(path, encode_picture(bench::draw_step(problem, step.record, caption), path));
}

}  // namespace emplace::cli
