#include "suite/units.hpp"
#include "training_json.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/elementary.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/cell.hpp>
#include <emplace/bench/checksum.hpp>
#include <emplace/bench/suite_policies.hpp>
#include <emplace/bench/threads.hpp>
#include <emplace/bench/training.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace emplace::bench {
namespace {

constexpr std::string_view kCheckpointSchema = "emplace-training-checkpoint";
constexpr std::int64_t kCheckpointVersion = 1;

void refuse_twice(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) {
      throw Error(ErrorCode::kUsage, fmt::format("'{}' is given twice", excerpt(name)));
    }
  }
}

// A mistyped agent, or one that trains no policy, is reported before graphs are built.
TrainingPlan checked(TrainingPlan plan) {
  make_trainable(plan.agent);
  std::vector<std::string> all = plan.graphs;
  all.insert(all.end(), plan.validation.begin(), plan.validation.end());
  refuse_twice(all);
  refuse_twice(plan.clusters);
  EMPLACE_CHECK(!plan.graphs.empty() && !plan.clusters.empty() && plan.episodes > 0,
                "{} graphs, {} clusters, {} episodes", plan.graphs.size(), plan.clusters.size(),
                plan.episodes);
  return plan;
}

std::vector<Cell> cells_of(const TrainingPlan& plan, const std::vector<std::string>& graphs) {
  std::vector<Cell> cells;
  for (const std::string& graph : graphs) {
    for (const std::string& cluster : plan.clusters) {
      cells.push_back({.graph = graph,
                       .cluster = cluster,
                       .agent = plan.agent,
                       .groups = plan.groups,
                       .grouping = plan.grouping,
                       .root_seed = plan.root_seed});
    }
  }
  return cells;
}

std::vector<ProblemName> names_of(const std::vector<Cell>& cells) {
  std::vector<ProblemName> names;
  names.reserve(cells.size());
  for (const Cell& cell : cells) {
    names.push_back({cell.graph, cell.cluster});
  }
  return names;
}

// Describes the first difference between the plan of a checkpoint and the one that is wanted.
std::string difference(const TrainingPlan& stored, const TrainingPlan& wanted) {
  const auto numbers = [](std::string_view option, auto was, auto is) {
    return fmt::format("it was started with {} {}, not {}", option, was, is);
  };
  if (stored.agent != wanted.agent) {
    return fmt::format("it trains {}, not {}", stored.agent.text(), wanted.agent.text());
  }
  if (stored.graphs != wanted.graphs) {
    return "it was started with other graphs";
  }
  if (stored.validation != wanted.validation) {
    return "it was started with other validation graphs";
  }
  if (stored.clusters != wanted.clusters) {
    return fmt::format("it was started with --cluster {}, not {}", fmt::join(stored.clusters, " "),
                       fmt::join(wanted.clusters, " "));
  }
  if (stored.groups != wanted.groups) {
    return numbers("--groups", stored.groups, wanted.groups);
  }
  if (stored.grouping != wanted.grouping) {
    return numbers("--grouping", stored.grouping, wanted.grouping);
  }
  if (stored.root_seed != wanted.root_seed) {
    return numbers("--seed", stored.root_seed, wanted.root_seed);
  }
  if (stored.episodes != wanted.episodes) {
    return numbers("--episodes", stored.episodes, wanted.episodes);
  }
  return numbers("--patience", stored.patience, wanted.patience);
}

// Evaluators are restored in the state that their budgets allow, and counts of a curve only grow.
void check_state(const JsonCursor& json, const agents::Evaluator::State& state,
                 std::int64_t max_evaluations) {
  if (state.evaluations > max_evaluations) {
    json.at("evaluations")
        .fail(fmt::format("expected at most the {} of the plan, found {}", max_evaluations,
                          state.evaluations));
  }
}

void check_next(const JsonCursor& json, const CurveRow& row, const std::vector<CurveRow>& before) {
  if (!before.empty() &&
      (row.update < before.back().update || row.episodes < before.back().episodes ||
       row.evaluations < before.back().evaluations)) {
    json.fail("expected updates, episodes and evaluations that do not decrease");
  }
}

[[noreturn]] void refuse_checkpoint(const std::string& source, std::string_view why) {
  throw Error(ErrorCode::kUsage, fmt::format("{}: cannot resume: {}", source, why));
}

}  // namespace

std::string_view to_string(TrainingEnd end) {
  switch (end) {
    case TrainingEnd::kEpisodes:
      return "episodes";
    case TrainingEnd::kPatience:
      return "patience";
    case TrainingEnd::kStopped:
      return "stopped";
  }
  EMPLACE_CHECK(false, "end {}", static_cast<int>(end));
}

Training::Training(TrainingPlan plan, const std::atomic<bool>* stop)
    : plan_(checked(std::move(plan))),
      stop_(stop),
      agent_(make_trainable(plan_.agent, plan_.groups_are_given())),
      cells_(cells_of(plan_, plan_.graphs)),
      problems_(cells_),
      curve_(names_of(cells_)),
      validation_cells_(cells_of(plan_, plan_.validation)),
      validation_problems_(validation_cells_) {
  for (const Cell& cell : cells_) {
    const Problem& problem = problems_.find(cell).problem;
    if (problem.placeable_devices().size() == 1) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("there is nothing to learn on {}: it has one placeable device",
                              cell.cluster));
    }
    evaluators_.push_back(std::make_unique<agents::Evaluator>(
        problem, agents::Evaluator::Options{
                     .seed = cell.seed(),
                     .budget = {.max_evaluations = max_evaluations(problem), .stop = stop_}}));
  }
}

std::int64_t Training::max_evaluations(const Problem& problem) const {
  return plan_.episodes * agent_->evaluations_per_episode(problem.num_groups());
}

std::vector<CurveReference> Training::references() const {
  CurveReference bounds{.name = "lower bound"};
  CurveReference steps{.name = "HEFT"};
  for (const Cell& cell : cells_) {
    const ProblemSet::Entry& entry = problems_.find(cell);
    bounds.us.push_back(entry.bounds.best_us());
    agents::Evaluator evaluator(entry.problem, {});
    const Placement placement = agents::AgentSpec("heft").make()->place(entry.problem, evaluator);
    Simulator simulator(entry.problem);
    const SimResult& step = simulator.run(placement);
    steps.us.push_back(step.status == StepStatus::kOk ? step.makespan_us : 0);
  }
  return {bounds, steps};
}

std::int64_t Training::num_episodes() const {
  return plan_.episodes * static_cast<std::int64_t>(evaluators_.size());
}

TrainingEnd Training::run(int threads, const std::function<bool()>& after_update) {
  std::vector<agents::Evaluator*> evaluators;
  evaluators.reserve(evaluators_.size());
  for (const auto& evaluator : evaluators_) {
    evaluators.push_back(evaluator.get());
  }
  const std::int64_t patience = plan_.patience * static_cast<std::int64_t>(evaluators.size());
  auto end = TrainingEnd::kEpisodes;
  const auto callback = [&](const agents::TrainingUpdate& update) {
    CurveRow row{update};
    for (const agents::Evaluator* evaluator : evaluators) {
      row.evaluations += evaluator->budget().evaluations();
    }
    curve_.add(row);
    if (!update.is_last) {
      return true;
    }
    const bool is_done = update.episodes >= num_episodes();
    if (!is_done && patience > 0 && curve_.episodes_without_gain() >= patience) {
      end = TrainingEnd::kPatience;
    }
    if (is_due(update.episodes) || (end == TrainingEnd::kPatience && !validation_cells_.empty())) {
      if (!validate(update)) {
        end = TrainingEnd::kStopped;  // without this validation, a checkpoint would be wrong
        return false;
      }
    }
    if (is_done) {
      return false;  // episodes may need fewer evaluations than were budgeted
    }
    if (end == TrainingEnd::kEpisodes && !after_update()) {
      end = TrainingEnd::kStopped;
    }
    return end == TrainingEnd::kEpisodes;
  };
  on_threads(threads, [&] { agent_->train(evaluators, callback); });
  const bool is_whole = curve_.episodes() >= num_episodes() || end == TrainingEnd::kPatience;
  return stop_ != nullptr && *stop_ && !is_whole ? TrainingEnd::kStopped : end;
}

bool Training::is_due(std::int64_t episodes) const {
  const auto part_of = [&](std::int64_t played) { return played * kValidations / num_episodes(); };
  const std::int64_t last = validations_.empty() ? 0 : validations_.back().episodes;
  return !validation_cells_.empty() && part_of(episodes) > part_of(last);
}

// Returns whether it was not stopped.
bool Training::validate(const agents::TrainingUpdate& update) {
  std::string policy = agent_->save();
  const std::unique_ptr<agents::TrainableAgent> agent =
      make_trainable(plan_.agent, plan_.groups_are_given());
  agent->load(JsonDocument::parse(policy, "the policy").root());
  double log_sum = 0;
  for (const Cell& cell : validation_cells_) {
    const Problem& problem = validation_problems_.find(cell).problem;
    agents::Evaluator evaluator(
        problem,
        {.seed = cell.seed(),
         .budget = {.max_evaluations = agent->evaluations_per_episode(problem.num_groups()),
                    .stop = stop_}});
    agent->place_with_policy(problem, evaluator);
    if (stop_ != nullptr && *stop_) {
      return false;
    }
    log_sum += log_of(evaluator.incumbent().evaluation().objective_us());
  }
  const auto count = static_cast<double>(validation_cells_.size());
  validations_.push_back({.episodes = update.episodes,
                          .updates = update.update,
                          .objective_us = exp_of(log_sum / count)});
  if (&best_validation() == &validations_.back()) {
    best_policy_ = std::move(policy);
  }
  return true;
}

const Validation& Training::best_validation() const {
  return *std::min_element(
      validations_.rbegin(), validations_.rend(),
      [](const Validation& a, const Validation& b) { return a.objective_us < b.objective_us; });
}

PolicyOrigin Training::origin() const {
  if (!validations_.empty()) {
    const Validation& best = best_validation();
    return {.plan = plan_, .episodes_played = best.episodes, .updates = best.updates};
  }
  const auto& rows = curve_.rows();
  return {.plan = plan_,
          .episodes_played = curve_.episodes(),
          .updates = rows.empty() ? 0 : rows.back().update};
}

std::string Training::policy_file() const {
  return write_policy_file(origin(), validations_.empty() ? agent_->save() : best_policy_);
}

std::string Training::checkpoint() const {
  Json problems = Json::array();
  for (const ProblemHash& problem : problems_.hashes()) {
    problems.push_back(
        {{"graph", problem.graph}, {"cluster", problem.cluster}, {"hash", problem.hash}});
  }
  std::string evaluators;
  for (const auto& evaluator : evaluators_) {
    evaluators += (evaluators.empty() ? "\n" : ",\n") + to_json(evaluator->state()).text();
  }
  std::string curve;
  for (const CurveRow& row : curve_.rows()) {
    curve += (curve.empty() ? "\n" : ",\n") + to_json(row).text();
  }
  std::string validations;
  if (!validations_.empty()) {
    Json list = Json::array();
    for (const Validation& validation : validations_) {
      list.push_back(
          Json::array({validation.episodes, validation.updates, validation.objective_us}));
    }
    validations =
        "\"validations\": " + list.text() + ",\n\"best\": " + Json(best_policy_).text() + ",\n";
  }
  return with_checksum(
      fmt::format("{{\n\"schema\": \"{}\",\n\"version\": {},\n\"plan\": {},\n\"problems\": {},\n"
                  "\"sessions\": [{}],\n\"curve\": [{}],\n{}\"training\": {}}}\n",
                  kCheckpointSchema, kCheckpointVersion, to_json(plan_).indented(2),
                  problems.indented(2), evaluators, curve, validations, agent_->save_training()));
}

void Training::resume(std::string_view checkpoint, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(checkpoint, source);
  const JsonCursor root = document.root();
  root.expect_schema(kCheckpointSchema, kCheckpointVersion);
  root.expect_only({"schema", "version", "plan", "problems", "sessions", "curve", "validations",
                    "best", "training", "crc32"});
  const TrainingPlan stored = plan_from_json(root.at("plan"));
  if (stored != plan_) {
    refuse_checkpoint(source, difference(stored, plan_));
  }
  const std::vector<JsonCursor> hashes = root.at("problems").elements();
  const std::vector<JsonCursor> states = root.at("sessions").elements();
  if (hashes.size() != evaluators_.size() || states.size() != evaluators_.size()) {
    root.fail(fmt::format("expected {} problems and sessions", evaluators_.size()));
  }
  check_checksum(checkpoint, source);
  for (std::size_t i = 0; i < evaluators_.size(); ++i) {
    const ProblemHash& problem = problems_.hashes()[i];
    if (hashes[i].at("hash").text() != problem.hash) {
      refuse_checkpoint(source,
                        fmt::format("{} on {} has changed since", problem.graph, problem.cluster));
    }
    const agents::Evaluator::State state =
        evaluator_state_from_json(states[i], evaluators_[i]->problem());
    check_state(states[i], state, max_evaluations(evaluators_[i]->problem()));
    evaluators_[i]->restore(state);
  }
  for (const JsonCursor& json : root.at("curve").elements()) {
    const CurveRow row = row_from_json(json, evaluators_.size());
    check_next(json, row, curve_.rows());
    curve_.add(row);
  }
  load_validations(root, source);
  agent_->load_training(root.at("training"));
}

void Training::load_validations(const JsonCursor& root, const std::string& source) {
  const std::optional<JsonCursor> list = root.find("validations");
  if (!list) {
    return;
  }
  if (validation_cells_.empty() || list->elements().empty()) {
    list->fail("expected a validation at least, of a plan with validation graphs");
  }
  for (const JsonCursor& json : list->elements()) {
    const std::vector<JsonCursor> members = json.elements();
    if (members.size() != 3) {
      json.fail("expected the 3 numbers of a validation");
    }
    validations_.push_back({.episodes = members[0].integer(1, num_episodes()),
                            .updates = members[1].integer(1, kMaxInteger),
                            .objective_us = members[2].number(0, kMaxNumber)});
  }
  best_policy_ = root.at("best").text();
  make_trainable(plan_.agent, plan_.groups_are_given())
      ->load(JsonDocument::parse(best_policy_, source + ": /best").root());
}

}  // namespace emplace::bench
