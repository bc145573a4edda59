// A cluster file, and a small graph on the cluster if it is one.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <memory>
#include <string_view>

namespace {

constexpr emplace::DeviceId kMaxDevices = 16;
constexpr emplace::OpId kOps = 12;

// Each op reads the three before it.
std::shared_ptr<const emplace::OpGraph> ladder() {
  auto graph = std::make_shared<emplace::OpGraph>();
  for (emplace::OpId op = 0; op < kOps; ++op) {
    boost::add_vertex(emplace::Op{.name = fmt::format("op_{:02}", op),
                                  .kind = op % 4 == 0 ? "conv2d" : "relu",
                                  .flops = 1'000'000 * op,
                                  .bytes_read = 1000,
                                  .bytes_written = 1000,
                                  .outputs = {{.bytes = 4096 * (op % 3)}},
                                  .workspace_bytes = 100},
                      *graph);
    for (emplace::OpId input = op > 3 ? op - 3 : 0; input < op; ++input) {
      emplace::add_dependency(*graph, input, 0, op);
    }
  }
  return graph;
}

}  // namespace

void emplace::fuzz::try_input(std::string_view text) {
  static const std::shared_ptr<const emplace::OpGraph> graph = ladder();
  auto cluster = std::make_shared<const emplace::Cluster>(emplace::read_cluster(text, "fuzz"));
  if (cluster->devices.size() > static_cast<std::size_t>(kMaxDevices)) {
    return;
  }
  const emplace::Problem problem(graph, emplace::ungrouped(*graph), std::move(cluster));
  emplace::Placement placement(problem.num_groups());
  for (emplace::GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = group % problem.num_devices();
  }
  const emplace::LowerBounds bounds = emplace::lower_bounds(problem);
  emplace::Simulator simulator(problem);
  const emplace::SimResult& result = simulator.run(placement);
  EMPLACE_CHECK(
      result.makespan_us >= bounds.critical_path_us && result.makespan_us >= bounds.total_work_us,
      "a step of {} us is below its bounds", result.makespan_us);
}
