#include "explanation_report.hpp"

#include <emplace/bench/text_table.hpp>

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

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

std::string duration(double us) {
  return us >= 1e6   ? fmt::format("{:.3f} s", us / 1e6)
         : us >= 1e3 ? fmt::format("{:.3f} ms", us / 1e3)
                     : fmt::format("{:.3f} us", us);
}

std::string milliseconds(double us) { return fmt::format("{:.3f}", us / 1e3); }

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{:.3f}", static_cast<double>(bytes) / 1e9);
}

std::string count(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t at = 0; at < items.size(); ++at) {
    text += at == 0 ? "" : at + 1 == items.size() ? " and " : ", ";
    text += items[at];
  }
  return text;
}

class Report {
 public:
  Report(const PlacedStep& step, const StepRecord& record, const Explanation& explanation)
      : step_(step), record_(record), explanation_(explanation) {}

  std::string write() {
    say(bench::without_control_characters(
        fmt::format("{} on {}, placed by {}", step_.graph, step_.cluster, step_.placed_by)));
    if (explanation_.overflow) {
      write_overflow(*explanation_.overflow);
    }
    write_bound();
    write_path();
    write_devices();
    write_links();
    write_gains();
    write_without_effect();
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
    text_ += table.to_terminal(false);
  }

  double share(double us) const {
    return explanation_.makespan_us > 0 ? us / explanation_.makespan_us : 0;
  }
  std::string percent(double us) const { return fmt::format("{:.1f}", 100 * share(us)); }
  std::string whole_percent(double us) const { return fmt::format("{:.0f} %", 100 * share(us)); }

  const PathShare& of_kind(PathKind kind) const {
    return explanation_.path_kinds[static_cast<std::size_t>(kind)];
  }

  std::string device_name(std::size_t device) const {
    return bench::without_control_characters(step_.devices[device].name);
  }

  std::string op_name(OpId op) const { return step_.entry.problem.graph()[index(op)].name; }

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

  // The first sentence: what bounded the step, and who had how much of it.
  void write_bound() {
    double links_us = 0;
    for (const LinkLoad& load : explanation_.links) {
      links_us += load.path_us;
    }
    struct Part {
      double us;
      std::string text;
    };
    std::vector<Part> parts;
    for (std::size_t device = 0; device < explanation_.devices.size(); ++device) {
      parts.push_back({explanation_.devices[device].path_us, device_name(device) + " at work"});
    }
    parts.push_back({links_us, "transfers" + over_links(links_us)});
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.us > b.us; });
    std::vector<std::string> told;
    double rest_us = explanation_.makespan_us;
    for (const Part& part : parts) {
      if (told.size() < kMaxParts && share(part.us) >= kWorthAWord) {
        told.push_back(fmt::format("{} {}{}", whole_percent(part.us),
                                   told.empty() ? "of it is " : "", part.text));
        rest_us -= part.us;
      }
    }
    if (share(rest_us) >= kWorthAWord) {
      told.push_back(whole_percent(rest_us) + " the rest");
    }
    say("");
    say(fmt::format("The step takes {}{}, bounded by {}{}.", duration(explanation_.makespan_us),
                    explanation_.overflow ? " if all had memory enough" : "", culprit(links_us),
                    told.empty() ? "" : ": " + listed(told)));
    double queued_us = 0;
    for (const PathShare& kind : explanation_.path_kinds) {
      queued_us += kind.queued_us;
    }
    if (share(queued_us) >= kWorthAWord) {
      say(
          fmt::format("For {} of it, what comes next on the critical path was ready and waited its "
                      "turn in a queue.",
                      whole_percent(queued_us)));
    }
    if (share(explanation_.exposed_us) >= kAnything) {
      say(fmt::format("For {} of it, no device computed while tensors were on their way.",
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
                         bench::without_control_characters(most.name));
    }
    const auto links = std::count_if(explanation_.links.begin(), explanation_.links.end(),
                                     [](const LinkLoad& load) { return load.path_us > 0; });
    return fmt::format(" (over {} links)", links);
  }

  std::string culprit(double links_us) const {
    const std::size_t device = by_path_time(explanation_.devices).front();
    const double overhead_us = of_kind(PathKind::kLaunch).path_us + of_kind(PathKind::kGap).path_us;
    if (share(links_us) >= 0.5) {
      return "transfers";
    }
    if (share(overhead_us) >= 0.5) {
      return "launches and rests";
    }
    if (share(explanation_.devices[device].path_us) >= 0.5) {
      return device_name(device);
    }
    return share(links_us) >= 0.25 ? "several devices and the transfers between them"
                                   : "several devices in turn";
  }

  void write_path() {
    static constexpr std::array<std::string_view, kNumPathKinds> kNames = {
        "ops run", "ops launch", "rests", "latency", "bytes move", "shared links slow them down"};
    std::set<OpId> ops;
    std::set<std::int32_t> transfers;
    for (const PathSegment& segment : explanation_.path) {
      if (segment.link == PathSegment::kNone) {
        ops.insert(segment.op);
      } else {
        transfers.insert(segment.transfer);
      }
    }
    TextTable kinds(
        {{"while"}, {"ms", Align::kRight}, {"%", Align::kRight}, {"queued [ms]", Align::kRight}});
    for (std::size_t kind = 0; kind < kNumPathKinds; ++kind) {
      const PathShare& time = explanation_.path_kinds[kind];
      if (time.path_us > 0) {
        kinds.add_row({std::string(kNames[kind]), milliseconds(time.path_us), percent(time.path_us),
                       milliseconds(time.queued_us)});
      }
    }
    add_table(fmt::format("Critical path ({}, {})", count(ops.size(), "op"),
                          count(transfers.size(), "transfer")),
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
    return size > kMaxRows ? fmt::format(" ({} more not shown)", count(size - kMaxRows, what)) : "";
  }

  void write_devices() {
    TextTable table({{"device"},
                     {"on path [ms]", Align::kRight},
                     {"%", Align::kRight},
                     {"busy [%]", Align::kRight},
                     {"idle for transfers [ms]", Align::kRight},
                     {"memory [%]", Align::kRight}});
    for (std::size_t device = 0; device < explanation_.devices.size(); ++device) {
      const DeviceLoad& load = explanation_.devices[device];
      if (load.ops > 0) {
        const double memory = static_cast<double>(record_.peak_bytes[device]) /
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
                     {"used [%]", Align::kRight},
                     {"transfers", Align::kRight},
                     {"GB", Align::kRight}});
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
        return step_.devices[index(gain.index)].name;
      case Gain::What::kLink:
        return explanation_.links[index(gain.index)].name;
      case Gain::What::kAllLinks:
        return "all transfers";
      case Gain::What::kLaunches:
        return "all launches";
      case Gain::What::kGaps:
        return "all rests";
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
      add_table("What is to be gained at most; less where another path is then the longest", table);
    }
  }

  void write_without_effect() {
    if (explanation_.without_effect.empty()) {
      return;
    }
    say("");
    say("Without effect in this step");
    for (const std::string& sentence : explanation_.without_effect) {
      say("  " + bench::without_control_characters(sentence));
    }
  }

  std::string tensor_name(const Allocation& allocation) const {
    return allocation.output == Allocation::kAllOutputs ||
                   allocation.kind == Allocation::Kind::kWorkspace
               ? op_name(allocation.op)
               : fmt::format("{}:{}", op_name(allocation.op),
                             allocation.output - step_.entry.problem.outputs(allocation.op).first);
  }

  void write_overflow(const MemoryOverflow& overflow) {
    const std::size_t device = index(overflow.device);
    const std::string name = device_name(device);
    say("");
    say(
        fmt::format("The placement does not fit: {} into the step {} needs {} GB more than its "
                    "{} GB.",
                    duration(overflow.at_us), name, gigabytes(overflow.bytes_over),
                    gigabytes(step_.devices[device].capacity_bytes)));
    say(advice(overflow));
    TextTable table({{"tensor"}, {"what"}, {"GB", Align::kRight}, {"since [ms]", Align::kRight}});
    for (const Allocation& allocation : overflow.largest) {
      static constexpr std::array<std::string_view, 3> kNames = {"output", "copy", "workspace"};
      table.add_row({tensor_name(allocation),
                     std::string(kNames[static_cast<std::size_t>(allocation.kind)]),
                     gigabytes(allocation.bytes), milliseconds(allocation.from_us)});
    }
    table.add_row({"other tensors", "", gigabytes(overflow.other_bytes), ""});
    table.add_row({"weights and optimizer slots", "", gigabytes(overflow.persistent_bytes), ""});
    add_table(fmt::format("What {} holds at that moment", name), table);
  }

  // What would have to move, and where there is room.
  std::string advice(const MemoryOverflow& overflow) const {
    const std::size_t device = index(overflow.device);
    const std::int64_t over_at_peak =
        record_.peak_bytes[device] - step_.devices[device].capacity_bytes;
    std::string text = fmt::format("At its peak it needs {} GB more, which must move elsewhere: ",
                                   gigabytes(over_at_peak));
    std::size_t tensors = 0;
    std::int64_t bytes = 0;
    while (tensors < overflow.largest.size() && bytes < over_at_peak) {
      bytes += overflow.largest[tensors++].bytes;
    }
    if (overflow.persistent_bytes > step_.devices[device].capacity_bytes) {
      text += "weights and optimizer slots alone are more than it has";
    } else if (bytes < over_at_peak) {
      text += "more than its largest tensors together";
    } else {
      text += tensors == 1 ? "as much as its largest tensor"
                           : fmt::format("as much as its {} largest tensors", tensors);
    }
    return fmt::format("{}; {}.", text, room_for(over_at_peak));
  }

  // Where there is room for so many bytes, among the devices on which agents may place.
  std::string room_for(std::int64_t bytes) const {
    std::size_t roomiest = 0;
    std::int64_t most = 0;
    std::int64_t all = 0;
    for (const DeviceId device : step_.entry.problem.placeable_devices()) {
      const std::size_t at = index(device);
      const std::int64_t room =
          std::max<std::int64_t>(step_.devices[at].capacity_bytes - record_.peak_bytes[at], 0);
      all += room;
      if (room > most) {
        roomiest = at;
        most = room;
      }
    }
    return most >= bytes
               ? fmt::format("{} has {} GB to spare", device_name(roomiest), gigabytes(most))
           : all >= bytes
               ? fmt::format("the other devices have {} GB to spare together", gigabytes(all))
               : fmt::format(
                     "the other devices have only {} GB to spare together, so the graph "
                     "or its batch must shrink",
                     gigabytes(all));
  }

  const PlacedStep& step_;
  const StepRecord& record_;
  const Explanation& explanation_;
  std::string text_;
};

}  // namespace

std::string to_text(const PlacedStep& step, const StepRecord& record,
                    const Explanation& explanation) {
  return Report(step, record, explanation).write();
}

}  // namespace emplace::cli
