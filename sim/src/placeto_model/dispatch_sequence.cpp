#include "dispatch_sequence.hpp"

#include <algorithm>
#include <cstddef>

namespace emplace::placeto_model {

DispatchSequence::DispatchSequence(const Problem& problem, const StepTimes& times)
    : records(problem.num_ops()), place(problem.num_ops()) {
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const OutputId only_output = StepTimes::only_output(problem, op);
    const auto begin = static_cast<std::int32_t>(inputs.size());
    rows.push_back({.sources = begin,
                    .sources_end = begin,
                    .only_output = only_output,
                    .device = 0,
                    .transfer_us = times.transfer_us[std::max<OutputId>(only_output, 0)],
                    .gap_us = problem.gap_us(op)});
    const std::int32_t blocks = std::max((problem.num_parents(op) + kBlock - 1) / kBlock, 1);
    inputs.resize(inputs.size() + index_of(blocks * kBlock), {StepTimes::kNone, StepTimes::kNone});
  }
  const auto zero = static_cast<std::int32_t>(times.known_us.size() - 1);
  sources.resize(inputs.size(), zero);
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    for (const Problem::Child& child : problem.children(op)) {
      inputs[rows[child.op].sources_end++] = {op, child.output};
    }
  }
}

}  // namespace emplace::placeto_model
