#include "training_json.hpp"

#include "suite/units.hpp"

#include <emplace/agents/placement_json.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/cell.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace emplace::bench {
namespace {

using agents::EvaluationStatus;
using agents::Evaluator;
constexpr std::array<std::string_view, 2> kStatuses = {"ok", "out_of_memory"};
constexpr std::array<std::string_view, 3> kNotFinite = {"inf", "-inf", "nan"};

std::vector<std::string> names_from_json(const JsonCursor& json) {
  std::vector<std::string> names;
  for (const JsonCursor& name : json.elements()) {
    names.push_back(name.non_empty_text());
  }
  if (names.empty()) {
    json.fail("expected at least one name");
  }
  return names;
}

// JSON has no infinity; a gradient may have one.
Json number_to_json(double number) {
  return std::isfinite(number) ? Json(number) : Json(fmt::format("{}", number));
}

double number_from_json(const JsonCursor& json) {
  if (!json.is_text()) {
    return json.number(-kMaxNumber, kMaxNumber);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array kValues = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  return kValues[json.one_of(kNotFinite)];
}

// Written as text, because many JSON readers hold 53 bits of an integer only.
std::uint64_t word_from_json(const JsonCursor& json) {
  const std::string text = json.text();
  std::uint64_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    json.fail("expected 64 bits in hexadecimal digits");
  }
  return word;
}

}  // namespace

Json to_json(const TrainingPlan& plan) {
  Json json = {{"agent", plan.agent.text()}, {"graphs", plan.graphs},
               {"clusters", plan.clusters},  {"groups", plan.groups},
               {"grouping", plan.grouping},  {"root_seed", plan.root_seed},
               {"episodes", plan.episodes},  {"patience", plan.patience}};
  if (!plan.validation.empty()) {
    json.add("validation", plan.validation);
  }
  return json;
}

TrainingPlan plan_from_json(const JsonCursor& json) {
  json.expect_only({"agent", "graphs", "clusters", "groups", "grouping", "root_seed", "episodes",
                    "patience", "validation"});
  const std::optional<JsonCursor> validation = json.find("validation");
  return {.agent = agents::AgentSpec::from_json(json.at("agent")),
          .graphs = names_from_json(json.at("graphs")),
          .clusters = names_from_json(json.at("clusters")),
          .groups = json.at("groups").integer(0, kMaxInteger),
          .grouping = json.at("grouping").non_empty_text(),
          .root_seed = static_cast<std::uint64_t>(json.at("root_seed").integer(0, kMaxRootSeed)),
          .episodes = json.at("episodes").integer(1, kMaxInteger),
          .patience = json.at("patience").integer(0, kMaxInteger),
          .validation = validation ? names_from_json(*validation) : std::vector<std::string>{}};
}

Json to_json(const Evaluator::State& state) {
  Json random = Json::array();
  for (const std::uint64_t word : state.random) {
    random.push_back(fmt::format("{:016x}", word));
  }
  Json json = {{"random", std::move(random)}, {"evaluations", state.evaluations}};
  if (state.best_placement) {
    const auto& best = state.best_evaluation;
    json.add("best", {{"devices", state.best_placement->devices()},
                      {"evaluations", state.evaluations_to_best},
                      {"status", kStatuses[best.status == EvaluationStatus::kOk ? 0 : 1]},
                      {"step_time_us", best.step_time_us},
                      {"bytes_over", best.bytes_over}});
  }
  return json;
}

Evaluator::State evaluator_state_from_json(const JsonCursor& json, const Problem& problem) {
  json.expect_only({"random", "evaluations", "best"});
  Evaluator::State state;
  const std::vector<JsonCursor> random = json.at("random").elements();
  if (random.size() != state.random.size()) {
    json.at("random").fail(fmt::format("expected {} words", state.random.size()));
  }
  for (std::size_t i = 0; i < random.size(); ++i) {
    state.random[i] = word_from_json(random[i]);
  }
  if (state.random == RandomStream::State{}) {
    json.at("random").fail("expected words that are not all zero");
  }
  state.evaluations = json.at("evaluations").integer(0, kMaxInteger);
  if (const auto best = json.find("best")) {
    best->expect_only({"devices", "evaluations", "status", "step_time_us", "bytes_over"});
    state.best_placement = agents::placement_from_json(best->at("devices"), problem);
    state.evaluations_to_best = best->at("evaluations").integer(1, state.evaluations);
    state.best_evaluation = {.status = best->at("status").one_of(kStatuses) == 0
                                           ? EvaluationStatus::kOk
                                           : EvaluationStatus::kOutOfMemory,
                             .step_time_us = best->at("step_time_us").number(0, kMaxNumber),
                             .bytes_over = best->at("bytes_over").integer(0, kMaxInteger)};
  }
  return state;
}

Json to_json(const CurveRow& row) {
  return Json::array({row.update, row.episodes, row.evaluations, row.problem,
                      number_to_json(row.last_us), number_to_json(row.best_us),
                      number_to_json(row.entropy), number_to_json(row.gradient_norm), row.is_last});
}

CurveRow row_from_json(const JsonCursor& json, std::size_t num_problems) {
  const std::vector<JsonCursor> members = json.elements();
  if (members.size() != 9) {
    json.fail("expected the 9 numbers of an update");
  }
  CurveRow row;
  row.update = members[0].integer(1, kMaxInteger);
  row.episodes = members[1].integer(0, kMaxInteger);
  row.evaluations = members[2].integer(0, kMaxInteger);
  row.problem =
      static_cast<std::size_t>(members[3].integer(0, static_cast<std::int64_t>(num_problems) - 1));
  row.last_us = members[4].number(0, kMaxNumber);
  row.best_us = members[5].number(0, kMaxNumber);
  // Of a policy that is all but certain it is a rounding error below 0, and one whose weights have
  // grown too large has none.
  row.entropy = number_from_json(members[6]);
  row.gradient_norm = number_from_json(members[7]);
  row.is_last = members[8].boolean();
  return row;
}

}  // namespace emplace::bench
