#include "items.hpp"

#include <emplace/base/elementary.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <algorithm>
#include <utility>

namespace emplace::agents::rnn {
namespace {

std::size_t kind_index(const std::string& kind) {
  const OpKind* const found = find_op_kind(kind);
  return found != nullptr ? static_cast<std::size_t>(found - op_kinds().data()) : op_kinds().size();
}

// The shapes of the outputs of `op` that other groups read, with their bytes.
void add_leaving(const Problem& problem, OpId op,
                 std::vector<std::pair<std::int64_t, const Output*>>& leaving) {
  const Op& description = problem.op(op);
  const std::int32_t first = problem.outputs(op).first;
  const auto [begin, end] = problem.uses_of(op);
  std::int32_t added = Dependency::kControl;  // uses of one output are adjacent
  for (std::int32_t at = begin; at < end; ++at) {
    const Problem::Use& use = problem.uses()[at];
    if (use.output == Dependency::kControl || use.output == added ||
        problem.grouping().group_of(use.consumer) == problem.grouping().group_of(op)) {
      continue;
    }
    added = use.output;
    const auto index = static_cast<std::size_t>(use.output - first);
    if (index < description.outputs.size()) {
      leaving.emplace_back(problem.output_bytes(use.output), &description.outputs[index]);
    }
  }
}

void read_ops(const Problem& problem, Item& item) {
  std::vector<std::pair<std::int64_t, const Output*>> leaving;
  item.kinds.assign(num_kinds(), 0);
  for (const OpId op : problem.grouping().members(item.group)) {
    ++item.kinds[kind_index(problem.op(op).kind)];
    add_leaving(problem, op, leaving);
  }
  std::ranges::stable_sort(leaving, std::ranges::greater{},
                           &std::pair<std::int64_t, const Output*>::first);
  item.shapes.fill(-1);
  for (std::size_t i = 0; i < std::min(kShapes, leaving.size()); ++i) {
    const std::vector<std::int64_t>& shape = leaving[i].second->shape;
    std::copy_n(shape.begin(), std::min(kDimensions, shape.size()),
                item.shapes.begin() + static_cast<std::ptrdiff_t>(i * kDimensions));
  }
}

void number_breadth_first(std::vector<Item>& items) {
  std::vector<std::size_t> queue;
  std::vector<bool> is_visited(items.size(), false);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].producers.empty()) {
      queue.push_back(i);
      is_visited[i] = true;
    }
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    items[queue[next]].breadth_first = static_cast<std::int32_t>(next);
    for (const std::int32_t consumer : items[queue[next]].consumers) {
      const auto to = static_cast<std::size_t>(consumer);
      if (!is_visited[to]) {
        is_visited[to] = true;
        queue.push_back(to);
      }
    }
  }
}

}  // namespace

std::size_t num_kinds() { return op_kinds().size() + 1; }

std::vector<Item> items_of(const Problem& problem) {
  std::vector<Item> items(static_cast<std::size_t>(problem.num_groups()));
  IdVector<GroupId, std::int32_t> item_of(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].group = problem.group_order()[i];
    item_of[items[i].group] = static_cast<std::int32_t>(i);
  }
  for (Item& item : items) {
    read_ops(problem, item);
    for (const GroupEdge& edge : problem.group_in_edges(item.group)) {
      item.producers.push_back(item_of[edge.producer]);
    }
    for (const GroupEdge& edge : problem.group_out_edges(item.group)) {
      item.consumers.push_back(item_of[edge.consumer]);
    }
  }
  number_breadth_first(items);
  return items;
}

double scaled_dimension(double dimension, double absent) {
  constexpr double kScale = 10;
  return dimension < 0 ? absent : log_of(1 + dimension) / kScale;
}

}  // namespace emplace::agents::rnn
