// A profile of NVIDIA's Nsight Systems, exported to SQLite (`nsys export --type sqlite`): kernels,
// copies and memsets with their times, and what streams and threads waited for. NVTX ranges that
// threads push and pop are scopes of what is launched within them.
//
// Tables and columns are those of schema 3.16 (Nsight Systems 2024.6), and of 2021.5 where that has
// fewer. Tables exist only where something was recorded.

#include "recording.hpp"
#include "sqlite_tables.hpp"
#include "trace_graph.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emplace::nsight {
namespace {

using pytorch::RecordedKernel;
using pytorch::WaitKind;

constexpr std::int64_t kPushPopRange = 59;
constexpr std::int64_t kStartEndRange = 60;

// By copyKind: host, device, array and peer.
constexpr std::array<std::string_view, 14> kCopies = {
    "Memcpy",      "Memcpy HtoD",  "Memcpy DtoH",  "Memcpy HtoA", "Memcpy AtoH",
    "Memcpy AtoA", "Memcpy AtoD",  "Memcpy DtoA",  "Memcpy DtoD", "Memcpy HtoH",
    "Memcpy PtoP", "Unified HtoD", "Unified DtoH", "Unified DtoD"};

// A range of NVTX.
struct Range {
  std::string name{};
  std::int64_t process = 0;
  std::int64_t thread = 0;
  bool is_nested = false;  // by push and pop, on its thread
  double begin_us = 0;
  double end_us = 0;
};

// The record of an event on a stream.
struct EventRecord {
  double begin_us = 0;
  std::int64_t correlation = 0;
  std::size_t stream = 0;
  std::size_t device = 0;
};

// The lowest 24 bits of an id are the thread.
std::int64_t process_of(std::int64_t id) {
  constexpr std::uint64_t kThread = 0xFFFFFF;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(id) & ~kThread);
}

class NsightReader {
 public:
  NsightReader(std::string_view bytes, const std::string& source, const Params& params)
      : tables_(bytes, source),
        source_(source),
        range_(params.get<std::string>("range")),
        iteration_(params.get<std::int64_t>("iteration")) {
    if (range_.empty() && iteration_ != 0) {
      throw Error(ErrorCode::kUsage, fmt::format("{}: iteration needs range=NAME", source));
    }
  }

  pytorch::Recording read() {
    tables_.read_rows("StringIds", [&](const Row& row) {
      strings_[row.integer("id", kLeast)] = row.find_text("value").value_or("");
    });
    read_ranges();
    tables_.read_rows("CUPTI_ACTIVITY_KIND_RUNTIME", [&](const Row& row) { read_launch(row); });
    read_kernels();
    tables_.read_rows("CUPTI_ACTIVITY_KIND_CUDA_EVENT", [&](const Row& row) { read_event(row); });
    for (auto& [event, records] : records_) {
      std::ranges::stable_sort(records, {}, &EventRecord::begin_us);
    }
    tables_.read_rows("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                      [&](const Row& row) { read_wait(row); });
    return std::move(recording_);
  }

  std::string description() const {
    std::set<std::string> gpus;
    tables_.read_rows("TARGET_INFO_GPU", [&](const Row& row) {
      gpus.insert(row.find_text("name").value_or("an unknown GPU"));
    });
    return fmt::format("Nsight Systems profile{}{}", gpus.empty() ? "" : " of ",
                       fmt::join(gpus, ", "));
  }

 private:
  static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

  // In microseconds since the first moment that was read, as whole nanoseconds may have too many
  // digits.
  double moment_of(std::int64_t ns) {
    first_ns_ = first_ns_.value_or(ns);
    return static_cast<double>(ns - *first_ns_) / 1000;
  }

  double begin_of(const Row& row) { return moment_of(row.integer("start", 0)); }

  static double duration_of(const Row& row) {
    const std::int64_t start = row.integer("start", 0);
    const std::int64_t end = row.integer("end", 0);
    if (end < start) {
      row.fail(fmt::format("it ends at {}, before it starts at {}", end, start));
    }
    return static_cast<double>(end - start) / 1000;
  }

  std::string string_of(const Row& row, std::string_view column) const {
    const std::int64_t id = row.integer(column, kLeast);
    const auto found = strings_.find(id);
    if (found == strings_.end()) {
      row.fail(fmt::format("expected an id of StringIds in column '{}', found {}", column, id));
    }
    return found->second;
  }

  // Numbers of launches count within a process.
  std::int64_t correlation_of(const Row& row, std::int64_t process) {
    const std::int64_t id = row.find_integer("correlationId").value_or(0);
    return id == 0 ? 0 : static_cast<std::int64_t>(correlations_.of({process, id})) + 1;
  }

  static std::int64_t process_of_activity(const Row& row) {
    return process_of(row.find_integer("globalPid").value_or(0));
  }

  std::size_t thread_of(std::int64_t thread) { return places_.of({'t', thread, 0, 0}); }

  std::size_t gpu_of(const Row& row) {
    return places_.of({'d', process_of_activity(row), row.integer("deviceId", kLeast), 0});
  }

  std::size_t stream_of(const Row& row) {
    return places_.of({'s', process_of_activity(row), row.integer("deviceId", kLeast),
                       row.integer("streamId", kLeast)});
  }

  void read_ranges() {
    std::vector<Range> ranges;
    tables_.read_rows("NVTX_EVENTS", [&](const Row& row) {
      const std::int64_t type = row.integer("eventType", kLeast);
      if (type == kPushPopRange || type == kStartEndRange) {
        ranges.push_back(read_range(row, type == kPushPopRange));
      }
    });
    // Longer ones first, as they contain the others.
    std::ranges::stable_sort(
        ranges, {}, [](const Range& range) { return std::pair(range.begin_us, -range.end_us); });
    if (!range_.empty()) {
      choose_windows(ranges);
    }
    for (Range& range : ranges) {
      if (range.is_nested && !range.name.empty() && !is_around_window(range)) {
        recording_.calls.push_back({.thread = thread_of(range.thread),
                                    .is_annotation = true,
                                    .begin_us = range.begin_us,
                                    .duration_us = range.end_us - range.begin_us});
        recording_.nodes.emplace_back().name = std::move(range.name);
      }
    }
  }

  // A range that was open when the recording ended has no end: NULL, or 0 in earlier versions.
  Range read_range(const Row& row, bool is_nested) {
    const std::int64_t thread = row.find_integer("globalTid").value_or(0);
    const bool is_open = row.find_integer("end").value_or(0) == 0;
    std::optional<std::string> name = row.find_text("text");
    if (!name && row.find_integer("textId")) {
      name = string_of(row, "textId");
    }
    Range range{.name = name.value_or(""),
                .process = process_of(thread),
                .thread = thread,
                .is_nested = is_nested,
                .begin_us = begin_of(row)};
    range.end_us =
        is_open ? std::numeric_limits<double>::infinity() : range.begin_us + duration_of(row);
    return range;
  }

  // In each process the iteration counts anew.
  void choose_windows(const std::vector<Range>& ranges) {
    std::map<std::int64_t, std::vector<std::pair<double, double>>> found;  // by process
    std::set<std::string> names;
    for (const Range& range : ranges) {
      names.insert(range.name);
      if (range.name == range_) {
        found[range.process].emplace_back(range.begin_us, range.end_us);
      }
    }
    std::size_t most = 0;
    for (const auto& [process, windows] : found) {
      most = std::max(most, windows.size());
      if (const auto number = static_cast<std::size_t>(iteration_); number <= windows.size()) {
        windows_[process] = number == 0 ? windows.back() : windows[number - 1];
      }
    }
    if (found.empty()) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{}: no NVTX range is called '{}'{}", source_, excerpt(range_),
                              suggest_names(range_, std::vector(names.begin(), names.end()))));
    }
    if (windows_.empty()) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{}: iteration is {}, but the range '{}' was recorded {} times",
                              source_, iteration_, excerpt(range_), most));
    }
  }

  // Such a range, or the window itself, is the same for all, and no part of the model.
  bool is_around_window(const Range& range) const {
    const auto window = windows_.find(range.process);
    return window != windows_.end() && range.begin_us <= window->second.first &&
           range.end_us >= window->second.second;
  }

  bool is_chosen(std::int64_t process, double moment_us) const {
    if (range_.empty()) {
      return true;
    }
    const auto window = windows_.find(process);
    return window != windows_.end() && window->second.first <= moment_us &&
           moment_us <= window->second.second;
  }

  void read_launch(const Row& row) {
    const std::int64_t thread = row.find_integer("globalTid").value_or(0);
    const std::int64_t correlation = correlation_of(row, process_of(thread));
    if (correlation != 0) {
      const double begin_us = begin_of(row);
      recording_.launches[{correlation, begin_us}] = {.thread = thread_of(thread),
                                                      .begin_us = begin_us};
    }
  }

  void read_kernels() {
    tables_.read_rows("CUPTI_ACTIVITY_KIND_KERNEL",
                      [&](const Row& row) { add_kernel(row, string_of(row, "shortName")); });
    tables_.read_rows("CUPTI_ACTIVITY_KIND_MEMCPY", [&](const Row& row) {
      const auto kind = static_cast<std::size_t>(row.integer("copyKind", 0));
      const std::int64_t bytes = row.integer("bytes", 0);
      add_kernel(row, std::string(kCopies[kind < kCopies.size() ? kind : 0]), bytes, bytes);
    });
    tables_.read_rows("CUPTI_ACTIVITY_KIND_MEMSET", [&](const Row& row) {
      add_kernel(row, "Memset", 0, row.integer("bytes", 0));
    });
    // What --cuda-graph-trace=graph records of a graph of kernels.
    tables_.read_rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                      [&](const Row& row) { add_kernel(row, "CUDA graph"); });
    if (recording_.kernels.empty()) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("{}: expected kernels, copies or memsets of Nsight Systems in the "
                              "tables CUPTI_ACTIVITY_KIND_*{}; record them: nsys profile "
                              "--trace=cuda,nvtx",
                              source_,
                              range_.empty() ? ""
                                             : fmt::format(" that were launched in the range '{}'",
                                                           excerpt(range_))));
    }
  }

  void add_kernel(const Row& row, std::string name, std::int64_t bytes_read = 0,
                  std::int64_t bytes_written = 0) {
    const std::int64_t process = process_of_activity(row);
    RecordedKernel kernel{.name = std::move(name),
                          .correlation = correlation_of(row, process),
                          .begin_us = begin_of(row),
                          .duration_us = duration_of(row),
                          .stream = stream_of(row),
                          .device = gpu_of(row),
                          .bytes_read = bytes_read,
                          .bytes_written = bytes_written};
    const pytorch::Launch* launch = recording_.launch_of(kernel.correlation, kernel.begin_us);
    if (is_chosen(process, launch != nullptr ? launch->begin_us : kernel.begin_us)) {
      recording_.kernels.push_back(std::move(kernel));
    }
  }

  // The record of an event has no time of its own.
  void read_event(const Row& row) {
    const std::int64_t process = process_of_activity(row);
    const std::int64_t correlation = correlation_of(row, process);
    const pytorch::Launch* call = recording_.launch_of(correlation, 0);
    if (call != nullptr) {
      records_[{process, row.integer("eventId", kLeast)}].push_back({.begin_us = call->begin_us,
                                                                     .correlation = correlation,
                                                                     .stream = stream_of(row),
                                                                     .device = gpu_of(row)});
    }
  }

  void read_wait(const Row& row) {
    constexpr std::array kKinds = {WaitKind::kThreadForEvent, WaitKind::kStreamForEvent,
                                   WaitKind::kThreadForStream, WaitKind::kThreadForDevice};
    const auto type = static_cast<std::size_t>(row.integer("syncType", 0));
    if (type == 0 || type > kKinds.size()) {
      return;
    }
    const std::int64_t process = process_of_activity(row);
    pytorch::RecordedWait wait{.kind = kKinds[type - 1],
                               .correlation = correlation_of(row, process),
                               .begin_us = begin_of(row),
                               .device = gpu_of(row),
                               .stream = stream_of(row)};
    wait.end_us = wait.begin_us + duration_of(row);
    if (wait.kind == WaitKind::kThreadForEvent || wait.kind == WaitKind::kStreamForEvent) {
      const EventRecord* record = record_of(row, wait);
      if (record == nullptr) {
        return;
      }
      wait.recorded = record->correlation;
      wait.awaited = record->stream;
      wait.device = record->device;
    }
    recording_.waits.push_back(wait);
  }

  // CUDA waits for the last record before the wait; an event that was not recorded is no wait.
  const EventRecord* record_of(const Row& row, const pytorch::RecordedWait& wait) const {
    const auto records = records_.find({process_of_activity(row), row.integer("eventId", kLeast)});
    if (records == records_.end()) {
      return nullptr;
    }
    const pytorch::Launch* call = recording_.launch_of(wait.correlation, wait.begin_us);
    const double moment_us = call != nullptr ? call->begin_us : wait.begin_us;
    const auto after =
        std::ranges::upper_bound(records->second, moment_us, {}, &EventRecord::begin_us);
    return after != records->second.begin() ? &*std::prev(after) : nullptr;
  }

  SqliteTables tables_;
  std::string source_;
  std::string range_;
  std::int64_t iteration_;
  std::optional<std::int64_t> first_ns_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<std::int64_t, std::pair<double, double>> windows_;  // by process
  pytorch::Numbers<std::pair<std::int64_t, std::int64_t>> correlations_;
  pytorch::Numbers<std::tuple<char, std::int64_t, std::int64_t, std::int64_t>> places_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<EventRecord>> records_;  // by event
  pytorch::Recording recording_;
};

OpGraph read(std::string_view bytes, const std::string& source, const Params& params) {
  NsightReader reader(bytes, source, params);
  OpGraph graph =
      pytorch::graph_of_trace(pytorch::link_kernels(reader.read()), source,
                              params.get<std::string>("device-class"), pytorch::Level::kOutermost);
  graph[boost::graph_bundle].source = reader.description();
  return graph;
}

constexpr std::int64_t kMaxIteration = 1'000'000'000;

const FormatRegistration kRegistration({
    .name = "nsight-systems",
    .summary = "profiles of Nsight Systems in SQLite: kernels, copies, NVTX ranges",
    .reference = "https://docs.nvidia.com/nsight-systems/UserGuide",
    .read_parameters = {{.name = "device-class",
                         .default_value = std::string("nsight-systems"),
                         .summary = "device class of the times"},
                        {.name = "range",
                         .default_value = std::string(),
                         .summary = "NVTX range of a step: only what is launched within it"},
                        whole_number("iteration", 0, 0, kMaxIteration,
                                     "which of the ranges called so, from 1 (0: the last)")},
    .recognizes = [](const FileContent& file) { return is_sqlite(file.bytes); },
    .read = read,
});

}  // namespace
}  // namespace emplace::nsight
