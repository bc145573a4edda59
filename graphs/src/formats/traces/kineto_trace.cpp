#include "kineto_trace.hpp"

#include "kineto_inputs.hpp"

#include <emplace/base/json_cursor.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>

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

// A process and its thread may have the numbers of a device and its stream.
class Threads {
 public:
  std::size_t thread(const JsonCursor& event) {
    return numbers_.of({'t', text_of(event.find("pid")), text_of(event.find("tid"))});
  }

  std::size_t device(const JsonCursor& event) {
    return numbers_.of({'d', text_of(event.find("pid")), ""});
  }

  // The stream in the argument `name`, or else that of the event, on its device.
  std::size_t stream(const JsonCursor& event, std::string_view name) {
    const auto argument = find_argument(event, {name});
    return numbers_.of(
        {'s', text_of(event.find("pid")), text_of(argument ? argument : event.find("tid"))});
  }

 private:
  Numbers<std::tuple<char, std::string, std::string>> numbers_;
};

WaitKind wait_kind_of(std::string_view kind) {
  return kind == "Stream Wait Event"  ? WaitKind::kStreamForEvent
         : kind.starts_with("Event")  ? WaitKind::kThreadForEvent
         : kind.starts_with("Stream") ? WaitKind::kThreadForStream
                                      : WaitKind::kThreadForDevice;
}

class KinetoEvents {
 public:
  Recording read(const JsonCursor& list) {
    for (const JsonCursor& event : list.elements()) {
      read_event(event);
    }
    if (recording_.calls.empty() && recording_.kernels.empty()) {
      list.fail("no event is an operator of PyTorch (its 'cat' is 'cpu_op') or a kernel");
    }
    return std::move(recording_);
  }

 private:
  void read_event(const JsonCursor& event) {
    const Event kind = kind_of(event);
    if (kind == Event::kOther) {
      return;
    }
    const double begin_us = event.at("ts").number(-kMaxMoment, kMaxMoment);
    const auto duration_us = [&] { return event.at("dur").number(0, kMaxUs); };
    if (kind == Event::kCall) {
      recording_.calls.push_back({.external = external_id(event),
                                  .rf_id = find_id(event, {"Record function id"}),
                                  .thread = threads_.thread(event),
                                  .is_annotation = is_annotation(event),
                                  .begin_us = begin_us,
                                  .duration_us = duration_us()});
      TracedNode& node = recording_.nodes.emplace_back();
      node.name = event.at("name").text();
      node.is_operator = is_operator_name(node.name) && !recording_.calls.back().is_annotation;
      read_inputs(event, node, recording_.unknown_types);
    } else if (kind == Event::kKernel) {
      recording_.kernels.push_back({.name = event.at("name").text(),
                                    .external = external_id(event),
                                    .correlation = find_id(event, {"correlation"}),
                                    .begin_us = begin_us,
                                    .duration_us = duration_us(),
                                    .stream = threads_.stream(event, "stream"),
                                    .device = threads_.device(event)});
    } else if (kind == Event::kWait) {
      const auto sync = find_argument(event, {"cuda_sync_kind"});
      recording_.waits.push_back({.kind = wait_kind_of(text_of(sync ? sync : event.find("name"))),
                                  .correlation = find_id(event, {"correlation"}),
                                  .recorded = find_id(event, {"wait_on_cuda_event_record_corr_id"}),
                                  .begin_us = begin_us,
                                  .end_us = begin_us + duration_us(),
                                  .device = threads_.device(event),
                                  .stream = threads_.stream(event, "stream"),
                                  .awaited = threads_.stream(event, "wait_on_stream")});
    } else if (const std::int64_t correlation = find_id(event, {"correlation"})) {
      const std::string name = text_of(event.find("name"));
      recording_.launches[{correlation, begin_us}] = {
          .external = external_id(event),
          .thread = threads_.thread(event),
          .begin_us = begin_us,
          .has_kernel = name.find("LaunchKernel") != std::string::npos};
    }
  }

  Recording recording_;
  Threads threads_;
};

}  // namespace

KinetoTrace read_kineto(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  return link_kernels(KinetoEvents().read(root.is_array() ? root : root.at("traceEvents")));
}

}  // namespace emplace::pytorch
