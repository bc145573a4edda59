#include "policy_facts.hpp"

#include "terminal.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/base/counted.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace emplace::cli {

using agents::AgentRegistry;

bool names_agent(std::string_view spec) {
  const std::vector<std::string> names = AgentRegistry::global().names();
  return std::ranges::find(names, spec.substr(0, spec.find(':'))) != names.end();
}

PolicyFacts facts_of_policy(std::string_view spec, std::string_view cluster_name) {
  const std::unique_ptr<agents::TrainableAgent> agent = bench::make_trainable(spec);
  const Cluster cluster = load_cluster(cluster_name);
  PolicyFacts facts{.agent = std::string(spec),
                    .cluster = cluster.name,
                    .devices = std::ranges::count_if(cluster.devices, &Device::placeable)};
  facts.layers = agent->layers(static_cast<DeviceId>(facts.devices));
  for (const agents::PolicyLayer& layer : facts.layers) {
    facts.weights += layer.weights();
  }
  return facts;
}

std::string to_text(const PolicyFacts& facts) {
  using Align = bench::TextTable::Align;
  std::string text = fmt::format("policy of {} for the {} of {}: {}\n\n", facts.agent,
                                 counted(facts.devices, "placeable device"), facts.cluster,
                                 counted(facts.weights, "weight"));
  bench::TextTable table({{"layer"},
                          {"inputs", Align::kRight},
                          {"outputs", Align::kRight},
                          {"weights", Align::kRight}});
  for (const agents::PolicyLayer& layer : facts.layers) {
    table.add_row({layer.name, fmt::format("{}", layer.inputs), fmt::format("{}", layer.outputs),
                   fmt::format("{}", layer.weights())});
  }
  return text + table.to_terminal(false, table_width());
}

Json to_json(const PolicyFacts& facts) {
  Json json = {{"schema_version", 1},
               {"agent", facts.agent},
               {"cluster", facts.cluster},
               {"devices", facts.devices}};
  Json layers = Json::array();
  for (const agents::PolicyLayer& layer : facts.layers) {
    layers.push_back({{"name", layer.name},
                      {"inputs", layer.inputs},
                      {"outputs", layer.outputs},
                      {"weights", layer.weights()}});
  }
  json.add("layers", layers);
  json.add("weights", facts.weights);
  return json;
}

}  // namespace emplace::cli
