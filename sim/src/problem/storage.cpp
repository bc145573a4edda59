// The part of a problem that says which results need no memory of their own.

#include <emplace/graphs/op_kind.hpp>
#include <emplace/sim/op_problem.hpp>

#include <boost/range/iterator_range.hpp>

#include <algorithm>

namespace emplace {

void OpProblem::compile_storage(Compiled& ops) const {
  ops.viewed_input.assign(ops.num_ops, kNoUse);
  ops.works_in_place.assign(ops.num_ops, false);
  ops.storage.resize(num_outputs());
  for (OutputId output = 0; output < num_outputs(); ++output) {
    ops.storage[output] = output;
  }
  if (ops.cluster->transfer_model == TransferModel::kPlaceto) {
    return;
  }
  const OpGraph& graph = *ops.graph;
  for (const OpId op : ops.order) {
    const ResultMemory memory = result_memory_of(graph[index_of(op)].kind);
    if (memory == ResultMemory::kOwn || graph[index_of(op)].outputs.empty()) {
      continue;
    }
    if (memory == ResultMemory::kInPlace) {
      ops.works_in_place[op] = true;
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
    const OutputId viewed = ops.output_begin[producer] + graph[*first].output;
    const OutputId view = ops.output_begin[op];
    if (ops.output_bytes[view] != ops.output_bytes[viewed]) {
      continue;
    }
    ops.viewed_input[op] =
        *std::ranges::find(inputs(op), viewed, [&](UseId input) { return ops.uses[input].output; });
    ops.storage[view] = ops.storage[viewed];
    ops.output_allocated_bytes[view] = 0;
    ops.allocated_bytes[op] = 0;
  }
}

}  // namespace emplace
