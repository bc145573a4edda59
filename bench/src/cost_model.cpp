#include "units.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/bench/cost_model.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/elementary.hpp>
#include <emplace/graphs/embedded.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

namespace emplace::embedded {
// From bench/speeds, by emplace_embed() in CMakeLists.txt.
std::span<const Document> speeds();
}  // namespace emplace::embedded

namespace emplace::bench {
namespace {

constexpr std::string_view kSpeedsSchema = "emplace-speeds";
constexpr std::int64_t kSpeedsVersion = 3;
constexpr double kBytesPerMb = 1e6;
constexpr double kBytesPerKb = 1e3;
constexpr double kMaxUs = 1e12;
constexpr double kMaxExponent = 4;
constexpr double kMaxMemory = 1e6;
constexpr double kUsualOps = 1000;
constexpr double kUsualGroups = 128;
constexpr double kUsualDevices = 4;
constexpr std::string_view kSimulates = "random";

// The memory of runs grows by 1,050 to 1,200 bytes with each op of one more problem, on 2 as on 8
// devices (docs/notes/sweep-costs.md).
constexpr std::int64_t kBytesPerOp = 1200;

// The lines of the two published stores have these sizes within a third (docs/notes).
constexpr double kLineBytes = 550;
constexpr double kPlacementBytesPerGroup = 0.6;
constexpr double kHistoryBytes = 250;
constexpr double kHistoryBytesPerGroup = 0.5;
constexpr double kBytesPerDraw = 19.3;

double power(double base, double exponent) { return exp_of(exponent * log_of(base)); }

bool evaluates(const agents::AgentSpec& agent) { return !agent.info().deterministic; }

// Returns the number of groups on which `agent` decides.
std::int64_t decision_groups(const agents::AgentSpec& agent, const ProblemSize& size,
                             bool groups_are_given) {
  const std::int64_t most =
      agents::AgentRegistry::global().most_groups(agent.spec(), groups_are_given);
  return most == 0 ? size.groups : std::min(size.groups, most);
}

// The one in the middle by time.
AgentCosts median(std::vector<AgentCosts> costs) {
  EMPLACE_CHECK(!costs.empty(), "no costs of {}", "a kind of agent");
  std::ranges::sort(costs, {}, &AgentCosts::us);
  return costs[costs.size() / 2];
}

}  // namespace

ProblemSize size_of(const Problem& problem) {
  ProblemSize size{.ops = problem.num_ops(),
                   .groups = problem.num_groups(),
                   .devices = problem.num_devices(),
                   .is_physical = problem.cluster().transfer_model == TransferModel::kPhysical};
  for (OpId op = 0; op < problem.num_ops() && !size.has_spreads; ++op) {
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      size.has_spreads = size.has_spreads || problem.cost_spread(op, device) > 0;
    }
  }
  return size;
}

std::string_view to_string(SpeedSource source) {
  switch (source) {
    case SpeedSource::kRecorded:
      return "recorded";
    case SpeedSource::kOtherParameters:
      return "other parameters";
    case SpeedSource::kGuessed:
      return "guessed";
  }
  EMPLACE_CHECK(false, "source {}", static_cast<int>(source));
}

CostModel CostModel::read(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  root.expect_schema(kSpeedsSchema, kSpeedsVersion);
  root.expect_only({"schema", "version", "comment", "recorded", "agents"});
  CostModel model;
  const JsonCursor recorded = root.at("recorded");
  recorded.expect_only({"time", "cpu", "git_revision", "cells"});
  model.machine_ = recorded.at("cpu").non_empty_text();
  model.time_ = recorded.at("time").non_empty_text();
  std::vector<AgentCosts> search;
  std::vector<AgentCosts> heuristic;
  for (const JsonCursor& element : root.at("agents").elements()) {
    element.expect_only({"agent", "us", "ops_exponent", "groups_exponent", "devices_exponent",
                         "physical", "mb", "kb_per_op", "kb_per_group"});
    const auto agent = agents::AgentSpec::from_json(element.at("agent"));
    const AgentCosts costs{
        .us = element.at("us").number(0, kMaxUs),
        .ops_exponent = element.at("ops_exponent").number(-kMaxExponent, kMaxExponent),
        .groups_exponent = element.at("groups_exponent").number(-kMaxExponent, kMaxExponent),
        .devices_exponent = element.at("devices_exponent").number(-kMaxExponent, kMaxExponent),
        .physical = element.at("physical").number(0, kMaxUs),
        .mb = element.at("mb").number(0, kMaxMemory),
        .kb_per_op = element.at("kb_per_op").number(0, kMaxMemory),
        .kb_per_group = element.at("kb_per_group").number(0, kMaxMemory)};
    if (!model.costs_.emplace(agent.text(), costs).second) {
      element.at("agent").fail("the agent is already in the file");
    }
    model.variants_[agent.name()].emplace_back(agent.spec(), costs);
    (evaluates(agent) ? search : heuristic).push_back(costs);
  }
  if (search.empty() || heuristic.empty() || !model.costs_.contains(kSimulates)) {
    root.at("agents").fail("expected 'random' and an agent that evaluates nothing");
  }
  for (auto& [name, variants] : model.variants_) {
    std::ranges::stable_sort(variants, std::greater(),
                             [](const auto& variant) { return variant.first.given.size(); });
  }
  model.guessed_search_ = median(std::move(search));
  model.guessed_heuristic_ = median(std::move(heuristic));
  return model;
}

const CostModel& CostModel::shipped() {
  static const CostModel model = [] {
    const embedded::Document& document = embedded::speeds().front();
    return read(document.text, document.name);
  }();
  return model;
}

SpeedSource CostModel::source_of(const agents::AgentSpec& agent) const {
  return costs_.contains(agent.text()) ? SpeedSource::kRecorded
         : find(agent) != nullptr      ? SpeedSource::kOtherParameters
                                       : SpeedSource::kGuessed;
}

// Returns the costs recorded with most of the parameters of `agent` and no others, if there are
// any.
const AgentCosts* CostModel::find(const agents::AgentSpec& agent) const {
  if (const auto exact = costs_.find(agent.text()); exact != costs_.end()) {
    return &exact->second;
  }
  const auto variants = variants_.find(agent.name());
  if (variants == variants_.end()) {
    return nullptr;
  }
  for (const auto& [recorded, costs] : variants->second) {
    if (std::ranges::all_of(recorded.given, [&](const auto& parameter) {
          return std::ranges::find(agent.spec().given, parameter) != agent.spec().given.end();
        })) {
      return &costs;
    }
  }
  return nullptr;
}

const AgentCosts& CostModel::costs_of(const agents::AgentSpec& agent) const {
  const AgentCosts* const known = find(agent);
  return known != nullptr ? *known : evaluates(agent) ? guessed_search_ : guessed_heuristic_;
}

double CostModel::seconds(const agents::AgentSpec& agent, std::int64_t evaluations,
                          const ProblemSize& size, bool groups_are_given) const {
  const AgentCosts& costs = costs_of(agent);
  const double work = evaluates(agent) ? static_cast<double>(evaluations) : 1;
  const auto growth = [](std::int64_t number, double usual, double exponent) {
    return power(static_cast<double>(std::max<std::int64_t>(number, 1)) / usual, exponent);
  };
  return work * costs.us / kUsPerS * (size.is_physical ? costs.physical : 1) *
         growth(size.ops, kUsualOps, costs.ops_exponent) *
         growth(decision_groups(agent, size, groups_are_given), kUsualGroups,
                costs.groups_exponent) *
         growth(size.devices, kUsualDevices, costs.devices_exponent);
}

double CostModel::seconds(const Cell& cell, const ProblemSize& size) const {
  const bool groups_are_given = cell.groups_are_given();
  const double draws =
      size.has_spreads ? seconds(kSimulates, kCellReplicas, size, groups_are_given) : 0;
  return seconds(cell.agent, cell.max_evaluations, size, groups_are_given) + draws;
}

std::int64_t CostModel::bytes(const agents::AgentSpec& agent, const ProblemSize& size,
                              bool groups_are_given) const {
  const AgentCosts& costs = costs_of(agent);
  const auto groups = static_cast<double>(decision_groups(agent, size, groups_are_given));
  return std::llround(kBytesPerMb * costs.mb +
                      kBytesPerKb * (costs.kb_per_op * static_cast<double>(size.ops) +
                                     costs.kb_per_group * groups));
}

std::int64_t expected_bytes(const ProblemSize& size) { return size.ops * kBytesPerOp; }

std::int64_t expected_bytes(const Cell& cell, const ProblemSize& size) {
  const auto groups = static_cast<double>(size.groups);
  double bytes = kLineBytes + kPlacementBytesPerGroup * groups;
  if (evaluates(cell.agent)) {
    bytes += kHistoryBytes + kHistoryBytesPerGroup * groups;
  }
  if (size.has_spreads) {
    bytes += kBytesPerDraw * static_cast<double>(kCellReplicas);
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace emplace::bench
