#include "engine.hpp"
#include "physical/physical_engine.hpp"
#include "placeto_model/placeto_engine.hpp"

#include <emplace/base/check.hpp>
#include <emplace/sim/neighbourhood.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <cstdint>

namespace emplace {
namespace {

void check(const Problem& problem, const Placement& placement) {
  EMPLACE_CHECK(placement.size() == problem.num_groups(),
                "a placement of {} groups for a problem of {}", placement.size(),
                problem.num_groups());
  EMPLACE_CHECK(
      !placement.has_priorities() || placement.priorities().end_id() == problem.num_groups(),
      "priorities of {} groups for a problem of {}", placement.priorities().size(),
      problem.num_groups());
  // As one number, which takes a fraction of the time of a check for each group.
  std::uint32_t largest = 0;  // a negative device is larger than any
  for (const DeviceId device : placement.devices()) {
    largest = std::max(largest, static_cast<std::uint32_t>(device));
  }
  EMPLACE_CHECK(largest < static_cast<std::uint32_t>(problem.num_devices()),
                "no device {} among {}", static_cast<DeviceId>(largest), problem.num_devices());
}

std::unique_ptr<Engine> make_engine(const Problem& problem, const CostTable& costs) {
  if (problem.cluster().transfer_model == TransferModel::kPlaceto) {
    return std::make_unique<placeto_model::PlacetoEngine>(problem, costs);
  }
  return std::make_unique<physical::PhysicalEngine>(problem, costs);
}

}  // namespace

std::string_view to_string(StepStatus status) {
  return status == StepStatus::kOk ? "ok" : "out_of_memory";
}

Simulator::Simulator(const Problem& problem) : Simulator(problem, problem.costs()) {}

Simulator::Simulator(const Problem& problem, const CostTable& costs)
    : problem_(problem), engine_(make_engine(problem, costs)) {}

Simulator::Simulator(Simulator&&) noexcept = default;
Simulator::~Simulator() = default;

const SimResult& Simulator::run(const Placement& placement) {
  return run(placement, Engine::kNoCutoff);
}

const SimResult& Simulator::run(const Placement& placement, double cutoff_us) {
  check(problem_, placement);
  return engine_->run(placement, cutoff_us);
}

StepRecord Simulator::record(const Placement& placement) {
  check(problem_, placement);
  engine_->run(placement, Engine::kNoCutoff);
  return engine_->describe(placement);
}

Neighbourhood::Neighbourhood(const Problem& problem)
    : problem_(problem), engine_(make_engine(problem, problem.costs())) {}

Neighbourhood::Neighbourhood(Neighbourhood&&) noexcept = default;
Neighbourhood::~Neighbourhood() = default;

void Neighbourhood::go_to(const Placement& base) {
  check(problem_, base);
  base_ = base;
  tried_ = base;
  moves_.clear();
  changes_.clear();
  has_started_ = false;
}

const SimResult& Neighbourhood::start() {
  take_back();
  has_started_ = true;
  return engine_->start(base_);
}

const SimResult& Neighbourhood::try_moves(std::span<const Move> moves, double cutoff_us) {
  for (const Move& move : moves) {
    EMPLACE_CHECK(move.group >= 0 && move.group < problem_.num_groups() && move.device >= 0 &&
                      move.device < problem_.num_devices(),
                  "a move of group {} of {} to device {} of {}", move.group, problem_.num_groups(),
                  move.device, problem_.num_devices());
  }
  prepare();
  moves_.assign(moves.begin(), moves.end());
  for (const Move& move : moves_) {
    tried_[move.group] = move.device;
  }
  return engine_->try_moves(base_, tried_, moves_, cutoff_us);
}

const SimResult& Neighbourhood::try_priorities(std::span<const PriorityChange> changes,
                                               double cutoff_us) {
  EMPLACE_CHECK(base_.has_priorities(), "a base without priorities");
  for (const PriorityChange& change : changes) {
    EMPLACE_CHECK(change.group >= 0 && change.group < problem_.num_groups(),
                  "a priority of group {} of {}", change.group, problem_.num_groups());
  }
  prepare();
  changes_.assign(changes.begin(), changes.end());
  for (const PriorityChange& change : changes_) {
    tried_.set_priority(change.group, change.priority);
  }
  return engine_->try_moves(base_, tried_, {}, cutoff_us);
}

void Neighbourhood::accept() {
  for (const Move& move : moves_) {
    base_[move.group] = move.device;
  }
  for (const PriorityChange& change : changes_) {
    base_.set_priority(change.group, change.priority);
  }
  moves_.clear();
  changes_.clear();
  engine_->accept();
}

void Neighbourhood::prepare() {
  if (!has_started_ && engine_->needs_start()) {
    start();
  }
  take_back();
}

// Makes tried() the base again.
void Neighbourhood::take_back() {
  for (const Move& move : moves_) {
    tried_[move.group] = base_[move.group];
  }
  for (const PriorityChange& change : changes_) {
    tried_.set_priority(change.group, base_.priorities()[change.group]);
  }
  moves_.clear();
  changes_.clear();
}

}  // namespace emplace
