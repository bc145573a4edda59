#include "physical_engine.hpp"
#include "placeto_engine.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <limits>

namespace emplace {

namespace {

// Adds the transfers and allocations of the engine's last run to `record`.
void add_details(const Problem& problem, const PlacetoEngine& engine, StepRecord& record) {
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const auto at = static_cast<std::size_t>(op);
    const DeviceId device = record.placement[problem.grouping().group_of(op)];
    record.allocations.push_back({.op = op,
                                  .output = Allocation::kAllOutputs,
                                  .kind = Allocation::Kind::kOutput,
                                  .device = device,
                                  .from_us = engine.start_us()[at],
                                  .until_us = engine.freed_us()[at],
                                  .bytes = problem.allocated_bytes(op)});
    const auto [begin, end] = problem.outputs(op);
    for (std::int32_t output = begin; output < end; ++output) {
      const double start_us = engine.transfer_start_us()[static_cast<std::size_t>(output)];
      if (start_us >= 0) {
        record.transfers.push_back(
            {.producer = op,
             .output = output,
             .from = device,
             .to = Transfer::kToAll,
             .wanted_us = engine.end_us()[at],
             .start_us = start_us,
             .end_us = engine.transfer_end_us()[static_cast<std::size_t>(output)]});
      }
    }
  }
}

}  // namespace

std::string_view to_string(StepStatus status) {
  return status == StepStatus::kOk ? "ok" : "out_of_memory";
}

Simulator::Simulator(const Problem& problem, Options options) : problem_(problem) {
  if (problem.cluster().transfer_model == TransferModel::kPlaceto) {
    placeto_ = std::make_unique<PlacetoEngine>(problem);
  } else {
    physical_ = std::make_unique<PhysicalEngine>(problem, options.stop_when_out_of_memory);
  }
}

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
  const auto take_results = [&](const auto& engine) {
    result_ = {.makespan_us = engine.makespan_us(),
               .start_us = engine.start_us(),
               .end_us = engine.end_us(),
               .peak_bytes = engine.peak_bytes()};
  };
  if (placeto_) {
    placeto_->run(placement);
    placeto_->account_memory(placement);
    take_results(*placeto_);
  } else {
    physical_->run(placement);
    take_results(*physical_);
  }
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

StepRecord Simulator::record(const Placement& placement) {
  if (physical_) {
    physical_->forget();  // a replay has no details
  }
  const SimResult& result = run(placement);
  StepRecord record{.placement = placement,
                    .status = result.status,
                    .makespan_us = result.makespan_us,
                    .start_us = {result.start_us.begin(), result.start_us.end()},
                    .end_us = {result.end_us.begin(), result.end_us.end()},
                    .transfers = {},
                    .allocations = {},
                    .peak_bytes = {result.peak_bytes.begin(), result.peak_bytes.end()},
                    .worst_device = result.worst_device,
                    .bytes_over = result.bytes_over};
  if (placeto_) {
    add_details(problem_, *placeto_, record);
  } else {
    physical_->add_details(record);
  }
  return record;
}

}  // namespace emplace
