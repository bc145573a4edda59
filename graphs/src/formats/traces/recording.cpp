#include "recording.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace emplace::pytorch {
namespace {

class KernelLinker {
 public:
  explicit KernelLinker(Recording recording) : recording_(std::move(recording)) {
    trace_.nodes = std::move(recording_.nodes);
    trace_.calls = std::move(recording_.calls);
    trace_.unknown_types = std::move(recording_.unknown_types);
    trace_.has_kernels = !recording_.kernels.empty();
  }

  KinetoTrace link() && {
    sort_calls();
    nest();
    ids_name_calls_ = ids_name_calls();
    std::vector<RecordedKernel> alone;
    for (RecordedKernel& kernel : recording_.kernels) {
      if (const auto call = call_of(kernel)) {
        trace_.calls[*call].kernel_us += kernel.duration_us;
        trace_.calls[*call].kernels.push_back(launched(kernel));
      } else {
        alone.push_back(std::move(kernel));
      }
    }
    mark_missing_kernels();
    for (const RecordedWait& wait : recording_.waits) {
      trace_.waits.push_back(resolve(wait));
    }
    if (!alone.empty()) {
      for (RecordedKernel& kernel : alone) {
        add_call(std::move(kernel));
      }
      reorder(order_of_begin());
      nest();
    }
    return std::move(trace_);
  }

 private:
  void add_call(RecordedKernel kernel) {
    trace_.calls.push_back({.thread = kernel.stream,
                            .is_kernel = true,
                            .begin_us = kernel.begin_us,
                            .duration_us = kernel.duration_us,
                            .kernel_us = kernel.duration_us,
                            .kernels = {launched(kernel)}});
    TracedNode& node = trace_.nodes.emplace_back();
    node.name = std::move(kernel.name);
    node.is_operator = true;
    if (kernel.bytes_read > 0) {
      node.inputs = {{.elements = kernel.bytes_read, .element_bytes = 1}};
    }
    if (kernel.bytes_written > 0) {
      node.outputs = {{.elements = kernel.bytes_written, .element_bytes = 1}};
    }
  }

  std::vector<std::size_t> order_of_begin() const {
    std::vector<std::size_t> order(trace_.calls.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return trace_.calls[i].begin_us; });
    return order;
  }

  // Calls before what they call. Where times are rounded, several begin at once: their ids tell in
  // which order. Without ids the order of the file counts, or, if that is not the order in which
  // they began, the longer one is first.
  void sort_calls() {
    const bool is_sorted = std::ranges::is_sorted(trace_.calls, {}, &TimedCall::begin_us);
    std::vector<std::size_t> order = order_of_begin();
    for (auto begin = order.begin(); begin != order.end();) {
      const double moment = trace_.calls[*begin].begin_us;
      const auto end = std::find_if(
          begin, order.end(), [&](std::size_t i) { return trace_.calls[i].begin_us != moment; });
      const auto id = [&](std::size_t i) { return trace_.calls[i].external; };
      if (std::all_of(begin, end, [&](std::size_t i) { return id(i) != 0; })) {
        std::ranges::stable_sort(begin, end, {}, id);
      } else if (!is_sorted) {
        std::ranges::stable_sort(begin, end, std::greater(),
                                 [&](std::size_t i) { return trace_.calls[i].duration_us; });
      }
      begin = end;
    }
    reorder(order);
  }

  void reorder(const std::vector<std::size_t>& order) {
    if (std::ranges::is_sorted(order)) {
      return;
    }
    std::vector<TimedCall> calls;
    std::vector<TracedNode> nodes;
    for (const std::size_t i : order) {
      calls.push_back(std::move(trace_.calls[i]));
      nodes.push_back(std::move(trace_.nodes[i]));
    }
    trace_.calls = std::move(calls);
    trace_.nodes = std::move(nodes);
  }

  // A call is within the last one on its thread that has not ended. Times may be rounded, so that
  // it may seem to end later than the call around it. Kernels contain nothing, even if they
  // overlap.
  void nest() {
    std::map<std::size_t, std::vector<std::size_t>> open;  // by thread
    by_thread_.clear();
    by_external_.clear();
    operators_.assign(trace_.calls.size(), std::nullopt);
    for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
      TimedCall& call = trace_.calls[i];
      trace_.nodes[i].id = static_cast<std::int64_t>(i) + 1;
      trace_.nodes[i].parent = 0;
      call.parent.reset();
      if (call.is_kernel) {
        continue;
      }
      auto& stack = open[call.thread];
      while (!stack.empty() && end_of(stack.back()) <= call.begin_us) {
        stack.pop_back();
      }
      if (!stack.empty()) {
        call.parent = stack.back();
        trace_.nodes[i].parent = static_cast<std::int64_t>(stack.back()) + 1;
      }
      operators_[i] = !call.is_annotation ? std::optional(i)
                      : call.parent       ? operators_[*call.parent]
                                          : std::nullopt;
      stack.push_back(i);
      by_thread_[call.thread].push_back(i);
      if (call.external != 0) {
        const auto [named, is_new] = by_external_.emplace(call.external, i);
        if (!is_new) {
          named->second.reset();  // of two processes: it tells nothing
        }
      }
    }
    nest_kernels();
  }

  // A kernel without operator is within the annotation around its launch. Where clocks differ so
  // much that it seems to begin before that, it is not: calls stand before what they call.
  void nest_kernels() {
    for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
      if (!trace_.calls[i].is_kernel) {
        continue;
      }
      const LaunchedKernel& kernel = trace_.calls[i].kernels[0];
      const auto scope = kernel.thread
                             ? call_at({.thread = *kernel.thread, .begin_us = kernel.launch_us})
                             : std::nullopt;
      if (scope && *scope < i && !operators_[*scope]) {
        trace_.calls[i].parent = scope;
        trace_.nodes[i].parent = static_cast<std::int64_t>(*scope) + 1;
      }
    }
  }

  double end_of(std::size_t call) const {
    return trace_.calls[call].begin_us + trace_.calls[call].duration_us;
  }

  std::optional<std::size_t> call_of_external(std::int64_t external) const {
    const auto found = by_external_.find(external);
    return external != 0 && found != by_external_.end() ? found->second : std::nullopt;
  }

  const Launch* launch_of(const RecordedKernel& kernel) const {
    return recording_.launch_of(kernel.correlation, kernel.begin_us);
  }

  LaunchedKernel launched(const RecordedKernel& kernel) const {
    LaunchedKernel result{.begin_us = kernel.begin_us,
                          .launch_us = kernel.begin_us,
                          .stream = kernel.stream,
                          .device = kernel.device};
    if (const Launch* launch = launch_of(kernel)) {
      result.launch_us = launch->begin_us;
      result.thread = launch->thread;
    }
    return result;
  }

  // Says whether the "External id" of a kernel is that of an operator: if it agrees with the
  // operators around launches, or, where there are none, if it is not the number of the launch.
  bool ids_name_calls() const {
    std::int64_t agreeing = 0;
    std::int64_t others = 0;
    bool are_numbers = true;
    for (const RecordedKernel& kernel : recording_.kernels) {
      const Launch* launch = launch_of(kernel);
      const std::int64_t id =
          kernel.external != 0 || launch == nullptr ? kernel.external : launch->external;
      const auto named = call_of_external(id);
      are_numbers &= id == 0 || id == kernel.correlation;
      if (named && launch != nullptr && by_thread_.contains(launch->thread)) {
        const TimedCall& call = trace_.calls[*named];
        const bool is_around = call.thread == launch->thread && call.begin_us <= launch->begin_us &&
                               launch->begin_us <= end_of(*named);
        ++(is_around ? agreeing : others);
      }
    }
    return agreeing + others > 0 ? agreeing > others : !are_numbers;
  }

  // The operator or function that launched the kernel.
  std::optional<std::size_t> call_of(const RecordedKernel& kernel) const {
    const Launch* launch = launch_of(kernel);
    std::optional<std::size_t> call;
    if (launch != nullptr && by_thread_.contains(launch->thread)) {
      call = call_at(*launch);
    } else if (ids_name_calls_) {
      call = call_of_external(kernel.external);
      call = call || launch == nullptr ? call : call_of_external(launch->external);
    }
    return call ? operators_[*call] : std::nullopt;
  }

  // The innermost call around the launch: the last one that began before it, or one around that.
  // Where times are rounded, it may also be one that has just ended, if it has the launch's id.
  std::optional<std::size_t> call_at(const Launch& launch) const {
    const auto calls = by_thread_.find(launch.thread);
    if (calls == by_thread_.end()) {
      return std::nullopt;
    }
    if (const auto named = call_of_external(launch.external);
        ids_name_calls_ && named && trace_.calls[*named].thread == launch.thread &&
        end_of(*named) == launch.begin_us) {
      return named;
    }
    const auto after =
        std::ranges::upper_bound(calls->second, launch.begin_us, {},
                                 [&](std::size_t call) { return trace_.calls[call].begin_us; });
    std::optional<std::size_t> call =
        after != calls->second.begin() ? std::optional(*std::prev(after)) : std::nullopt;
    while (call && end_of(*call) < launch.begin_us) {
      call = trace_.calls[*call].parent;
    }
    return call;
  }

  // Marks the calls that launched kernels which the trace lacks: what those took is not known.
  void mark_missing_kernels() {
    std::unordered_set<std::int64_t> ran;
    for (const RecordedKernel& kernel : recording_.kernels) {
      ran.insert(kernel.correlation);
    }
    const bool are_told = std::ranges::any_of(
        recording_.launches, [&](const auto& launch) { return ran.contains(launch.first.first); });
    for (const auto& [number, launch] : recording_.launches) {
      if (are_told && launch.has_kernel && !ran.contains(number.first)) {
        const auto call = call_at(launch);
        if (const auto owner = call ? operators_[*call] : std::nullopt) {
          trace_.calls[*owner].lacks_kernels = true;
        }
      }
    }
  }

  // Moments are those of the runtime's calls where the trace has them.
  StreamWait resolve(const RecordedWait& wait) const {
    const Launch* call = recording_.launch_of(wait.correlation, wait.begin_us);
    const Launch* record = recording_.launch_of(wait.recorded, wait.begin_us);
    const bool is_of_stream = wait.kind == WaitKind::kStreamForEvent;
    const bool is_for_event = is_of_stream || wait.kind == WaitKind::kThreadForEvent;
    const double called_us = call != nullptr ? call->begin_us : wait.begin_us;
    StreamWait resolved{
        .device = wait.device,
        .recorded_us = is_for_event && record != nullptr ? record->begin_us : called_us,
        .waits_us = called_us};
    if (is_for_event) {
      resolved.awaited = wait.awaited;
    } else if (wait.kind == WaitKind::kThreadForStream) {
      resolved.awaited = wait.stream;
    }
    if (is_of_stream) {
      resolved.stream = wait.stream;
    } else if (call != nullptr) {
      resolved.thread = call->thread;
    } else {
      resolved.waits_us = wait.end_us;
    }
    return resolved;
  }

  Recording recording_;
  KinetoTrace trace_;
  bool ids_name_calls_ = false;
  std::unordered_map<std::int64_t, std::optional<std::size_t>> by_external_;  // calls
  std::map<std::size_t, std::vector<std::size_t>> by_thread_;                 // calls, in order
  std::vector<std::optional<std::size_t>> operators_;  // by call: it, or the one around a scope
};

}  // namespace

const Launch* Recording::launch_of(std::int64_t correlation, double begin_us) const {
  const auto after = launches.upper_bound({correlation, begin_us});
  if (after != launches.begin() && std::prev(after)->first.first == correlation) {
    return &std::prev(after)->second;
  }
  // Clocks may differ.
  return after != launches.end() && after->first.first == correlation ? &after->second : nullptr;
}

KinetoTrace link_kernels(Recording recording) { return KernelLinker(std::move(recording)).link(); }

}  // namespace emplace::pytorch
