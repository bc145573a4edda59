// Results as lines of JSON.

#include <emplace/bench/result_store.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace emplace::bench {
namespace {

constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();
constexpr double kMaxNumber = std::numeric_limits<double>::max();

CellStatus status_from_json(const JsonCursor& json) {
  const std::string text = json.text();
  for (const CellStatus status : {CellStatus::kOk, CellStatus::kOutOfMemory, CellStatus::kFailed}) {
    if (text == to_string(status)) {
      return status;
    }
  }
  json.fail("expected \"ok\", \"out_of_memory\" or \"failed\"");
}

}  // namespace

std::string write_cell_result(const CellResult& result) {
  EMPLACE_CHECK(std::isfinite(result.step_time_us) && std::isfinite(result.bound_us),
                "step time {}, bound {}", result.step_time_us, result.bound_us);
  const Cell& cell = result.cell;
  nlohmann::ordered_json json = {{"id", cell.id()},
                                 {"graph", cell.graph},
                                 {"cluster", cell.cluster},
                                 {"agent", cell.agent.text()},
                                 {"repetition", cell.repetition},
                                 {"max_evaluations", cell.max_evaluations},
                                 {"groups", cell.groups},
                                 {"grouping", cell.grouping},
                                 {"root_seed", cell.root_seed}};
  if (!cell.policy.empty()) {
    json["policy"] = cell.policy;
    json["training"] = cell.training;
    json["learns"] = cell.learns;
  }
  json["status"] = to_string(result.status);
  json["message"] = result.message;
  json["step_time_us"] = result.step_time_us;
  json["bound_us"] = result.bound_us;
  json["peak_bytes"] = result.peak_bytes;
  json["evaluations"] = result.evaluations;
  json["evaluations_to_best"] = result.evaluations_to_best;
  json["evaluations_to_near_best"] = result.evaluations_to_near_best;
  json["evaluations_per_episode"] = result.evaluations_per_episode;
  json["problem_groups"] = result.problem_groups;
  json["decision_groups"] = result.decision_groups;
  json["placement_hash"] = result.placement_hash;
  if (!result.replicas_us.empty()) {
    json["replicas_us"] = result.replicas_us;
  }
  json["measured"] = {{"wall_s", result.wall_s}};
  // An agent's message may be any bytes; what is not UTF-8 in it is replaced.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

CellResult read_cell_result(std::string_view line, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(line, source);
  const JsonCursor json = document.root();
  json.expect_only({"id",
                    "graph",
                    "cluster",
                    "agent",
                    "repetition",
                    "max_evaluations",
                    "groups",
                    "grouping",
                    "root_seed",
                    "policy",
                    "training",
                    "learns",
                    "status",
                    "message",
                    "step_time_us",
                    "bound_us",
                    "peak_bytes",
                    "evaluations",
                    "evaluations_to_best",
                    "evaluations_to_near_best",
                    "evaluations_per_episode",
                    "problem_groups",
                    "decision_groups",
                    "placement_hash",
                    "replicas_us",
                    "measured"});
  CellResult result;
  Cell& cell = result.cell;
  cell.graph = json.at("graph").non_empty_text();
  cell.cluster = json.at("cluster").non_empty_text();
  cell.agent = agents::AgentSpec::from_json(json.at("agent"));
  cell.repetition = json.at("repetition").integer(0, kMaxInteger);
  cell.max_evaluations = json.at("max_evaluations").integer(1, kMaxInteger);
  cell.groups = json.at("groups").integer(0, kMaxInteger);
  cell.grouping = json.at("grouping").non_empty_text();
  cell.root_seed = static_cast<std::uint64_t>(json.at("root_seed").integer(0, kMaxRootSeed));
  if (const auto policy = json.find("policy")) {
    cell.policy = policy->non_empty_text();
    cell.training = json.at("training").text();
    cell.learns = json.at("learns").boolean();
  }
  if (json.at("id").text() != cell.id()) {
    json.at("id").fail("expected \"" + cell.id() + "\", the hash of the coordinates beside it");
  }
  result.status = status_from_json(json.at("status"));
  result.message = json.at("message").text();
  result.step_time_us = json.at("step_time_us").number(0, kMaxNumber);
  result.bound_us = json.at("bound_us").number(0, kMaxNumber);
  for (const JsonCursor& bytes : json.at("peak_bytes").elements()) {
    result.peak_bytes.push_back(bytes.integer(0, kMaxInteger));
  }
  result.evaluations = json.at("evaluations").integer(0, kMaxInteger);
  result.evaluations_to_best = json.at("evaluations_to_best").integer(0, kMaxInteger);
  result.evaluations_to_near_best = json.at("evaluations_to_near_best").integer(0, kMaxInteger);
  result.evaluations_per_episode = json.at("evaluations_per_episode").integer(0, kMaxInteger);
  result.problem_groups = json.at("problem_groups").integer(0, kMaxInteger);
  result.decision_groups = json.at("decision_groups").integer(0, result.problem_groups);
  result.placement_hash = json.at("placement_hash").text();
  if (const auto replicas = json.find("replicas_us")) {
    for (const JsonCursor& time : replicas->elements()) {
      result.replicas_us.push_back(time.number(0, kMaxNumber));
    }
    if (std::cmp_not_equal(result.replicas_us.size(), kCellReplicas)) {
      replicas->fail(fmt::format("expected {} step times, found {}", kCellReplicas,
                                 result.replicas_us.size()));
    }
  }
  const JsonCursor measured = json.at("measured");
  measured.expect_only({"wall_s"});
  result.wall_s = measured.at("wall_s").number(0, kMaxNumber);
  return result;
}

}  // namespace emplace::bench
