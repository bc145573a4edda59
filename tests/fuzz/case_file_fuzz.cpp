// A line of a case file, simulated if it is one, in the model that it is of.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/case_file.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/simulator.hpp>

#include <string_view>

namespace {

// Larger ones are simulated elsewhere; here they would only cost time.
constexpr emplace::DeviceId kMaxDevices = 16;

}  // namespace

void emplace::fuzz::try_input(std::string_view line) {
  const emplace::bench::SimulationCase parsed = emplace::bench::read_case(line, "fuzz");
  if (parsed.problem.num_devices() > kMaxDevices) {
    return;
  }
  const emplace::LowerBounds bounds = emplace::lower_bounds(parsed.problem);
  emplace::Simulator simulator(parsed.problem);
  for (std::size_t i = 0; i < parsed.placements.size(); ++i) {
    const emplace::StepRecord record = simulator.record(parsed.placements[i]);
    EMPLACE_CHECK(
        record.makespan_us >= bounds.critical_path_us && record.makespan_us >= bounds.total_work_us,
        "a step of {} us is below its bounds", record.makespan_us);
    emplace::bench::write_case_result(parsed, i, record);
    emplace::write_chrome_trace(parsed.problem, record);
  }
}
