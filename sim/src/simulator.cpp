#include "engine.hpp"
#include "physical/physical_engine.hpp"
#include "placeto_model/placeto_engine.hpp"

#include <emplace/base/check.hpp>
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

}  // namespace

std::string_view to_string(StepStatus status) {
  return status == StepStatus::kOk ? "ok" : "out_of_memory";
}

Simulator::Simulator(const Problem& problem) : problem_(problem) {
  if (problem.cluster().transfer_model == TransferModel::kPlaceto) {
    engine_ = std::make_unique<placeto_model::PlacetoEngine>(problem);
  } else {
    engine_ = std::make_unique<physical::PhysicalEngine>(problem);
  }
}

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
  return engine_->record(placement);
}

}  // namespace emplace
