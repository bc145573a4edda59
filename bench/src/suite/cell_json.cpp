// Results as lines of JSON.

#include "store/placement_text.hpp"
#include "units.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/bench/checksum.hpp>
#include <emplace/bench/result_store.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace emplace::bench {
namespace {

CellStatus status_from_json(const JsonCursor& json) {
  const std::string text = json.text();
  for (const CellStatus status : {CellStatus::kOk, CellStatus::kOutOfMemory, CellStatus::kFailed}) {
    if (text == to_string(status)) {
      return status;
    }
  }
  json.fail("expected \"ok\", \"out_of_memory\" or \"failed\"");
}

IdVector<GroupId, Priority> read_priorities(const JsonCursor& json, std::int64_t groups) {
  IdVector<GroupId, Priority> priorities;
  for (const JsonCursor& priority : json.elements()) {
    priorities.push_back(static_cast<Priority>(priority.integer(
        std::numeric_limits<Priority>::min(), std::numeric_limits<Priority>::max())));
  }
  if (std::cmp_not_equal(priorities.size(), groups)) {
    json.fail(
        fmt::format("expected the priorities of {} groups, found {}", groups, priorities.size()));
  }
  return priorities;
}

// Enough for any curve, and a third of the digits of a clock.
double in_whole_us(double seconds) { return std::round(seconds * 1e6) / 1e6; }

// One list for each member, which takes less room than an object for each improvement.
struct HistoryLists {
  explicit HistoryLists(const std::vector<Improvement>& history) {
    for (const Improvement& improvement : history) {
      evaluations.push_back(improvement.evaluations);
      step_time_us.push_back(improvement.evaluation.step_time_us);
      bytes_over.push_back(improvement.evaluation.bytes_over);
      seconds.push_back(in_whole_us(improvement.seconds));
    }
  }

  std::vector<std::int64_t> evaluations{};
  std::vector<double> step_time_us{};
  std::vector<std::int64_t> bytes_over{};
  std::vector<double> seconds{};
};

std::vector<Improvement> history_from_json(const JsonCursor& json, const JsonCursor& seconds,
                                           std::int64_t evaluations) {
  json.expect_only({"evaluations", "step_time_us", "bytes_over"});
  const std::vector<JsonCursor> made = json.at("evaluations").elements();
  const std::vector<JsonCursor> steps = json.at("step_time_us").elements();
  const std::vector<JsonCursor> over = json.at("bytes_over").elements();
  const std::vector<JsonCursor> times = seconds.elements();
  if (made.empty() || steps.size() != made.size() || over.size() != made.size() ||
      times.size() != made.size()) {
    json.fail(fmt::format("expected lists of one length, found {}, {}, {} and {} seconds",
                          made.size(), steps.size(), over.size(), times.size()));
  }
  std::vector<Improvement> history;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Improvement before = history.empty() ? Improvement() : history.back();
    const std::int64_t bytes_over = over[i].integer(0, kMaxInteger);
    history.push_back(
        {.evaluations = made[i].integer(before.evaluations + 1, evaluations),
         .evaluation = {.status = bytes_over > 0 ? agents::EvaluationStatus::kOutOfMemory
                                                 : agents::EvaluationStatus::kOk,
                        .step_time_us = steps[i].number(0, kMaxNumber),
                        .bytes_over = bytes_over},
         .seconds = times[i].number(before.seconds, kMaxNumber)});
    if (!history.back().evaluation.better_than(before.evaluation)) {
      steps[i].fail("expected an improvement, found none");
    }
  }
  return history;
}

}  // namespace

std::string write_cell_result(const CellResult& result) {
  EMPLACE_CHECK(std::isfinite(result.step_time_us) && std::isfinite(result.bound_us),
                "step time {}, bound {}", result.step_time_us, result.bound_us);
  const Cell& cell = result.cell;
  Json json = {{"id", cell.id()},
               {"graph", cell.graph},
               {"cluster", cell.cluster},
               {"agent", cell.agent.text()},
               {"repetition", cell.repetition},
               {"max_evaluations", cell.max_evaluations},
               {"groups", cell.groups},
               {"grouping", cell.grouping},
               {"root_seed", cell.root_seed}};
  if (!cell.policy.empty()) {
    json.add("policy", cell.policy);
    json.add("training", cell.training);
    json.add("learns", cell.learns);
  }
  json.add("status", to_string(result.status));
  json.add("message", result.message);
  json.add("step_time_us", result.step_time_us);
  json.add("bound_us", result.bound_us);
  json.add("peak_bytes", result.peak_bytes);
  json.add("evaluations", result.evaluations);
  json.add("evaluations_to_best", result.evaluations_to_best);
  json.add("evaluations_to_near_best", result.evaluations_to_near_best);
  json.add("evaluations_per_episode", result.evaluations_per_episode);
  json.add("problem_groups", result.problem_groups);
  json.add("decision_groups", result.decision_groups);
  json.add("placement_hash", result.placement_hash);
  if (result.status != CellStatus::kFailed) {
    json.add("placement", write_placement_text(result.placement));
    if (result.placement.has_priorities()) {
      json.add("priorities", result.placement.priorities());
    }
  }
  const HistoryLists history(result.history);
  if (!result.history.empty()) {
    json.add("history", {{"evaluations", history.evaluations},
                         {"step_time_us", history.step_time_us},
                         {"bytes_over", history.bytes_over}});
  }
  if (!result.draws_us.empty()) {
    json.add("draws_us", result.draws_us);
  }
  Json measured = {{"wall_s", result.wall_s}};
  if (!result.history.empty()) {
    measured.add("history_s", history.seconds);
  }
  json.add("measured", measured);
  // An agent's message may be any bytes; what is not UTF-8 in it is replaced.
  return with_checksum(json.text());
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
                    "placement",
                    "priorities",
                    "history",
                    "draws_us",
                    "replicas_us",
                    "measured",
                    "crc32"});
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
    json.at("id").fail("expected \"" + cell.id() + "\", the hash of the coordinates next to it");
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
  if (result.status != CellStatus::kFailed) {
    const JsonCursor placement = json.at("placement");
    result.placement = read_placement_text(placement, result.problem_groups,
                                           static_cast<std::int64_t>(result.peak_bytes.size()));
    if (const auto priorities = json.find("priorities")) {
      result.placement.set_priorities(read_priorities(*priorities, result.problem_groups));
    }
    if (hash_of(result.placement) != result.placement_hash) {
      placement.fail(fmt::format("expected a placement with the hash {}, found {}",
                                 result.placement_hash, hash_of(result.placement)));
    }
  }
  // Version 0.2 called draws replicas.
  if (const auto draws = json.find(json.find("replicas_us") ? "replicas_us" : "draws_us")) {
    for (const JsonCursor& time : draws->elements()) {
      result.draws_us.push_back(time.number(0, kMaxNumber));
    }
    if (std::cmp_not_equal(result.draws_us.size(), kCellDraws)) {
      draws->fail(
          fmt::format("expected {} step times, found {}", kCellDraws, result.draws_us.size()));
    }
  }
  const JsonCursor measured = json.at("measured");
  measured.expect_only({"wall_s", "history_s"});
  if (const auto history = json.find("history")) {
    result.history = history_from_json(*history, measured.at("history_s"), result.evaluations);
  }
  result.wall_s = measured.at("wall_s").number(0, kMaxNumber);
  // Last, as other mistakes are told with their place.
  check_checksum(line, source);
  return result;
}

}  // namespace emplace::bench
