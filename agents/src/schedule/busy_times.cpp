#include <emplace/agents/busy_times.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

namespace emplace::agents {
namespace {

constexpr std::size_t kLargestBlock = 512;

// How far the length of an idle time may be off, as a share of the time of day.
constexpr double kRounding = 1e-15;

}  // namespace

double BusyTimes::start_of_idle(double ready_us, double cost_us) const {
  // Busy times that end before the work is ready cannot delay it.
  auto block = std::ranges::partition_point(blocks_, [ready_us](const Block& earlier) {
    return earlier.times.back().finish_us <= ready_us;
  });
  if (block == blocks_.end()) {
    return ready_us;
  }
  auto next = std::ranges::partition_point(
      block->times, [ready_us](const Interval& busy) { return busy.finish_us <= ready_us; });
  const double least_idle_us = cost_us - kRounding * last_finish_us();
  double start_us = ready_us;
  for (;;) {
    for (; next != block->times.end(); ++next) {
      if (start_us + cost_us <= next->start_us) {
        return start_us;
      }
      start_us = std::max(start_us, next->finish_us);
    }
    block = blocks_.begin() +
            static_cast<std::ptrdiff_t>(
                next_block(static_cast<std::size_t>(block - blocks_.begin()) + 1, least_idle_us));
    start_us = std::prev(block)->times.back().finish_us;
    if (block == blocks_.end()) {
      return start_us;
    }
    next = block->times.begin();
  }
}

void BusyTimes::add(double start_us, double finish_us) {
  if (blocks_.empty()) {
    blocks_.push_back({.times = {{start_us, finish_us}}});
    grow_tree();
    measure(0);
    return;
  }
  auto block = std::ranges::partition_point(blocks_, [finish_us](const Block& earlier) {
    return earlier.times.back().finish_us <= finish_us;
  });
  if (block == blocks_.end()) {
    --block;
  }
  block->times.insert(
      std::ranges::partition_point(
          block->times, [finish_us](const Interval& busy) { return busy.finish_us <= finish_us; }),
      {start_us, finish_us});
  const auto at = static_cast<std::size_t>(block - blocks_.begin());
  if (block->times.size() > kLargestBlock) {
    const auto middle = block->times.begin() + kLargestBlock / 2;
    Block second{.times = {middle, block->times.end()}};
    block->times.erase(middle, block->times.end());
    blocks_.insert(block + 1, std::move(second));
    grow_tree();
    measure(at + 1);
  }
  measure(at);
  // What was added behind a block may have shortened the idle time before the next one, which then
  // is taken for longer than it is: a search looks into that block for nothing, and no more.
}

void BusyTimes::measure(std::size_t at) {
  Block& block = blocks_[at];
  double before_us = at == 0 ? 0 : blocks_[at - 1].times.back().finish_us;
  block.longest_idle_us = 0;
  for (const auto& [start_us, finish_us] : block.times) {
    block.longest_idle_us = std::max(block.longest_idle_us, start_us - before_us);
    before_us = finish_us;
  }
  std::size_t node = tree_.size() / 2 + at;
  tree_[node] = block.longest_idle_us;
  while (node > 1) {
    node /= 2;
    tree_[node] = std::max(tree_[2 * node], tree_[2 * node + 1]);
  }
}

// Makes the tree of all blocks anew, since those behind a new one have moved.
void BusyTimes::grow_tree() {
  const std::size_t leaves = std::bit_ceil(blocks_.size());
  tree_.assign(2 * leaves, -std::numeric_limits<double>::infinity());
  for (std::size_t at = 0; at < blocks_.size(); ++at) {
    tree_[leaves + at] = blocks_[at].longest_idle_us;
  }
  for (std::size_t node = leaves - 1; node > 0; --node) {
    tree_[node] = std::max(tree_[2 * node], tree_[2 * node + 1]);
  }
}

// Returns the first block from `first` on whose longest idle time is at least so long, or the
// number of blocks.
std::size_t BusyTimes::next_block(std::size_t first, double least_idle_us) const {
  const std::size_t leaves = tree_.size() / 2;
  if (first >= blocks_.size()) {
    return blocks_.size();
  }
  std::size_t node = leaves + first;
  for (;;) {
    // Up, as long as the node begins its parent.
    while (node % 2 == 0) {
      node /= 2;
    }
    if (tree_[node] >= least_idle_us) {
      break;
    }
    ++node;
    if (std::has_single_bit(node)) {
      return blocks_.size();  // the first of its level: all behind were seen
    }
  }
  while (node < leaves) {
    node *= 2;
    if (tree_[node] < least_idle_us) {
      ++node;
    }
  }
  return node - leaves;
}

}  // namespace emplace::agents
