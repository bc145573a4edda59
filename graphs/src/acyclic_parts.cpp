#include "acyclic_parts.hpp"

#include "topological_sort.hpp"

#include <emplace/graphs/check.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>

namespace emplace {
namespace {

using Edges = std::span<const std::pair<std::int32_t, std::int32_t>>;
using LeastFirst =
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<std::int32_t>>;

constexpr std::int32_t kNoPiece = -1;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

class Run {
 public:
  Run(Edges edges, std::span<const std::int32_t> part_of)
      : part_of_(part_of),
        order_(sort_topologically(static_cast<std::int32_t>(part_of.size()), edges).order),
        position_(part_of.size()),
        successors_(part_of.size()),
        missing_(part_of.size(), 0),
        piece_of_(part_of.size(), kNoPiece) {
    EMPLACE_CHECK(order_.size() == part_of.size(), "the nodes have a cycle");
    const std::int32_t num_parts = part_of.empty() ? 0 : *std::ranges::max_element(part_of) + 1;
    left_.resize(index(num_parts), 0);
    awaited_.resize(index(num_parts), 0);
    ready_.resize(index(num_parts));
    for (const auto& [from, to] : edges) {
      successors_[index(from)].push_back(to);
      ++missing_[index(to)];
      awaited_[index(part_of[index(to)])] += part_of[index(from)] != part_of[index(to)];
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const std::int32_t node = order_[at];
      position_[index(node)] = static_cast<std::int32_t>(at);
      ++left_[index(part_of[index(node)])];
      if (missing_[index(node)] == 0) {
        make_ready(node);
      }
    }
    for (std::int32_t part = 0; part < num_parts; ++part) {
      if (awaited_[index(part)] == 0) {
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
  void make_ready(std::int32_t node) {
    ready_[index(part_of_[index(node)])].push_back(node);
    first_ready_.push(position_[index(node)]);
  }

  // The part that waits for no other, or the one with the first node that can run.
  std::int32_t next_part() {
    while (!whole_.empty()) {
      const std::int32_t part = whole_.top();
      whole_.pop();
      if (left_[index(part)] > 0) {
        return part;
      }
    }
    while (piece_of_[index(order_[index(first_ready_.top())])] != kNoPiece) {
      first_ready_.pop();
    }
    return part_of_[index(order_[index(first_ready_.top())])];
  }

  // Runs what can run of a part; returns the number of nodes.
  std::size_t run(std::int32_t part, std::int32_t piece) {
    std::vector<std::int32_t>& ready = ready_[index(part)];
    std::size_t count = 0;
    for (; !ready.empty(); ++count) {
      const std::int32_t node = ready.back();
      ready.pop_back();
      piece_of_[index(node)] = piece;
      --left_[index(part)];
      for (const std::int32_t successor : successors_[index(node)]) {
        const std::int32_t other = part_of_[index(successor)];
        if (other != part && --awaited_[index(other)] == 0) {
          whole_.push(other);
        }
        if (--missing_[index(successor)] == 0) {
          make_ready(successor);
        }
      }
    }
    return count;
  }

  std::span<const std::int32_t> part_of_;
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> position_;  // of a node in the order
  std::vector<std::vector<std::int32_t>> successors_;
  std::vector<std::int32_t> missing_;   // predecessors of a node that have not run
  std::vector<std::int32_t> piece_of_;  // of a node
  std::vector<std::int64_t> left_;      // nodes of a part that have not run
  std::vector<std::int64_t> awaited_;   // edges into a part from nodes of others that have not run
  std::vector<std::vector<std::int32_t>> ready_;  // nodes of a part that can run
  LeastFirst whole_;                              // parts that wait for no other
  LeastFirst first_ready_;                        // positions of nodes that can run, or have
};

}  // namespace

std::vector<std::int32_t> acyclic_parts(Edges edges, std::span<const std::int32_t> part_of) {
  return Run(edges, part_of).pieces();
}

}  // namespace emplace
