#include "placeto_engine.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <limits>

namespace emplace {

std::string_view to_string(StepStatus status) {
  return status == StepStatus::kOk ? "ok" : "out_of_memory";
}

Simulator::Simulator(const Problem& problem)
    : problem_(problem), engine_(std::make_unique<PlacetoEngine>(problem)) {}
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator::~Simulator() = default;

const SimResult& Simulator::run(const Placement& placement) {
  EMPLACE_CHECK(placement.size() == problem_.num_groups(),
                "a placement of {} groups for a problem of {}", placement.size(),
                problem_.num_groups());
  for (const DeviceId device : placement.devices()) {
    EMPLACE_CHECK(device >= 0 && device < problem_.num_devices(), "no device {} among {}", device,
                  problem_.num_devices());
  }
  engine_->run(placement);
  engine_->account_memory(placement);
  result_ = {.status = StepStatus::kOk,
             .makespan_us = engine_->makespan_us(),
             .start_us = engine_->start_us(),
             .end_us = engine_->end_us(),
             .freed_us = engine_->freed_us(),
             .transfer_start_us = engine_->transfer_start_us(),
             .transfer_end_us = engine_->transfer_end_us(),
             .peak_bytes = engine_->peak_bytes(),
             .worst_device = 0,
             .bytes_over = 0};
  std::int64_t worst_over = std::numeric_limits<std::int64_t>::min();
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    const std::int64_t over =
        result_.peak_bytes[static_cast<std::size_t>(device)] - problem_.memory_bytes(device);
    result_.bytes_over += std::max<std::int64_t>(over, 0);
    if (over > worst_over) {
      worst_over = over;
      result_.worst_device = device;
    }
  }
  result_.status = result_.bytes_over > 0 ? StepStatus::kOutOfMemory : StepStatus::kOk;
  return result_;
}

}  // namespace emplace
