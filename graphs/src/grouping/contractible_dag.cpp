#include <emplace/graphs/contractible_dag.hpp>

#include <algorithm>
#include <limits>

namespace emplace {
namespace {

constexpr std::uint64_t kLastLabel = std::uint64_t{1} << 62;

}  // namespace

// One end's half of a search for a second path, one edge at a time.
class ContractibleDag::Search {
 public:
  enum class Outcome { kContinue, kExhausted, kFoundPath };

  // Starts at `start` and looks along `adjacency` for `goal`; `mark` is this search's own,
  // `other_mark` that of the search from the other end.
  Search(ContractibleDag& dag, const Adjacency& adjacency, Node start, Node goal,
         std::uint64_t mark, std::uint64_t other_mark)
      : dag_(dag),
        adjacency_(adjacency),
        goal_(goal),
        mark_(mark),
        other_mark_(other_mark),
        forward_(dag.label_[start] < dag.label_[goal]),
        found_{start},
        at_(adjacency[start].begin()) {}

  Outcome step() {
    while (at_ == adjacency_[found_[current_]].end()) {
      if (++current_ == found_.size()) {
        return Outcome::kExhausted;
      }
      at_ = adjacency_[found_[current_]].begin();
    }
    const Node node = (at_++)->first;
    if (node == goal_) {
      return current_ == 0 ? Outcome::kContinue : Outcome::kFoundPath;
    }
    auto& mark = dag_.mark_[node];
    if (mark == other_mark_) {
      return Outcome::kFoundPath;
    }
    if (mark != mark_ && (dag_.label_[node] < dag_.label_[goal_]) == forward_) {
      mark = mark_;
      found_.push_back(node);
    }
    return Outcome::kContinue;
  }

  // Returns what was found, without the start, in topological order.
  std::span<const Node> sorted_found() {
    const auto found = std::span(found_).subspan(1);
    std::ranges::sort(found, {}, [&](Node node) { return dag_.label_[node]; });
    return found;
  }

 private:
  ContractibleDag& dag_;
  const Adjacency& adjacency_;
  Node goal_;
  std::uint64_t mark_;
  std::uint64_t other_mark_;
  bool forward_;
  std::vector<Node> found_;
  std::size_t current_ = 0;
  std::map<Node, std::int64_t>::const_iterator at_;
};

ContractibleDag::ContractibleDag(std::span<const Edge> edges, std::span<const std::int64_t> weights,
                                 std::span<const Node> order, std::size_t max_search)
    : head_(static_cast<Node>(order.size())),
      tail_(head_ + 1),
      max_search_(max_search),
      num_present_(order.size()),
      successors_(order.size()),
      predecessors_(order.size()),
      parent_(order.size()),
      next_(order.size() + 2),
      previous_(order.size() + 2),
      label_(order.size() + 2),
      mark_(order.size(), 0) {
  for (std::size_t node = 0; node < parent_.size(); ++node) {
    parent_[node] = static_cast<Node>(node);
  }
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    add_weight(edges[edge].first, edges[edge].second, weights[edge]);
  }
  next_[head_] = tail_;
  previous_[tail_] = head_;
  label_[tail_] = kLastLabel;
  link_run(head_, order);
}

ContractibleDag::Node ContractibleDag::find(Node member) {
  while (parent_[member] != member) {
    parent_[member] = parent_[parent_[member]];
    member = parent_[member];
  }
  return member;
}

std::vector<ContractibleDag::Node> ContractibleDag::order() const {
  std::vector<Node> nodes;
  for (Node node = next_[head_]; node != tail_; node = next_[node]) {
    nodes.push_back(node);
  }
  return nodes;
}

std::optional<ContractibleDag::Node> ContractibleDag::contract(Node from, Node to) {
  Node place = from;
  if (!make_room(from, to, place)) {
    return std::nullopt;
  }
  const Node kept = join(from, to);
  const Node gone = kept == from ? to : from;
  unlink(gone == place ? kept : gone);
  if (gone == place) {
    replace(gone, kept);
  }
  --num_present_;
  return kept;
}

// Sets `place` to where in the list the contracted node can stand, having moved others out of its
// way.
bool ContractibleDag::make_room(Node from, Node to, Node& place) {
  if (successors_[from].size() == 1) {
    place = to;
    return true;
  }
  if (predecessors_[to].size() == 1) {
    place = from;
    return true;
  }
  const auto forward_mark = ++last_mark_;
  const auto backward_mark = ++last_mark_;
  Search forward(*this, successors_, from, to, forward_mark, backward_mark);
  Search backward(*this, predecessors_, to, from, backward_mark, forward_mark);
  for (std::size_t steps = 0; steps < max_search_; steps += 2) {
    for (Search* search : {&forward, &backward}) {
      switch (search->step()) {
        case Search::Outcome::kContinue:
          break;
        case Search::Outcome::kFoundPath:
          return false;
        case Search::Outcome::kExhausted: {
          const auto run = search->sorted_found();
          std::ranges::for_each(run, [&](Node node) { unlink(node); });
          place = search == &forward ? to : from;
          link_run(search == &forward ? to : previous_[from], run);
          return true;
        }
      }
    }
  }
  return false;
}

// Merges the edges of the node that has fewer into the other and returns the latter.
ContractibleDag::Node ContractibleDag::join(Node from, Node to) {
  const auto degree = [&](Node node) {
    return successors_[node].size() + predecessors_[node].size();
  };
  const Node kept = degree(from) >= degree(to) ? from : to;
  const Node gone = kept == from ? to : from;
  narrowed_.clear();
  thickened_.clear();
  for (const auto& [successor, weight] : successors_[gone]) {
    predecessors_[successor].erase(gone);
    if (successor != kept) {
      add_weight(kept, successor, weight);
    }
  }
  for (const auto& [predecessor, weight] : predecessors_[gone]) {
    successors_[predecessor].erase(gone);
    if (predecessor != kept) {
      add_weight(predecessor, kept, weight);
      if (successors_[predecessor].size() == 1) {
        narrowed_.push_back(predecessor);
      }
    }
  }
  successors_[gone].clear();
  predecessors_[gone].clear();
  parent_[gone] = kept;
  return kept;
}

void ContractibleDag::add_weight(Node from, Node to, std::int64_t weight) {
  const auto [edge, is_new] = successors_[from].try_emplace(to, 0);
  // A tensor counts for each of its readers, so the sum may leave 64 bits where the graph's does
  // not.
  edge->second += std::min(weight, std::numeric_limits<std::int64_t>::max() - edge->second);
  predecessors_[to][from] = edge->second;
  if (!is_new) {
    thickened_.emplace_back(from, to);
  }
}

void ContractibleDag::unlink(Node node) {
  next_[previous_[node]] = next_[node];
  previous_[next_[node]] = previous_[node];
}

// Puts `node`, which is in no place, in the place of `old`.
void ContractibleDag::replace(Node old, Node node) {
  label_[node] = label_[old];
  next_[node] = next_[old];
  previous_[node] = previous_[old];
  next_[previous_[node]] = node;
  previous_[next_[node]] = node;
}

// Puts the nodes of `run` behind `before`, in this order.
void ContractibleDag::link_run(Node before, std::span<const Node> run) {
  const Node after = next_[before];
  const auto low = label_[before];
  const auto gap = (label_[after] - low) / (run.size() + 1);
  Node last = before;
  std::uint64_t label = low;
  for (const Node node : run) {
    label += gap;
    label_[node] = label;
    next_[last] = node;
    previous_[node] = last;
    last = node;
  }
  next_[last] = after;
  previous_[after] = last;
  if (gap == 0) {
    relabel();
  }
}

void ContractibleDag::relabel() {
  const auto gap = kLastLabel / (num_present_ + 1);
  std::uint64_t label = 0;
  for (Node node = next_[head_]; node != tail_; node = next_[node]) {
    label += gap;
    label_[node] = label;
  }
}

}  // namespace emplace
