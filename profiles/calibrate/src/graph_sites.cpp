#include <emplace/base/id_vector.hpp>
#include <emplace/base/json.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/graph_json.hpp>
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
      site.producers.push_back(producer.kind);
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

namespace {

Json json_of(const std::vector<Output>& tensors) {
  Json list = Json::array();
  for (const Output& tensor : tensors) {
    list.push_back({{"shape", tensor.shape}, {"type", to_string(tensor.type)}});
  }
  return list;
}

}  // namespace

std::string sites_json(std::span<const OpSite> sites) {
  Json list = Json::array();
  for (const OpSite& site : sites) {
    const Op& op = site.op;
    list.push_back({{"kind", op.kind},
                    {"type", to_string(key_type(op))},
                    {"shape", op.shape},
                    {"attributes", attributes_text(op.attributes)},
                    {"flops", op.flops},
                    {"bytes", op.bytes_read + op.bytes_written},
                    {"inputs", json_of(site.inputs)},
                    {"producers", site.producers},
                    {"outputs", json_of(op.outputs)}});
  }
  return std::move(list).text();
}

}  // namespace emplace::calibrate
