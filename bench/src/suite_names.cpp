#include "suite_names.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/params.hpp>
#include <emplace/profiles/cluster.hpp>

#include <algorithm>

namespace emplace::bench {
namespace {

constexpr std::size_t kMaxNameLength = 64;

}  // namespace

bool names_file(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
}

bool is_kebab_case(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMaxNameLength && plain(name.front()) &&
         plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-'; }) &&
         name.find("--") == std::string_view::npos;
}

Names expand_graph(const std::string& name) { return expand_graphs(name); }

Names expand_cluster(const std::string& name) {
  const Names names = cluster_names();
  if (!names_file(name) && !std::ranges::binary_search(names, name)) {
    throw_unknown_name("cluster", name, names);
  }
  return {name};
}

Names expand_agent(const std::string& name) {
  const Spec spec = Spec::parse(name);
  resolve_params(agents::AgentRegistry::global().info(spec.name).parameters, spec,
                 "agent " + spec.name);
  return {name};
}

Names expand_trainable_agent(const std::string& name) {
  expand_agent(name);
  make_trainable(name);
  return {name};
}

}  // namespace emplace::bench
