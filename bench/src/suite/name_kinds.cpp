#include <emplace/agents/registry.hpp>
#include <emplace/base/name_kinds.hpp>
#include <emplace/bench/name_kinds.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>

namespace emplace::bench {

void tell_name_kinds() {
  emplace::tell_name_kinds({
      {"graph", [] { return GraphCatalog::global().names(); }},
      {"cluster", cluster_names},
      {"agent", [] { return agents::AgentRegistry::global().names(); }},
      {"suite", suite_names},
      {"grouping", grouping_names},
      {"device profile", device_profile_names},
  });
}

}  // namespace emplace::bench
