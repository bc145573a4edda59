#include <emplace/base/id_vector.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/profiles/op_key.hpp>

#include <boost/range/iterator_range.hpp>

#include <map>
#include <utility>

namespace emplace::calibrate {

OpSite site_of(const OpGraph& graph, OpId op) {
  const auto vertex = index_of(op);
  OpSite site{.op = graph[vertex]};
  for (const auto edge : boost::make_iterator_range(boost::in_edges(vertex, graph))) {
    const std::int32_t output = graph[edge].output;
    if (output != Dependency::kControl) {
      const Op& producer = graph[boost::source(edge, graph)];
      site.inputs.push_back(producer.outputs[index_of(output)]);
    }
  }
  return site;
}

std::vector<OpSite> distinct_sites(std::span<const OpGraph> graphs) {
  std::map<OpKey, OpSite> by_key;
  for (const OpGraph& graph : graphs) {
    for (OpId op = 0; op < num_ops(graph); ++op) {
      const Op& found = graph[index_of(op)];
      if (launches(found.kind)) {
        OpKey key = key_of(found);
        if (!by_key.contains(key)) {
          by_key.emplace(std::move(key), site_of(graph, op));
        }
      }
    }
  }
  std::vector<OpSite> sites;
  sites.reserve(by_key.size());
  for (auto& [key, site] : by_key) {
    sites.push_back(std::move(site));
  }
  return sites;
}

}  // namespace emplace::calibrate
