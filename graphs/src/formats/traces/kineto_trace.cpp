#include "kineto_trace.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <map>
#include <numeric>
#include <unordered_map>

namespace emplace::pytorch {
namespace {

constexpr double kMaxUs = 1e15;
constexpr double kMaxMoment = 1e18;

enum class Event { kOther, kCall, kLaunch, kKernel };

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
  return Event::kOther;
}

bool is_annotation(const JsonCursor& event) {
  const auto category = event.find("cat");
  return category && category->text() == "user_annotation";
}

std::optional<JsonCursor> find_argument(const JsonCursor& event,
                                        std::initializer_list<std::string_view> names) {
  const auto arguments = event.find("args");
  if (arguments && arguments->is_object()) {
    for (const std::string_view name : names) {
      if (auto found = arguments->find(name)) {
        return found;
      }
    }
  }
  return std::nullopt;
}

// Ids begin at 1; 0 stands where none was given.
std::int64_t find_id(const JsonCursor& event, std::initializer_list<std::string_view> names) {
  const auto id = find_argument(event, names);
  return id && id->is_integer() ? id->integer() : 0;
}

std::int64_t external_id(const JsonCursor& event) {
  return find_id(event, {"External id", "external id"});
}

// Numbers process and thread, or device and stream, by first appearance.
class Threads {
 public:
  std::size_t operator()(const JsonCursor& event) {
    const auto name = [&](std::string_view key) {
      const auto value = event.find(key);
      return !value                ? std::string()
             : value->is_integer() ? std::to_string(value->integer())
             : value->is_text()    ? value->text()
                                   : std::string();
    };
    return numbers_.try_emplace({name("pid"), name("tid")}, numbers_.size()).first->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
};

// Compilers call a type differently: "short", "short int".
std::optional<std::int64_t> bytes_of_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 24> kBytes = {
      {{"bool", 1},
       {"c10::BFloat16", 2},
       {"c10::Float8_e4m3fn", 1},
       {"c10::Float8_e4m3fnuz", 1},
       {"c10::Float8_e5m2", 1},
       {"c10::Float8_e5m2fnuz", 1},
       {"c10::Float8_e8m0fnu", 1},
       {"c10::Half", 2},
       {"c10::complex<double>", 16},
       {"c10::complex<float>", 8},
       {"c10::qint32", 4},
       {"c10::qint8", 1},
       {"c10::quint8", 1},
       {"double", 8},
       {"float", 4},
       {"int", 4},
       {"long", 8},
       {"long int", 8},
       {"short", 2},
       {"short int", 2},
       {"signed char", 1},
       {"unsigned char", 1},
       {"unsigned int", 4},
       {"unsigned short", 2}}};
  const auto* found =
      std::ranges::find(kBytes, type, &std::pair<std::string_view, std::int64_t>::first);
  return found != kBytes.end() ? std::optional(found->second) : std::nullopt;
}

// Adds a tensor, or those of a list.
void read_dimensions(const JsonCursor& dimensions, std::int64_t element_bytes, std::size_t argument,
                     std::vector<TensorUse>& tensors) {
  const std::vector<JsonCursor> extents = dimensions.elements();
  if (extents.empty()) {
    return;
  }
  if (extents[0].is_array()) {
    for (const JsonCursor& tensor : extents) {
      read_dimensions(tensor, element_bytes, argument, tensors);
    }
    return;
  }
  TensorUse tensor{.elements = 1, .element_bytes = element_bytes, .argument = argument};
  for (const JsonCursor& extent : extents) {
    tensor.shape.push_back(extent.integer(0));
    if (__builtin_mul_overflow(tensor.elements, tensor.shape.back(), &tensor.elements)) {
      dimensions.fail("the size of the tensor does not fit 64 bits");
    }
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.elements, element_bytes, &bytes)) {
    dimensions.fail("the size of the tensor does not fit 64 bits");
  }
  tensors.push_back(std::move(tensor));
}

// Reads "[2, 2]"; nothing if the text is anything else.
std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('[') || !text.ends_with(']')) {
    return std::nullopt;
  }
  std::vector<std::int64_t> integers;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  while (at != end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) {
      return std::nullopt;
    }
    integers.push_back(value);
    at = next;
    while (at != end && (*at == ',' || *at == ' ')) {
      ++at;
    }
  }
  return integers;
}

// Lists of integers are settings; "True" and "False" are switches, also those of a list.
void read_concrete_input(std::string_view text, TracedNode& node) {
  if (text == "True" || text == "False") {
    node.switches.push_back(text == "True");
  } else if (auto integers = parse_integers(text)) {
    node.settings.push_back(std::move(*integers));
  } else if (text.starts_with("[True") || text.starts_with("[False")) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == 'T' || text[at] == 'F') {
        node.switches.push_back(text[at] == 'T');
      }
    }
  }
}

void read_inputs(const JsonCursor& event, TracedNode& node,
                 std::map<std::string, int>& unknown_types) {
  if (const auto dimensions = find_argument(event, {"Input Dims", "Input dims"})) {
    const auto listed = find_argument(event, {"Input type"});
    const auto types = listed ? listed->elements() : std::vector<JsonCursor>();
    const auto inputs = dimensions->elements();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string type = i < types.size() && types[i].is_text() ? types[i].text() : "";
      const auto bytes = bytes_of_type(type);
      const std::size_t before = node.inputs.size();
      read_dimensions(inputs[i], bytes.value_or(kUnknownTypeBytes), i, node.inputs);
      if (!bytes && !type.empty() && node.inputs.size() > before) {
        ++unknown_types[type];
      }
    }
  }
  if (const auto concrete = find_argument(event, {"Concrete Inputs"})) {
    for (const JsonCursor& input : concrete->elements()) {
      if (input.is_text()) {
        read_concrete_input(input.text(), node);
      }
    }
  }
}

struct Kernel {
  std::string name{};
  std::int64_t external = 0;
  std::int64_t correlation = 0;
  double begin_us = 0;
  double duration_us = 0;
  std::size_t stream = 0;
};

struct Launch {
  std::int64_t external = 0;
  std::size_t thread = 0;
  double begin_us = 0;
};

class KinetoReader {
 public:
  KinetoTrace read(const JsonCursor& list) {
    for (const JsonCursor& event : list.elements()) {
      read_event(event);
    }
    if (trace_.calls.empty()) {
      list.fail("no event is an operator of PyTorch (its 'cat' is 'cpu_op')");
    }
    sort_calls();
    nest();
    trace_.has_kernels = !kernels_.empty();
    std::vector<Kernel> alone;
    for (Kernel& kernel : kernels_) {
      if (const auto call = call_of(kernel); call && !trace_.calls[*call].is_annotation) {
        trace_.calls[*call].kernel_us += kernel.duration_us;
        trace_.calls[*call].launches.emplace_back(kernel.begin_us, kernel.stream);
      } else {
        alone.push_back(std::move(kernel));
      }
    }
    if (!alone.empty()) {
      for (Kernel& kernel : alone) {
        add_call(std::move(kernel));
      }
      sort_calls();
      nest();
    }
    return std::move(trace_);
  }

 private:
  void add_call(Kernel kernel) {
    trace_.calls.push_back({.thread = kernel.stream,
                            .begin_us = kernel.begin_us,
                            .duration_us = kernel.duration_us,
                            .kernel_us = kernel.duration_us,
                            .launches = {{kernel.begin_us, kernel.stream}}});
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
                              .thread = threads_(event),
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
                          .stream = threads_(event)});
    } else if (const std::int64_t correlation = find_id(event, {"correlation"})) {
      launches_[correlation] = {
          .external = external_id(event), .thread = threads_(event), .begin_us = begin_us};
    }
  }

  // Calls before what they call. Where times are rounded, several begin at once: then the order of
  // the file counts, or, if that is not the order in which they began, the longer one is first.
  void sort_calls() {
    if (std::ranges::is_sorted(trace_.calls, {}, &TimedCall::begin_us)) {
      return;
    }
    std::vector<std::size_t> order(trace_.calls.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      const TimedCall& x = trace_.calls[a];
      const TimedCall& y = trace_.calls[b];
      return x.begin_us != y.begin_us ? x.begin_us < y.begin_us : x.duration_us > y.duration_us;
    });
    KinetoTrace sorted{.has_kernels = trace_.has_kernels,
                       .unknown_types = std::move(trace_.unknown_types)};
    for (const std::size_t i : order) {
      sorted.calls.push_back(std::move(trace_.calls[i]));
      sorted.nodes.push_back(std::move(trace_.nodes[i]));
    }
    trace_ = std::move(sorted);
  }

  // A call is within the last one on its thread that has not ended. Times may be rounded, so that
  // it may seem to end later than the call around it.
  void nest() {
    std::map<std::size_t, std::vector<std::size_t>> open;  // by thread
    by_thread_.clear();
    by_external_.clear();
    for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
      TimedCall& call = trace_.calls[i];
      auto& stack = open[call.thread];
      while (!stack.empty() && end_of(stack.back()) <= call.begin_us) {
        stack.pop_back();
      }
      trace_.nodes[i].id = static_cast<std::int64_t>(i) + 1;
      trace_.nodes[i].parent = 0;
      call.parent.reset();
      if (!stack.empty()) {
        call.parent = stack.back();
        trace_.nodes[i].parent = static_cast<std::int64_t>(stack.back()) + 1;
      }
      stack.push_back(i);
      by_thread_[call.thread].push_back(i);
      if (call.external != 0) {
        by_external_[call.external] = i;
      }
    }
  }

  double end_of(std::size_t call) const {
    return trace_.calls[call].begin_us + trace_.calls[call].duration_us;
  }

  std::optional<std::size_t> call_of_external(std::int64_t external) const {
    const auto found = by_external_.find(external);
    return external != 0 && found != by_external_.end() ? std::optional(found->second)
                                                        : std::nullopt;
  }

  std::optional<std::size_t> call_of(const Kernel& kernel) const {
    if (const auto call = call_of_external(kernel.external)) {
      return call;
    }
    const auto launch = launches_.find(kernel.correlation);
    if (kernel.correlation == 0 || launch == launches_.end()) {
      return std::nullopt;
    }
    if (const auto call = call_of_external(launch->second.external)) {
      return call;
    }
    return call_at(launch->second);
  }

  // The innermost call around the launch: the last one that began before it, or one around that.
  std::optional<std::size_t> call_at(const Launch& launch) const {
    const auto calls = by_thread_.find(launch.thread);
    if (calls == by_thread_.end()) {
      return std::nullopt;
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

  KinetoTrace trace_;
  Threads threads_;
  std::vector<Kernel> kernels_;
  std::unordered_map<std::int64_t, Launch> launches_;          // by correlation
  std::unordered_map<std::int64_t, std::size_t> by_external_;  // calls
  std::map<std::size_t, std::vector<std::size_t>> by_thread_;  // calls, in order
};

using Links = std::vector<std::optional<std::size_t>>;

// Matches ids of nodes with those of calls that `id_of` returns. Counts the pairs in `pairs`, and
// those of different names in `strangers`.
template <class IdOf>
Links link_by_id(std::span<const TracedNode> nodes, const KinetoTrace& trace, IdOf id_of,
                 std::size_t& pairs, std::size_t& strangers) {
  std::unordered_map<std::int64_t, std::size_t> calls;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    if (const std::int64_t id = id_of(trace.calls[i]); id != 0) {
      calls[id] = i;
    }
  }
  Links links(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto call = calls.find(nodes[i].rf_id); call != calls.end() && nodes[i].is_operator) {
      links[i] = call->second;
      ++pairs;
      strangers += trace.nodes[call->second].name != nodes[i].name ? 1 : 0;
    }
  }
  return links;
}

// Finds the names of all operators, in their order, in those of the calls: Knuth, Morris and Pratt,
// "Fast pattern matching in strings", 1977.
Links link_by_sequence(std::span<const TracedNode> nodes, const KinetoTrace& trace, bool& found) {
  // Not those that call themselves again, of which some traces tell the outer one only.
  const auto operators_of = [](std::span<const TracedNode> list) {
    std::vector<std::size_t> positions;
    std::unordered_map<std::int64_t, std::size_t> position_of;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto caller = position_of.find(list[i].parent);
      const bool is_again =
          caller != position_of.end() && list[caller->second].name == list[i].name;
      if (list[i].name.starts_with("aten::") && !is_again) {
        positions.push_back(i);
      }
      position_of[list[i].id] = i;
    }
    return positions;
  };
  const std::vector<std::size_t> pattern = operators_of(nodes);
  const std::vector<std::size_t> text = operators_of(trace.nodes);
  Links links(nodes.size());
  std::vector<std::size_t> border(pattern.size(), 0);
  for (std::size_t i = 1, length = 0; i < pattern.size();) {
    if (nodes[pattern[i]].name == nodes[pattern[length]].name) {
      border[i++] = ++length;
    } else if (length > 0) {
      length = border[length - 1];
    } else {
      ++i;
    }
  }
  std::size_t matched = 0;
  for (std::size_t i = 0; i < text.size() && matched < pattern.size(); ++i) {
    while (matched > 0 && trace.nodes[text[i]].name != nodes[pattern[matched]].name) {
      matched = border[matched - 1];
    }
    matched += trace.nodes[text[i]].name == nodes[pattern[matched]].name ? 1 : 0;
    if (matched == pattern.size()) {
      for (std::size_t k = 0; k < pattern.size(); ++k) {
        links[pattern[k]] = text[i + 1 - pattern.size() + k];
      }
      found = true;
    }
  }
  return links;
}

}  // namespace

KinetoTrace read_kineto(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  return KinetoReader().read(root.is_array() ? root : root.at("traceEvents"));
}

Links link_calls(std::span<const TracedNode> nodes, const KinetoTrace& trace,
                 const std::string& source) {
  std::size_t pairs = 0;
  std::size_t strangers = 0;
  Links links = link_by_id(
      nodes, trace, [](const TimedCall& call) { return call.rf_id; }, pairs, strangers);
  if (pairs > 0) {
    return links;
  }
  links = link_by_id(
      nodes, trace, [](const TimedCall& call) { return call.external; }, pairs, strangers);
  if (pairs > 0 && strangers == 0) {
    return links;
  }
  bool found = false;
  links = link_by_sequence(nodes, trace, found);
  if (found) {
    return links;
  }
  throw Error(
      ErrorCode::kFormat,
      fmt::format("{}: /traceEvents: no cpu_op has a 'Record function id' of the execution "
                  "trace, none an 'External id' that names the same operator, and no run of "
                  "them has the names of its operators; record both traces of one run",
                  source));
}

}  // namespace emplace::pytorch
