#include "same_network.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace emplace {

void fail_to_join(const OpGraph& graph, const std::string& op, std::string_view why) {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("graph '{}' cannot have its batch in parts: op '{}' {}",
                          graph[boost::graph_bundle].name, op, why));
}

void expect_same_network(const OpGraph& graph, const OpGraph& part) {
  const OpId common = std::min(num_ops(graph), num_ops(part));
  for (OpId op = 0; op < common; ++op) {
    const Op& here = graph[index_of(op)];
    if (part[index_of(op)].name != here.name) {
      fail_to_join(graph, here.name,
                   fmt::format("is '{}' in a smaller batch", part[index_of(op)].name));
    }
    const auto inputs = boost::make_iterator_range(boost::in_edges(index_of(op), graph));
    const auto others = boost::make_iterator_range(boost::in_edges(index_of(op), part));
    if (!std::ranges::equal(inputs, others, [&](auto one, auto other) {
          return boost::source(one, graph) == boost::source(other, part) &&
                 graph[one].output == part[other].output;
        })) {
      fail_to_join(graph, here.name, "has other inputs in a smaller batch");
    }
  }
  if (num_ops(graph) != num_ops(part)) {
    const OpGraph& larger = num_ops(graph) > num_ops(part) ? graph : part;
    fail_to_join(graph, larger[index_of(common)].name,
                 "does not exist in both the batch and a part of it");
  }
}

}  // namespace emplace
