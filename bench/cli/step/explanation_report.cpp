#include "explanation_report.hpp"

#include "memory_overflow.hpp"
#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/bench/unit_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

using bench::TextTable;
using Align = TextTable::Align;

// What takes less of a step is not worth a word in the first sentence.
constexpr double kWorthAWord = 0.05;
constexpr std::size_t kMaxParts = 4;
constexpr std::size_t kMaxRows = 6;

// Nor is what would be told as 0 %.
constexpr double kAnything = 0.005;

std::string milliseconds(double us) { return fmt::format("{:.3f}", us / 1e3); }

// "a", "a and b", "a, b and c".
std::string in_words(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t at = 0; at < items.size(); ++at) {
    text += at == 0 ? "" : at + 1 == items.size() ? " and " : ", ";
    text += items[at];
  }
  return text;
}

class Report {
 public:
  Report(const PlacedStep& step, const Explanation& explanation)
      : step_(step), explanation_(explanation) {}

  std::string write() {
    say(escape_terminal(
        fmt::format("{} on {}, placed by {}", step_.graph, step_.cluster, step_.placed_by)));
    if (explanation_.overflow) {
      write_overflow(*explanation_.overflow);
    }
    write_bottleneck();
    write_path();
    write_devices();
    write_links();
    write_gains();
    return std::move(text_);
  }

 private:
  void say(std::string_view line) {
    text_ += line;
    text_ += '\n';
  }

  void add_table(std::string_view title, const TextTable& table) {
    say("");
    say(title);
    text_ += table.to_terminal(false, table_width());
  }

  double share(double us) const {
    return explanation_.makespan_us > 0 ? us / explanation_.makespan_us : 0;
  }
  std::string percent(double us) const { return fmt::format("{:.1f}", 100 * share(us)); }
  std::string whole_percent(double us) const { return fmt::format("{:.0f} %", 100 * share(us)); }

  const DeviceLoad& load_of(DeviceId device) const {
    return IdSpan<DeviceId, const DeviceLoad>(explanation_.devices)[device];
  }

  const PathShare& of_kind(PathKind kind) const {
    return explanation_.path_kinds[static_cast<std::size_t>(kind)];
  }

  std::string device_name(DeviceId device) const {
    return escape_terminal(step_.devices[device].name);
  }

  // Returns the indices of `loads` by falling time on the path, and as they stand where it is the
  // same.
  template <class Load>
  static std::vector<std::size_t> by_path_time(const std::vector<Load>& loads) {
    std::vector<std::size_t> order;
    for (std::size_t at = 0; at < loads.size(); ++at) {
      order.push_back(at);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return loads[a].path_us > loads[b].path_us;
    });
    return order;
  }

  // The first sentences: the bottleneck, and who had how much of the step.
  void write_bottleneck() {
    double links_us = 0;
    for (const LinkLoad& load : explanation_.links) {
      links_us += load.path_us;
    }
    struct Part {
      double us;
      std::string text;
    };
    std::vector<Part> parts;
    parts.reserve(step_.devices.size() + 1);
    for (DeviceId device = 0; device < step_.devices.end_id(); ++device) {
      parts.push_back({load_of(device).path_us, device_name(device) + " at work"});
    }
    parts.push_back({links_us, "transfers" + over_links(links_us)});
    parts.push_back({of_kind(PathKind::kHost).path_us, "the host launching kernels"});
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.us > b.us; });
    std::vector<std::string> told;
    double rest_us = explanation_.makespan_us;
    for (const Part& part : parts) {
      if (told.size() < kMaxParts && share(part.us) >= kWorthAWord) {
        told.push_back(fmt::format("{} {}{}", whole_percent(part.us),
                                   told.empty() ? "of the step is " : "", part.text));
        rest_us -= part.us;
      }
    }
    if (share(rest_us) >= kWorthAWord) {
      told.push_back(whole_percent(rest_us) + " the rest");
    }
    say("");
    say(fmt::format("The step takes {}{}, {:.1f} % above the lower bound; its bottleneck is {}{}.",
                    bench::time_text(explanation_.makespan_us),
                    explanation_.overflow ? " if there were enough memory" : "", 100 * step_.gap(),
                    culprit(links_us), told.empty() ? "" : ": " + in_words(told)));
    double queued_us = 0;
    for (const PathShare& kind : explanation_.path_kinds) {
      queued_us += kind.queued_us;
    }
    if (share(queued_us) >= kWorthAWord) {
      say(
          fmt::format("For {} of the step, the next op or transfer on the critical path was ready "
                      "but waited in a queue.",
                      whole_percent(queued_us)));
    }
    if (share(explanation_.exposed_us) >= kAnything) {
      say(fmt::format("For {} of the step, no device computed while tensors were in transit.",
                      whole_percent(explanation_.exposed_us)));
    }
  }

  std::string over_links(double links_us) const {
    if (!(links_us > 0)) {
      return "";
    }
    const LinkLoad& most = explanation_.links[by_path_time(explanation_.links).front()];
    if (most.path_us > links_us / 2) {
      return fmt::format(" ({} {})", most.path_us == links_us ? "over" : "mostly over",
                         escape_terminal(most.name));
    }
    const auto links = std::count_if(explanation_.links.begin(), explanation_.links.end(),
                                     [](const LinkLoad& load) { return load.path_us > 0; });
    return fmt::format(" (over {} links)", links);
  }

  std::string culprit(double links_us) const {
    const auto device = static_cast<DeviceId>(by_path_time(explanation_.devices).front());
    const double overhead_us = of_kind(PathKind::kHost).path_us +
                               of_kind(PathKind::kLaunch).path_us + of_kind(PathKind::kGap).path_us;
    if (share(links_us) >= 0.5) {
      return "transfers";
    }
    if (share(overhead_us) >= 0.5) {
      return "launches and gaps";
    }
    if (share(load_of(device).path_us) >= 0.5) {
      return device_name(device);
    }
    return share(links_us) >= 0.25 ? "several devices and the transfers between them"
                                   : "several devices in turn";
  }

  void write_path() {
    static constexpr std::array<std::string_view, kNumPathKinds> kNames = {
        "ops run",    "the host launches",          "ops launch", "rests", "latency",
        "bytes move", "shared links slow them down"};
    std::set<OpId> ops;
    std::set<std::int32_t> transfers;
    for (const PathSegment& segment : explanation_.path) {
      if (segment.link == PathSegment::kNone) {
        ops.insert(segment.op);
      } else {
        transfers.insert(segment.transfer);
      }
    }
    TextTable kinds({{"while"},
                     {"ms", Align::kRight},
                     {"%", Align::kRight},
                     {"queued [ms]", Align::kRight, 1}});
    for (std::size_t kind = 0; kind < kNumPathKinds; ++kind) {
      const PathShare& time = explanation_.path_kinds[kind];
      if (time.path_us > 0) {
        kinds.add_row({std::string(kNames[kind]), milliseconds(time.path_us), percent(time.path_us),
                       milliseconds(time.queued_us)});
      }
    }
    add_table(fmt::format("Critical path ({}, {})", counted(std::ssize(ops), "op"),
                          counted(std::ssize(transfers), "transfer")),
              kinds);

    TextTable op_kinds(
        {{"kind of op"}, {"ms", Align::kRight}, {"%", Align::kRight}, {"ops", Align::kRight}});
    const std::size_t shown = std::min(explanation_.op_kinds.size(), kMaxRows);
    for (std::size_t at = 0; at < shown; ++at) {
      const OpKindShare& kind = explanation_.op_kinds[at];
      op_kinds.add_row({kind.kind, milliseconds(kind.path_us), percent(kind.path_us),
                        fmt::format("{}", kind.ops)});
    }
    add_table("Ops on it" + left_out(explanation_.op_kinds.size(), "kind"), op_kinds);
  }

  static std::string left_out(std::size_t size, std::string_view what) {
    return size > kMaxRows ? fmt::format(" ({} more not shown)", counted(size - kMaxRows, what))
                           : "";
  }

  void write_devices() {
    TextTable table({{"device"},
                     {"on path [ms]", Align::kRight},
                     {"%", Align::kRight},
                     {"busy [%]", Align::kRight},
                     {"idle for transfers [ms]", Align::kRight, 2},
                     {"memory [%]", Align::kRight, 1}});
    for (DeviceId device = 0; device < step_.devices.end_id(); ++device) {
      const DeviceLoad& load = load_of(device);
      if (load.ops > 0) {
        const double memory = static_cast<double>(step_.devices[device].peak_bytes) /
                              static_cast<double>(step_.devices[device].capacity_bytes);
        table.add_row({device_name(device), milliseconds(load.path_us), percent(load.path_us),
                       fmt::format("{:.1f}", 100 * load.utilization),
                       milliseconds(load.transfer_wait_us), fmt::format("{:.1f}", 100 * memory)});
      }
    }
    add_table("Devices", table);
  }

  void write_links() {
    TextTable table({{"link"},
                     {"on path [ms]", Align::kRight},
                     {"%", Align::kRight},
                     {"used [%]", Align::kRight, 1},
                     {"transfers", Align::kRight, 2},
                     {"GB", Align::kRight, 3}});
    std::size_t used = 0;
    for (const std::size_t link : by_path_time(explanation_.links)) {
      const LinkLoad& load = explanation_.links[link];
      if (load.transfers > 0 && used++ < kMaxRows) {
        table.add_row({load.name, milliseconds(load.path_us), percent(load.path_us),
                       fmt::format("{:.1f}", 100 * load.utilization),
                       fmt::format("{}", load.transfers), gigabytes(load.bytes)});
      }
    }
    if (used > 0) {
      add_table("Links" + left_out(used, "link"), table);
    }
  }

  std::string gain_name(const Gain& gain) const {
    switch (gain.what) {
      case Gain::What::kDevice:
        return step_.devices[gain.index].name;
      case Gain::What::kLink:
        return explanation_.links[static_cast<std::size_t>(gain.index)].name;
      case Gain::What::kAllLinks:
        return "all transfers";
      case Gain::What::kLaunches:
        return "all launches";
      case Gain::What::kGaps:
        return "all gaps";
    }
    return "";
  }

  void write_gains() {
    TextTable table(
        {{"if it took no time"}, {"shorter by at most [ms]", Align::kRight}, {"%", Align::kRight}});
    const std::size_t shown = std::min(explanation_.gains.size(), kMaxRows);
    for (std::size_t at = 0; at < shown; ++at) {
      const Gain& gain = explanation_.gains[at];
      table.add_row({gain_name(gain), milliseconds(gain.at_most_us), percent(gain.at_most_us)});
    }
    if (shown > 0) {
      add_table("The most that could be gained; less if another path then becomes the longest",
                table);
    }
  }

  void write_overflow(const MemoryOverflow& overflow) {
    say("");
    say("The placement does not fit: " + to_text(step_, overflow));
    say(advice(step_, overflow));
    TextTable table({{"tensor"},
                     {"what", Align::kLeft, 1},
                     {"GB", Align::kRight, 3},
                     {"since [ms]", Align::kRight, 2}});
    for (const Allocation& allocation : overflow.largest) {
      static constexpr std::array<std::string_view, 3> kNames = {"output", "copy", "workspace"};
      table.add_row({tensor_name(step_, allocation),
                     std::string(kNames[static_cast<std::size_t>(allocation.kind)]),
                     gigabytes(allocation.bytes), milliseconds(allocation.from_us)});
    }
    table.add_row({"other tensors", "", gigabytes(overflow.other_bytes), ""});
    table.add_row({"weights and optimizer slots", "", gigabytes(overflow.persistent_bytes), ""});
    add_table(fmt::format("In the memory of {} at that moment", device_name(overflow.device)),
              table);
  }

  const PlacedStep& step_;
  const Explanation& explanation_;
  std::string text_;
};

}  // namespace

std::string to_text(const PlacedStep& step, const Explanation& explanation) {
  return Report(step, explanation).write();
}

}  // namespace emplace::cli
