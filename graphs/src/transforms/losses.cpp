#include "losses.hpp"

#include <emplace/base/id_vector.hpp>

#include <boost/range/iterator_range.hpp>

#include <algorithm>

namespace emplace {

bool is_loss(const OpGraph& graph, OpId op) {
  const auto uses = boost::make_iterator_range(boost::out_edges(index_of(op), graph));
  return std::ranges::find(kLosses, graph[index_of(op)].kind) != kLosses.end() &&
         std::none_of(uses.begin(), uses.end(), [&](auto use) { return graph[use].output == 0; });
}

}  // namespace emplace
