#include "kineto_trace.hpp"

#include "kineto_inputs.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace emplace::pytorch {
namespace {

constexpr double kMaxUs = 1e15;
constexpr double kMaxMoment = 1e18;

enum class Event { kOther, kCall, kLaunch, kKernel, kWait };

// Names of categories before PyTorch 1.13 and since. Builds without Kineto tell none, but say where
// it ran.
Event kind_of(const JsonCursor& event) {
  const auto phase = event.find("ph");
  if (!phase || !phase->is_text() || phase->text() != "X") {
    return Event::kOther;
  }
  const auto category = event.find("cat");
  const auto place = event.find("pid");
  const std::string text = category && category->is_text()          ? category->text()
                           : !category && place && place->is_text() ? place->text()
                                                                    : "";
  const auto is_any_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, text) != names.end();
  };
  if (is_any_of({"cpu_op", "user_annotation", "Operator", "operator", "CPU functions"})) {
    return Event::kCall;
  }
  if (is_any_of({"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"})) {
    return Event::kKernel;
  }
  if (text.ends_with("_runtime") || text.ends_with("_driver") || text == "Runtime") {
    return Event::kLaunch;
  }
  if (text == "cuda_sync") {
    return Event::kWait;
  }
  return Event::kOther;
}

bool is_annotation(const JsonCursor& event) {
  const auto category = event.find("cat");
  return category && category->text() == "user_annotation";
}

// Ids begin at 1; 0 stands where none was given.
std::int64_t find_id(const JsonCursor& event, std::initializer_list<std::string_view> names) {
  const auto id = find_argument(event, names);
  return id && id->is_integer() ? id->integer() : 0;
}

std::int64_t external_id(const JsonCursor& event) {
  return find_id(event, {"External id", "external id"});
}

std::string text_of(const std::optional<JsonCursor>& value) {
  return !value                ? std::string()
         : value->is_integer() ? std::to_string(value->integer())
         : value->is_text()    ? value->text()
                               : std::string();
}

// Numbers threads, streams and devices by first appearance. A process and its thread may have the
// numbers of a device and its stream.
class Threads {
 public:
  std::size_t thread(const JsonCursor& event) {
    return number('t', text_of(event.find("pid")), text_of(event.find("tid")));
  }

  std::size_t device(const JsonCursor& event) {
    return number('d', text_of(event.find("pid")), "");
  }

  // The stream in the argument `name`, or else that of the event, on its device.
  std::size_t stream(const JsonCursor& event, std::string_view name) {
    const auto argument = find_argument(event, {name});
    return number('s', text_of(event.find("pid")),
                  text_of(argument ? argument : event.find("tid")));
  }

 private:
  std::size_t number(char kind, const std::string& outer, const std::string& inner) {
    return numbers_.try_emplace({kind, outer, inner}, numbers_.size()).first->second;
  }

  std::map<std::tuple<char, std::string, std::string>, std::size_t> numbers_;
};

struct Kernel {
  std::string name{};
  std::int64_t external = 0;
  std::int64_t correlation = 0;
  double begin_us = 0;
  double duration_us = 0;
  std::size_t stream = 0;
  std::size_t device = 0;
};

// A call of the runtime or the driver.
struct Launch {
  std::int64_t external = 0;
  std::size_t thread = 0;
  double begin_us = 0;
  bool has_kernel = false;  // it is one that launches a kernel
};

// An event of the category cuda_sync.
struct Wait {
  std::string kind{};
  std::int64_t correlation = 0;
  std::int64_t recorded = 0;  // correlation of the record of the event that is waited for
  double begin_us = 0;
  double end_us = 0;
  std::size_t device = 0;
  std::size_t stream = 0;
  std::size_t awaited = 0;  // stream
};

class KinetoReader {
 public:
  KinetoTrace read(const JsonCursor& list) {
    for (const JsonCursor& event : list.elements()) {
      read_event(event);
    }
    if (trace_.calls.empty() && kernels_.empty()) {
      list.fail("no event is an operator of PyTorch (its 'cat' is 'cpu_op') or a kernel");
    }
    sort_calls();
    nest();
    trace_.has_kernels = !kernels_.empty();
    ids_name_calls_ = ids_name_calls();
    std::vector<Kernel> alone;
    for (Kernel& kernel : kernels_) {
      if (const auto call = call_of(kernel)) {
        trace_.calls[*call].kernel_us += kernel.duration_us;
        trace_.calls[*call].kernels.push_back(launched(kernel));
      } else {
        alone.push_back(std::move(kernel));
      }
    }
    mark_missing_kernels();
    for (const Wait& wait : waits_) {
      trace_.waits.push_back(resolve(wait));
    }
    if (!alone.empty()) {
      for (Kernel& kernel : alone) {
        add_call(std::move(kernel));
      }
      reorder(order_of_begin());
      nest();
    }
    return std::move(trace_);
  }

 private:
  void add_call(Kernel kernel) {
    trace_.calls.push_back({.thread = kernel.stream,
                            .is_kernel = true,
                            .begin_us = kernel.begin_us,
                            .duration_us = kernel.duration_us,
                            .kernel_us = kernel.duration_us,
                            .kernels = {launched(kernel)}});
    TracedNode& node = trace_.nodes.emplace_back();
    node.name = std::move(kernel.name);
    node.is_operator = true;
  }

  void read_event(const JsonCursor& event) {
    const Event kind = kind_of(event);
    if (kind == Event::kOther) {
      return;
    }
    const double begin_us = event.at("ts").number(-kMaxMoment, kMaxMoment);
    const auto duration_us = [&] { return event.at("dur").number(0, kMaxUs); };
    if (kind == Event::kCall) {
      trace_.calls.push_back({.external = external_id(event),
                              .rf_id = find_id(event, {"Record function id"}),
                              .thread = threads_.thread(event),
                              .is_annotation = is_annotation(event),
                              .begin_us = begin_us,
                              .duration_us = duration_us()});
      TracedNode& node = trace_.nodes.emplace_back();
      node.name = event.at("name").text();
      node.is_operator = is_operator_name(node.name) && !trace_.calls.back().is_annotation;
      read_inputs(event, node, trace_.unknown_types);
    } else if (kind == Event::kKernel) {
      kernels_.push_back({.name = event.at("name").text(),
                          .external = external_id(event),
                          .correlation = find_id(event, {"correlation"}),
                          .begin_us = begin_us,
                          .duration_us = duration_us(),
                          .stream = threads_.stream(event, "stream"),
                          .device = threads_.device(event)});
    } else if (kind == Event::kWait) {
      const auto sync = find_argument(event, {"cuda_sync_kind"});
      waits_.push_back({.kind = text_of(sync ? sync : event.find("name")),
                        .correlation = find_id(event, {"correlation"}),
                        .recorded = find_id(event, {"wait_on_cuda_event_record_corr_id"}),
                        .begin_us = begin_us,
                        .end_us = begin_us + duration_us(),
                        .device = threads_.device(event),
                        .stream = threads_.stream(event, "stream"),
                        .awaited = threads_.stream(event, "wait_on_stream")});
    } else if (const std::int64_t correlation = find_id(event, {"correlation"})) {
      const std::string name = text_of(event.find("name"));
      launches_[{correlation, begin_us}] = {
          .external = external_id(event),
          .thread = threads_.thread(event),
          .begin_us = begin_us,
          .has_kernel = name.find("LaunchKernel") != std::string::npos};
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
  }

  double end_of(std::size_t call) const {
    return trace_.calls[call].begin_us + trace_.calls[call].duration_us;
  }

  std::optional<std::size_t> call_of_external(std::int64_t external) const {
    const auto found = by_external_.find(external);
    return external != 0 && found != by_external_.end() ? found->second : std::nullopt;
  }

  // The call of the runtime with that number; of several the last that began before `begin_us`.
  const Launch* launch_of(std::int64_t correlation, double begin_us) const {
    const auto after = launches_.upper_bound({correlation, begin_us});
    if (after != launches_.begin() && std::prev(after)->first.first == correlation) {
      return &std::prev(after)->second;
    }
    // Clocks may differ.
    return after != launches_.end() && after->first.first == correlation ? &after->second : nullptr;
  }

  const Launch* launch_of(const Kernel& kernel) const {
    return launch_of(kernel.correlation, kernel.begin_us);
  }

  LaunchedKernel launched(const Kernel& kernel) const {
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
    for (const Kernel& kernel : kernels_) {
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
  std::optional<std::size_t> call_of(const Kernel& kernel) const {
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
    for (const Kernel& kernel : kernels_) {
      ran.insert(kernel.correlation);
    }
    const bool are_told = std::ranges::any_of(
        launches_, [&](const auto& launch) { return ran.contains(launch.first.first); });
    for (const auto& [number, launch] : launches_) {
      if (are_told && launch.has_kernel && !ran.contains(number.first)) {
        const auto call = call_at(launch);
        if (const auto owner = call ? operators_[*call] : std::nullopt) {
          trace_.calls[*owner].lacks_kernels = true;
        }
      }
    }
  }

  // Moments are those of the runtime's calls where the trace has them.
  StreamWait resolve(const Wait& wait) const {
    const Launch* call = launch_of(wait.correlation, wait.begin_us);
    const Launch* record = launch_of(wait.recorded, wait.begin_us);
    const bool is_of_stream = wait.kind == "Stream Wait Event";
    const bool is_for_event = is_of_stream || wait.kind.starts_with("Event");
    const double called_us = call != nullptr ? call->begin_us : wait.begin_us;
    StreamWait resolved{
        .device = wait.device,
        .recorded_us = is_for_event && record != nullptr ? record->begin_us : called_us,
        .waits_us = called_us};
    if (is_for_event) {
      resolved.awaited = wait.awaited;
    } else if (wait.kind.starts_with("Stream")) {
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

  KinetoTrace trace_;
  Threads threads_;
  std::vector<Kernel> kernels_;
  std::vector<Wait> waits_;
  std::map<std::pair<std::int64_t, double>, Launch> launches_;  // by correlation and begin
  bool ids_name_calls_ = false;
  std::unordered_map<std::int64_t, std::optional<std::size_t>> by_external_;  // calls
  std::map<std::size_t, std::vector<std::size_t>> by_thread_;                 // calls, in order
  std::vector<std::optional<std::size_t>> operators_;  // by call: it, or the one around a scope
};

}  // namespace

KinetoTrace read_kineto(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  return KinetoReader().read(root.is_array() ? root : root.at("traceEvents"));
}

}  // namespace emplace::pytorch
