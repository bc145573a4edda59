#include "exec/messages.hpp"

#include <emplace/agents/exec_protocol.hpp>
#include <emplace/agents/placeable.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace emplace::agents {
namespace {

using Received = nlohmann::json;

[[noreturn]] void refuse(std::string_view what, std::string_view line) {
  throw Error(ErrorCode::kFormat, fmt::format("the program sent {}: {}", what, excerpt(line, 100)));
}

// Returns the object that the line is.
Received parse_object(std::string_view line) {
  Received json = Received::parse(line, nullptr, false);
  if (!json.is_object()) {
    refuse("a line that is not a JSON object", line);
  }
  return json;
}

// Values of the letters of base64 (RFC 4648); -1 of all other bytes.
constexpr std::array<std::int8_t, 256> base64_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    values[static_cast<unsigned char>(kLetters[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

// Returns the bytes that a text in base64 stands for, or nothing if it is none.
std::optional<std::vector<DeviceId>> bytes_of_base64(std::string_view text) {
  static constexpr std::array<std::int8_t, 256> kValues = base64_values();
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) {
    text.remove_suffix(1);
  }
  std::vector<DeviceId> bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int num_bits = 0;
  for (const char letter : text) {
    const std::int8_t value = kValues[static_cast<unsigned char>(letter)];
    if (value < 0) {
      return std::nullopt;
    }
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    num_bits += 6;
    if (num_bits >= 8) {
      num_bits -= 8;
      bytes.push_back(static_cast<DeviceId>((bits >> num_bits) & 0xff));
    }
  }
  return bytes;
}

// Returns the numbers of an array or of a text in base64, with -1 for what is no number of a
// device.
std::optional<std::vector<DeviceId>> devices_of(const Received& json) {
  if (json.is_string()) {
    return bytes_of_base64(json.get_ref<const std::string&>());
  }
  if (!json.is_array()) {
    return std::nullopt;
  }
  std::vector<DeviceId> devices;
  devices.reserve(json.size());
  for (const Received& device : json) {
    constexpr std::uint64_t kMost = 1U << 30U;
    devices.push_back(device.is_number_unsigned() && device.get<std::uint64_t>() < kMost
                          ? DeviceId(device.get<std::int32_t>())
                          : DeviceId(-1));
  }
  return devices;
}

// `what` names the placement in errors.
Placement read_placement(const Received& json, const Problem& problem, const std::string& what) {
  std::optional<std::vector<DeviceId>> devices = devices_of(json);
  if (!devices) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("the program sent {} that is neither an array of devices nor their "
                    "bytes in base64: {}",
                    what, excerpt(json.dump(-1, ' ', false, Received::error_handler_t::replace))));
  }
  if (devices->size() != static_cast<std::size_t>(problem.num_groups())) {
    throw Error(ErrorCode::kFormat, fmt::format("the program sent {} of {} groups; expected {}",
                                                what, devices->size(), problem.num_groups()));
  }
  const auto wrong = std::ranges::find_if(
      *devices, [&](DeviceId device) { return device < 0 || device >= problem.num_devices(); });
  if (wrong != devices->end()) {
    const auto group = static_cast<std::size_t>(wrong - devices->begin());
    const std::string found = json.is_array() ? json[group].dump() : std::to_string(*wrong);
    throw Error(ErrorCode::kFormat,
                fmt::format("the program sent {} with group {} on device {}; expected a whole "
                            "number from 0 to {}",
                            what, group, excerpt(found), problem.num_devices() - 1));
  }
  Placement placement(std::move(*devices));
  require_placeable(problem, placement, fmt::format("the program sent {}, which", what));
  return placement;
}

EvaluateRequest read_batch(const Received& json, const Problem& problem, std::string_view line) {
  if (!json.is_array()) {
    refuse("'evaluate' without an array of placements", line);
  }
  if (json.size() > kMaxBatch) {
    throw Error(ErrorCode::kFormat,
                fmt::format("the program asked for {} evaluations at once; at most {} are allowed",
                            json.size(), kMaxBatch));
  }
  EvaluateRequest request;
  request.placements.reserve(json.size());
  for (const Received& placement : json) {
    request.placements.push_back(
        read_placement(placement, problem, fmt::format("placement {}", request.placements.size())));
  }
  return request;
}

// --- Writing ---

// Returns the array of `value(i)` for each i below `count`.
template <class Index, class Value>
Json array_of(Index count, const Value& value) {
  Json array = Json::array();
  for (Index i = 0; i < count; ++i) {
    array.push_back(value(i));
  }
  return array;
}

// Adds what is left of the budget.
void add_budget(Json& json, const Evaluator& evaluator) {
  const std::int64_t left = evaluator.budget().evaluations_left();
  // Time is the budget then; the number is only a large one.
  json.add("evaluations_left", left > Budget::kUnlimited / 2 ? Json() : Json(left));
  json.add("seconds_left", evaluator.budget().seconds_left());
}

std::string_view to_string(EvaluationStatus status) {
  switch (status) {
    case EvaluationStatus::kOk:
      return "ok";
    case EvaluationStatus::kOutOfMemory:
      return "out-of-memory";
    case EvaluationStatus::kCutOff:
      return "cut-off";
    case EvaluationStatus::kBudgetSpent:
      return "budget-spent";
  }
  return "";
}

// Returns the op that a group is called after: its first.
const Op& first_op(const Problem& problem, GroupId group) {
  return problem.op(problem.grouping().members(group).front());
}

Json devices_of(const Problem& problem) {
  return array_of(problem.num_devices(), [&](DeviceId device) -> Json {
    return {{"name", problem.device(device).name},
            {"memory_bytes", problem.memory_bytes(device)},
            {"placeable", std::ranges::binary_search(problem.placeable_devices(), device)},
            {"slots", problem.slots(device)}};
  });
}

Json groups_of(const Problem& problem) {
  const auto by_group = [&](const auto& value) { return array_of(problem.num_groups(), value); };
  Json groups = {
      {"count", problem.num_groups()},
      {"names", by_group([&](GroupId group) { return first_op(problem, group).name; })},
      {"scopes", by_group([&](GroupId group) { return first_op(problem, group).scope; })},
      {"ops", by_group([&](GroupId group) { return problem.grouping().members(group).size(); })},
      {"persistent_bytes",
       by_group([&](GroupId group) { return problem.group_persistent_bytes(group); })},
      {"output_bytes", by_group([&](GroupId group) { return problem.group_output_bytes(group); })},
      {"cost_us", array_of(problem.num_devices(),
                           [&](DeviceId device) {
                             return by_group([&](GroupId group) {
                               return problem.group_cost_us(group, device);
                             });
                           })},
      {"order", problem.group_order()}};
  const GroupConstraints& constraints = problem.constraints();
  if (!constraints.empty()) {
    groups.add("pinned", by_group([&](GroupId group) { return constraints.pinned_device(group); }));
    Json together = Json::array();
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      if (const auto tied = constraints.tied_to(group); !tied.empty() && tied.front() == group) {
        together.push_back(tied);
      }
    }
    groups.add("together", together);
  }
  return groups;
}

// A transfer takes a latency and a time for each byte.
Json transfers_of(const Problem& problem) {
  constexpr std::int64_t kManyBytes = std::int64_t{1} << 40;
  const auto by_pair = [&](const auto& value) {
    return array_of(problem.num_devices(), [&](DeviceId from) {
      return array_of(problem.num_devices(), [&](DeviceId to) { return value(from, to); });
    });
  };
  return {{"model", to_string(problem.cluster().transfer_model)},
          {"latency_us",
           by_pair([&](DeviceId from, DeviceId to) { return problem.transfer_us(0, from, to); })},
          {"us_per_byte", by_pair([&](DeviceId from, DeviceId to) {
             return (problem.transfer_us(kManyBytes, from, to) - problem.transfer_us(0, from, to)) /
                    static_cast<double>(kManyBytes);
           })}};
}

}  // namespace

void expect_hello(std::string_view line) {
  const Received json = parse_object(line);
  const auto hello = json.find("hello");
  const auto version = json.find("version");
  if (hello == json.end() || *hello != std::string(kExecProtocol) || version == json.end() ||
      json.size() != 2) {
    refuse(
        fmt::format("no hello as its first line; expected {{\"hello\": \"{}\", \"version\": {}}}",
                    kExecProtocol, kExecProtocolVersion),
        line);
  }
  if (*version != kExecProtocolVersion) {
    throw Error(ErrorCode::kFormat,
                fmt::format("the program speaks version {} of the protocol {}; this emplace speaks "
                            "version {}",
                            excerpt(version->dump()), kExecProtocol, kExecProtocolVersion));
  }
}

AgentMessage read_message(std::string_view line, const Problem& problem) {
  const Received json = parse_object(line);
  if (json.size() == 1) {
    const std::string& key = json.begin().key();
    const Received& value = json.begin().value();
    if (key == "evaluate") {
      return read_batch(value, problem, line);
    }
    if (key == "best" && value == true) {
      return BestRequest{};
    }
    if (key == "placement") {
      return FinalPlacement{read_placement(value, problem, "a final placement")};
    }
  }
  refuse("something other than \"evaluate\": [...], \"best\": true and \"placement\": [...]", line);
}

std::string write_problem(const Problem& problem, std::uint64_t seed, const Evaluator& evaluator) {
  Json json = {{"protocol", kExecProtocol},
               {"version", kExecProtocolVersion},
               {"graph", problem.graph()[boost::graph_bundle].name},
               {"cluster", problem.cluster().name},
               {"seed", seed}};
  add_budget(json, evaluator);
  json.add("devices", devices_of(problem));
  json.add("groups", groups_of(problem));
  const std::span<const GroupEdge> edges = problem.group_edges();
  json.add("edges", array_of(edges.size(), [&](std::size_t i) {
             return Json::array({edges[i].producer, edges[i].consumer, edges[i].bytes});
           }));
  json.add("transfers", transfers_of(problem));
  return Json{{"problem", json}}.text();
}

std::string write_evaluations(std::span<const Evaluation> evaluations, const Evaluator& evaluator) {
  JsonColumns columns = {"step_time_us", "bytes_over", "objective_us", "status"};
  for (const Evaluation& evaluation : evaluations) {
    // An evaluation beyond the budget has no time.
    const bool has_time = evaluation.status != EvaluationStatus::kBudgetSpent;
    columns["step_time_us"].push_back(has_time ? Json(evaluation.step_time_us) : Json());
    columns["bytes_over"].push_back(evaluation.bytes_over);
    columns["objective_us"].push_back(evaluation.objective_us());
    columns["status"].push_back(to_string(evaluation.status));
  }
  Json json = columns.json();
  add_budget(json, evaluator);
  return std::move(json).text();
}

std::string write_best(const Evaluator& evaluator) {
  Json best;
  if (const auto& placement = evaluator.incumbent().placement()) {
    const Evaluation& evaluation = evaluator.incumbent().evaluation();
    best = {{"placement", placement->devices()},
            {"step_time_us", evaluation.step_time_us},
            {"bytes_over", evaluation.bytes_over},
            {"objective_us", evaluation.objective_us()},
            {"status", to_string(evaluation.status)}};
  }
  Json json = {{"best", best}};
  add_budget(json, evaluator);
  return std::move(json).text();
}

}  // namespace emplace::agents
