#include "every_kind.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <string>
#include <utility>

namespace emplace::calibrate {

std::vector<OpGraph> graphs_of_every_kind() {
  ModelBuilder net("split");
  const auto parts = net.split(net.variable("x", {2, 4}), 2, 1);
  net.mean_squared_error(parts[0], net.input("target", {2, 2}));
  std::vector<OpGraph> graphs{training_graph(std::move(net).finish(), find_optimizer("sgd"))};
  for (const std::string& name : GraphCatalog::global().names()) {
    graphs.push_back(GraphCatalog::global().build(Spec::parse(name)));
  }
  return graphs;
}

}  // namespace emplace::calibrate
