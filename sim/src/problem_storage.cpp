// The part of a problem that says which results need no memory of their own.

#include <emplace/graphs/op_kind.hpp>
#include <emplace/sim/problem.hpp>

#include <boost/range/iterator_range.hpp>

#include <algorithm>

namespace emplace {

void Problem::compile_storage() {
  viewed_input_.assign(num_ops_, kNoUse);
  works_in_place_.assign(num_ops_, false);
  storage_.resize(num_outputs());
  for (OutputId output = 0; output < num_outputs(); ++output) {
    storage_[output] = output;
  }
  if (cluster_->transfer_model == TransferModel::kPlaceto) {
    return;
  }
  const OpGraph& graph = *graph_;
  for (const OpId op : order_) {
    const ResultMemory memory = result_memory_of(graph[index_of(op)].kind);
    if (memory == ResultMemory::kOwn || graph[index_of(op)].outputs.empty()) {
      continue;
    }
    if (memory == ResultMemory::kInPlace) {
      works_in_place_[op] = true;
      continue;
    }
    // A view of its first input. A file may say that it makes more than that, or other sizes.
    const auto edges = boost::make_iterator_range(boost::in_edges(index_of(op), graph));
    const auto first = std::find_if(edges.begin(), edges.end(), [&](auto edge) {
      return graph[edge].output != Dependency::kControl;
    });
    if (first == edges.end() || graph[index_of(op)].outputs.size() > 1) {
      continue;
    }
    const auto producer = static_cast<OpId>(boost::source(*first, graph));
    const OutputId viewed = output_begin_[producer] + graph[*first].output;
    const OutputId view = output_begin_[op];
    if (output_bytes_[view] != output_bytes_[viewed]) {
      continue;
    }
    viewed_input_[op] =
        *std::ranges::find(inputs(op), viewed, [&](UseId input) { return uses_[input].output; });
    storage_[view] = storage_[viewed];
    output_allocated_bytes_[view] = 0;
    allocated_bytes_[op] = 0;
  }
}

}  // namespace emplace
