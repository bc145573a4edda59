// A placement of a small graph, which is simulated, written and read again if it is one.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/placement_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <memory>
#include <string_view>

namespace {

using emplace::Problem;

Problem small_problem() {
  auto graph =
      std::make_shared<const emplace::OpGraph>(emplace::load_graph("fork-join:width=2,stages=2"));
  emplace::Grouping grouping = emplace::ungrouped(*graph);
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const emplace::Cluster>(emplace::load_cluster("p2-8xlarge-2")));
}

}  // namespace

void emplace::fuzz::try_input(std::string_view text) {
  static const Problem problem = small_problem();
  const emplace::Placement placement = emplace::read_placement_json(text, "fuzz", problem);
  emplace::Simulator(problem).run(placement);
  const std::string written = emplace::write_placement_json(problem, placement);
  EMPLACE_CHECK(emplace::read_placement_json(written, "again", problem) == placement,
                "the placement lost something");
}
