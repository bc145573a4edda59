#include "op_table.hpp"

#include "step_times.hpp"

#include <algorithm>
#include <iterator>

namespace emplace::placeto_model {

// Ops without consumers are taken to have one output that takes its time and is never sent.
OpTable::OpTable(const Problem& problem, const StepTimes& times) {
  constexpr std::uint32_t kRankMask = (std::uint32_t{1} << kRankBits) - 1;
  const OpId sentinel = problem.num_ops();
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const auto children = problem.children_by_name(op);
    const OutputId only_output = StepTimes::only_output(problem, op);
    Row row{.consumers = {},
            .more_consumers = static_cast<std::int32_t>(more_consumers.size()),
            .num_consumers = static_cast<std::int32_t>(children.size()),
            .transfer_us = times.transfer_us[std::max<OutputId>(only_output, 0)],
            .only_output = only_output,
            .has_gap = problem.gap_us(op) > 0,
            .name_rank = static_cast<std::uint32_t>(problem.name_rank(op)) & kRankMask};
    std::fill(std::begin(row.consumers), std::end(row.consumers), sentinel);
    for (std::size_t at = 0; at < children.size(); ++at) {
      if (at < std::size(row.consumers)) {
        row.consumers[at] = children[at].op;
      } else {
        more_consumers.push_back(children[at].op);
      }
    }
    while (more_consumers.size() % kBlock != 0) {
      more_consumers.push_back(sentinel);
    }
    rows.push_back(row);
    if (problem.num_parents(op) == 0) {
      roots.push_back(op);
    }
  }
}

}  // namespace emplace::placeto_model
