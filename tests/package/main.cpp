// Lists all agents, then lets one of the library's and the project's own place a small network.

#include <emplace/agents/registry.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <memory>

namespace {

emplace::OpGraph two_branches() {
  emplace::ModelBuilder net("two-branches");
  const emplace::Tensor image = net.input("image", {64, 64, 32, 32});
  const emplace::Tensor wide = net.conv2d(image, {.filters = 256, .kernel = {5, 5}});
  const emplace::Tensor deep = net.conv2d(net.conv2d(image, {.filters = 128, .kernel = {3, 3}}),
                                          {.filters = 256, .kernel = {5, 5}});
  const emplace::Tensor logits = net.dense(net.global_avg_pool(net.add(wide, deep)), 10);
  net.softmax_cross_entropy(logits, net.input("labels", {64}, emplace::DataType::kInt32));
  return emplace::training_graph(std::move(net).finish(), emplace::find_optimizer("sgd"));
}

double step_time_us(const emplace::Problem& problem, const char* agent) {
  const emplace::Spec spec = emplace::Spec::parse(agent);
  emplace::agents::Session session(problem, {});
  const emplace::Placement placement =
      emplace::agents::AgentRegistry::global().make(spec)->place(problem, session);
  return emplace::Simulator(problem).run(placement).makespan_us;
}

}  // namespace

int main() {
  for (const std::string& name : emplace::agents::AgentRegistry::global().names()) {
    fmt::print("agent {}\n", name);
  }
  auto graph = std::make_shared<const emplace::OpGraph>(two_branches());
  const emplace::Problem problem(
      graph, emplace::ungrouped(*graph),
      std::make_shared<const emplace::Cluster>(emplace::load_cluster("p2-8xlarge-2")));
  const double last_us = step_time_us(problem, "everything-on-the-last");
  const double single_us = step_time_us(problem, "single-gpu");
  fmt::print("everything-on-the-last {:.0f} us, single-gpu {:.0f} us\n", last_us, single_us);
  // One K80 is like the other.
  return last_us > 0 && last_us == single_us ? EXIT_SUCCESS : EXIT_FAILURE;
}
