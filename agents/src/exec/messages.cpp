#include "exec/messages.hpp"

#include <emplace/agents/exec_protocol.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

namespace emplace::agents {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string_view what, std::string_view line) {
  throw Error(ErrorCode::kFormat, fmt::format("the program sent {}: {}", what, excerpt(line, 100)));
}

// Returns the object that the line is.
Json parse_object(std::string_view line) {
  Json json = Json::parse(line, nullptr, false);
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
std::optional<std::vector<DeviceId>> devices_of(const Json& json) {
  if (json.is_string()) {
    return bytes_of_base64(json.get_ref<const std::string&>());
  }
  if (!json.is_array()) {
    return std::nullopt;
  }
  std::vector<DeviceId> devices;
  devices.reserve(json.size());
  for (const Json& device : json) {
    constexpr std::uint64_t kMost = 1U << 30U;
    devices.push_back(device.is_number_unsigned() && device.get<std::uint64_t>() < kMost
                          ? device.get<DeviceId>()
                          : -1);
  }
  return devices;
}

// `what` names the placement in errors.
Placement read_placement(const Json& json, const Problem& problem, const std::string& what) {
  std::optional<std::vector<DeviceId>> devices = devices_of(json);
  if (!devices) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("the program sent {} that is neither an array of devices nor their "
                    "bytes in base64: {}",
                    what, excerpt(json.dump(-1, ' ', false, Json::error_handler_t::replace))));
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
  return Placement(std::move(*devices));
}

EvaluateRequest read_batch(const Json& json, const Problem& problem, std::string_view line) {
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
  for (const Json& placement : json) {
    request.placements.push_back(
        read_placement(placement, problem, fmt::format("placement {}", request.placements.size())));
  }
  return request;
}

// --- Writing ---

using Buffer = fmt::memory_buffer;

void append(Buffer& out, std::string_view text) { out.append(text); }

// Writes `[a,b,...]`, each element by `write(i)`.
template <class Index, class Write>
void append_array(Buffer& out, Index count, const Write& write) {
  out.push_back('[');
  for (Index i = 0; i < count; ++i) {
    if (i > 0) {
      out.push_back(',');
    }
    write(i);
  }
  out.push_back(']');
}

// Writes a number as JSON has it: infinity is null.
void append_number(Buffer& out, double number) {
  if (std::isfinite(number)) {
    fmt::format_to(std::back_inserter(out), "{}", number);
  } else {
    append(out, "null");
  }
}

void append_number(Buffer& out, std::int64_t number) {
  fmt::format_to(std::back_inserter(out), FMT_STRING("{}"), number);
}

// Writes `,"key":` and an array with an element of each group.
template <class Write>
void append_by_group(Buffer& out, const Problem& problem, std::string_view key,
                     const Write& write) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":", key);
  append_array(out, problem.num_groups(), write);
}

// Writes `,"key":` and a matrix of devices.
template <class Write>
void append_by_pair(Buffer& out, const Problem& problem, std::string_view key, const Write& write) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":", key);
  append_array(out, problem.num_devices(), [&](DeviceId from) {
    append_array(out, problem.num_devices(), [&](DeviceId to) { write(from, to); });
  });
}

// Writes what is left of the budget, as members of an object.
void append_budget(Buffer& out, const Session& session) {
  const std::int64_t left = session.evaluations_left();
  append(out, "\"evaluations_left\":");
  // Time is the budget then; the number is only a large one.
  if (left > Session::kUnlimited / 2) {
    append(out, "null");
  } else {
    append_number(out, left);
  }
  append(out, ",\"seconds_left\":");
  const std::optional<double> seconds = session.seconds_left();
  if (seconds) {
    append_number(out, *seconds);
  } else {
    append(out, "null");
  }
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

void append_devices(Buffer& out, const Problem& problem) {
  append(out, ",\"devices\":");
  append_array(out, problem.num_devices(), [&](DeviceId device) {
    fmt::format_to(
        std::back_inserter(out), R"({{"name":{},"memory_bytes":{},"placeable":{},"slots":{}}})",
        json_text(problem.device(device).name), problem.memory_bytes(device),
        std::ranges::binary_search(problem.placeable_devices(), device), problem.slots(device));
  });
}

void append_groups(Buffer& out, const Problem& problem) {
  append(out, R"(,"groups":{"count":)");
  append_number(out, std::int64_t{problem.num_groups()});
  append_by_group(out, problem, "names",
                  [&](GroupId group) { append(out, json_text(first_op(problem, group).name)); });
  append_by_group(out, problem, "scopes",
                  [&](GroupId group) { append(out, json_text(first_op(problem, group).scope)); });
  append_by_group(out, problem, "ops", [&](GroupId group) {
    append_number(out, static_cast<std::int64_t>(problem.grouping().members(group).size()));
  });
  append_by_group(out, problem, "persistent_bytes", [&](GroupId group) {
    append_number(out, problem.group_persistent_bytes(group));
  });
  append_by_group(out, problem, "output_bytes",
                  [&](GroupId group) { append_number(out, problem.group_output_bytes(group)); });
  append(out, ",\"cost_us\":");
  append_array(out, problem.num_devices(), [&](DeviceId device) {
    append_array(out, problem.num_groups(),
                 [&](GroupId group) { append_number(out, problem.group_cost_us(group, device)); });
  });
  const std::span<const GroupId> order = problem.group_order();
  append_by_group(out, problem, "order", [&](GroupId at) {
    append_number(out, std::int64_t{order[static_cast<std::size_t>(at)]});
  });
  out.push_back('}');
}

void append_edges(Buffer& out, const Problem& problem) {
  append(out, ",\"edges\":");
  const std::span<const GroupEdge> edges = problem.group_edges();
  append_array(out, edges.size(), [&](std::size_t i) {
    fmt::format_to(std::back_inserter(out), "[{},{},{}]", edges[i].producer, edges[i].consumer,
                   edges[i].bytes);
  });
}

// A transfer takes a latency and a time for each byte.
void append_transfers(Buffer& out, const Problem& problem) {
  constexpr std::int64_t kManyBytes = std::int64_t{1} << 40;
  append(out, R"(,"transfers":{"model":)");
  append(out, json_text(std::string(to_string(problem.cluster().transfer_model))));
  append_by_pair(out, problem, "latency_us", [&](DeviceId from, DeviceId to) {
    append_number(out, problem.transfer_us(0, from, to));
  });
  append_by_pair(out, problem, "us_per_byte", [&](DeviceId from, DeviceId to) {
    const double latency_us = problem.transfer_us(0, from, to);
    append_number(out, (problem.transfer_us(kManyBytes, from, to) - latency_us) /
                           static_cast<double>(kManyBytes));
  });
  out.push_back('}');
}

}  // namespace

void expect_hello(std::string_view line) {
  const Json json = parse_object(line);
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
  const Json json = parse_object(line);
  if (json.size() == 1) {
    const std::string& key = json.begin().key();
    const Json& value = json.begin().value();
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

std::string write_problem(const Problem& problem, std::uint64_t seed, const Session& session) {
  Buffer out;
  fmt::format_to(std::back_inserter(out),
                 R"({{"problem":{{"protocol":"{}","version":{},"graph":{},"cluster":{},"seed":{},)",
                 kExecProtocol, kExecProtocolVersion,
                 json_text(problem.graph()[boost::graph_bundle].name),
                 json_text(problem.cluster().name), seed);
  append_budget(out, session);
  append_devices(out, problem);
  append_groups(out, problem);
  append_edges(out, problem);
  append_transfers(out, problem);
  append(out, "}}");
  return fmt::to_string(out);
}

std::string write_evaluations(std::span<const Evaluation> evaluations, const Session& session) {
  Buffer out;
  append(out, R"({"step_time_us":)");
  append_array(out, evaluations.size(), [&](std::size_t i) {
    // An evaluation beyond the budget has no time.
    if (evaluations[i].status == EvaluationStatus::kBudgetSpent) {
      append(out, "null");
    } else {
      append_number(out, evaluations[i].step_time_us);
    }
  });
  append(out, R"(,"bytes_over":)");
  append_array(out, evaluations.size(),
               [&](std::size_t i) { append_number(out, evaluations[i].bytes_over); });
  append(out, R"(,"objective_us":)");
  append_array(out, evaluations.size(),
               [&](std::size_t i) { append_number(out, evaluations[i].objective_us()); });
  append(out, R"(,"status":)");
  append_array(out, evaluations.size(), [&](std::size_t i) {
    fmt::format_to(std::back_inserter(out), "\"{}\"", to_string(evaluations[i].status));
  });
  out.push_back(',');
  append_budget(out, session);
  out.push_back('}');
  return fmt::to_string(out);
}

std::string write_best(const Session& session) {
  Buffer out;
  append(out, R"({"best":)");
  if (const auto& best = session.best_placement()) {
    append(out, R"({"placement":)");
    append_array(out, best->size(),
                 [&](GroupId group) { append_number(out, std::int64_t{(*best)[group]}); });
    const Evaluation& evaluation = session.best_evaluation();
    fmt::format_to(std::back_inserter(out),
                   R"(,"step_time_us":{},"bytes_over":{},"objective_us":{},"status":"{}"}})",
                   evaluation.step_time_us, evaluation.bytes_over, evaluation.objective_us(),
                   to_string(evaluation.status));
  } else {
    append(out, "null");
  }
  out.push_back(',');
  append_budget(out, session);
  out.push_back('}');
  return fmt::to_string(out);
}

}  // namespace emplace::agents
