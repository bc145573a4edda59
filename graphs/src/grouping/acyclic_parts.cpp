#include "acyclic_parts.hpp"

#include "model/topological_sort.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>

namespace emplace {
namespace {

using LeastFirst =
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<std::int32_t>>;

using Part = std::int32_t;

constexpr std::int32_t kNoPiece = -1;

class Run {
 public:
  Run(EdgeList<GroupId> edges, IdSpan<GroupId, const Part> part_of)
      : part_of_(part_of),
        order_(sort_topologically(part_of.end_id(), edges).order),
        position_(part_of.size()),
        successors_(part_of.size()),
        missing_(part_of.size(), 0),
        piece_of_(part_of.size(), kNoPiece) {
    EMPLACE_CHECK(order_.size() == part_of.size(), "the nodes have a cycle");
    const std::int32_t num_parts = part_of.empty() ? 0 : *std::ranges::max_element(part_of) + 1;
    left_.resize(index_of(num_parts), 0);
    awaited_.resize(index_of(num_parts), 0);
    ready_.resize(index_of(num_parts));
    for (const auto& [from, to] : edges) {
      successors_[from].push_back(to);
      ++missing_[to];
      awaited_[part_of[to]] += part_of[from] != part_of[to];
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const GroupId node = order_[at];
      position_[node] = static_cast<std::int32_t>(at);
      ++left_[part_of[node]];
      if (missing_[node] == 0) {
        make_ready(node);
      }
    }
    for (std::int32_t part = 0; part < num_parts; ++part) {
      if (awaited_[part] == 0) {
        whole_.push(part);
      }
    }
  }

  std::vector<std::int32_t> pieces() && {
    std::int32_t piece = 0;
    for (std::size_t done = 0; done < part_of_.size(); ++piece) {
      done += run(next_part(), piece);
    }
    return std::move(piece_of_);
  }

 private:
  void make_ready(GroupId node) {
    ready_[part_of_[node]].push_back(node);
    first_ready_.push(position_[node]);
  }

  // The part that waits for no other, or the one with the first node that can run.
  std::int32_t next_part() {
    while (!whole_.empty()) {
      const std::int32_t part = whole_.top();
      whole_.pop();
      if (left_[part] > 0) {
        return part;
      }
    }
    while (piece_of_[order_[index_of(first_ready_.top())]] != kNoPiece) {
      first_ready_.pop();
    }
    return part_of_[order_[index_of(first_ready_.top())]];
  }

  // Runs what can run of a part; returns the number of nodes.
  std::size_t run(std::int32_t part, std::int32_t piece) {
    std::vector<GroupId>& ready = ready_[part];
    std::size_t count = 0;
    for (; !ready.empty(); ++count) {
      const GroupId node = ready.back();
      ready.pop_back();
      piece_of_[node] = piece;
      --left_[part];
      for (const GroupId successor : successors_[node]) {
        const std::int32_t other = part_of_[successor];
        if (other != part && --awaited_[other] == 0) {
          whole_.push(other);
        }
        if (--missing_[successor] == 0) {
          make_ready(successor);
        }
      }
    }
    return count;
  }

  IdSpan<GroupId, const Part> part_of_;
  std::vector<GroupId> order_;
  IdVector<GroupId, std::int32_t> position_;  // in the order
  IdVector<GroupId, std::vector<GroupId>> successors_;
  IdVector<GroupId, std::int32_t> missing_;  // predecessors that have not run
  IdVector<GroupId, std::int32_t> piece_of_;
  IdVector<Part, std::int64_t> left_;           // nodes that have not run
  IdVector<Part, std::int64_t> awaited_;        // edges from nodes of other parts that have not run
  IdVector<Part, std::vector<GroupId>> ready_;  // nodes that can run
  LeastFirst whole_;                            // parts that wait for no other
  LeastFirst first_ready_;                      // positions of nodes that can run, or have
};

}  // namespace

std::vector<std::int32_t> acyclic_parts(EdgeList<GroupId> edges,
                                        IdSpan<GroupId, const std::int32_t> part_of) {
  return Run(edges, part_of).pieces();
}

}  // namespace emplace
