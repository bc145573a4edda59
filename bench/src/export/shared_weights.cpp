#include "shared_weights.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace emplace::bench {

SharedWeights::SharedWeights(const Problem& problem, const ModuleTree& tree)
    : problem_(problem), tree_(tree), sets_(tree.modules().size()) {
  for (const OpId op : problem.topological_order()) {
    if (problem.op(op).kind != "variable") {
      continue;
    }
    SharedWeight weight{.variable = op};
    for (const Problem::Child& child : problem.children(op)) {
      if (problem.op(child.op).phase == Phase::kForward) {
        weight.readers.push_back(child.op);
      }
    }
    const ModuleId holder = tree.module_of(op);
    if (weight.readers.empty() ||
        (weight.readers.size() == 1 && tree.module_of(weight.readers.front()) == holder)) {
      continue;
    }
    for (const OpId reader : weight.readers) {
      const ModuleId module = tree.module_of(reader);
      if (tree.modules()[holder].is_leaf() && tree.modules()[module].is_leaf()) {
        sets_.union_set(index_of(holder), index_of(module));
      }
    }
    weights_.push_back(std::move(weight));
  }
}

void SharedWeights::tie_whole(ModuleId module) {
  for (const ModuleId child : tree_.modules()[module].children) {
    sets_.union_set(index_of(module), index_of(child));
    tie_whole(child);
  }
}

std::vector<OpId> SharedWeights::tied_ops(ModuleId module) {
  std::set<std::size_t> sets;
  std::vector<ModuleId> left{module};
  while (!left.empty()) {
    const ModuleId next = left.back();
    left.pop_back();
    sets.insert(sets_.find_set(index_of(next)));
    const std::vector<ModuleId>& children = tree_.modules()[next].children;
    left.insert(left.end(), children.begin(), children.end());
  }
  std::vector<OpId> ops;
  for (ModuleId other = 0; other < tree_.modules().end_id(); ++other) {
    if (sets.contains(sets_.find_set(index_of(other)))) {
      const std::vector<OpId>& own = tree_.modules()[other].ops;
      ops.insert(ops.end(), own.begin(), own.end());
    }
  }
  return ops;
}

std::vector<ColocatedOps> SharedWeights::changes(const Colocation& colocation) const {
  std::vector<ColocatedOps> changes;
  for (const SharedWeight& weight : weights_) {
    std::vector<OpId> ops{weight.variable};
    ops.insert(ops.end(), weight.readers.begin(), weight.readers.end());
    auto change = colocation.change_of(problem_.op(weight.variable).name, ops);
    if (!change || change->devices.size() < 2) {
      continue;
    }
    for (const OpId op : ops) {
      const std::string& path = tree_.modules()[tree_.module_of(op)].path;
      if (std::ranges::find(change->shared_by, path) == change->shared_by.end()) {
        change->shared_by.push_back(path);
      }
    }
    if (change->shared_by.size() > 1) {
      changes.push_back(std::move(*change));
    }
  }
  return changes;
}

}  // namespace emplace::bench
