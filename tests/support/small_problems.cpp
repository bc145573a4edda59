#include "support/small_problems.hpp"

#include <emplace/graphs/grouping.hpp>

#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace emplace::test {

Problem draw_small_problem(const std::function<std::uint64_t(std::uint64_t)>& below,
                           TransferModel model, double max_placements) {
  for (;;) {
    const auto coincidences = below(2) == 0 ? Coincidences::kMany : Coincidences::kNone;
    const RandomStep step = draw_step(below, coincidences, 12);
    auto cluster = std::make_shared<Cluster>(*step.cluster);
    cluster->transfer_model = model;
    cluster->placeto = {.gap_after_op_us = static_cast<double>(below(5)),
                        .gap_after_transfer_us = static_cast<double>(below(10)),
                        .bytes_per_us = static_cast<double>(6 + below(30))};
    cluster->grappler = {.latency_us = static_cast<double>(below(5)),
                         .bytes_per_us = static_cast<double>(6 + below(30))};
    if (below(2) == 0) {
      for (Device& device : cluster->devices) {
        device.profile = 0;
      }
    }
    std::vector<GroupId> group_of;
    GroupId group = 0;
    const std::uint64_t joins = below(3);
    for (std::size_t op = 0; op < boost::num_vertices(step.graph); ++op) {
      group += op > 0 && below(4) >= joins ? 1 : 0;
      group_of.push_back(group);
    }
    if (std::pow(static_cast<double>(cluster->devices.size()), group + 1) <= max_placements) {
      return Problem(std::make_shared<const OpGraph>(step.graph), Grouping(std::move(group_of)),
                     std::move(cluster));
    }
  }
}

void for_each_placement(const Problem& problem,
                        const std::function<void(const Placement&)>& visit) {
  const std::span<const DeviceId> devices = problem.placeable_devices();
  std::vector<std::size_t> choice(index_of(problem.num_groups()), 0);
  Placement placement(problem.num_groups(), devices.front());
  for (;;) {  // counts in base devices.size()
    visit(placement);
    GroupId group = 0;
    while (group < placement.size() && ++choice[index_of(group)] == devices.size()) {
      choice[index_of(group)] = 0;
      placement[group++] = devices.front();
    }
    if (group == placement.size()) {
      return;
    }
    placement[group] = devices[choice[index_of(group)]];
  }
}

}  // namespace emplace::test
