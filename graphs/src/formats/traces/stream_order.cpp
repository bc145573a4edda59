#include "stream_order.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

namespace emplace::pytorch {
namespace {

constexpr std::size_t kMaxVisits = 10'000'000;  // of streams by waits, in files made to harm

}  // namespace

void StreamOrder::add(std::size_t thread, const std::vector<LaunchedKernel>& kernels) {
  const auto op = static_cast<OpId>(began_us_.size());
  const auto [last, is_first] = last_of_.try_emplace(thread, op);
  if (!kernels.empty()) {
    began_us_.push_back(std::ranges::min(kernels, {}, &LaunchedKernel::begin_us).begin_us);
  } else if (is_first) {
    began_us_.push_back(-std::numeric_limits<double>::infinity());
  } else {
    began_us_.push_back(began_us_[index_of(last->second)]);
    pairs_.emplace(last->second, op);
  }
  last->second = op;
  for (const LaunchedKernel& kernel : kernels) {
    streams_[kernel.stream].push_back({kernel, op});
  }
}

std::set<std::pair<OpId, OpId>> StreamOrder::pairs(std::span<const StreamWait> waits,
                                                   const std::string& source) && {
  rank_ops();
  for (auto& [stream, kernels] : streams_) {
    chain(kernels);
  }
  for (const StreamWait& wait : waits) {
    const std::vector<OpId> awaited = awaited_by(wait);
    const std::vector<OpId> waiting = awaited.empty() ? awaited : waiting_for(wait);
    visits_ += awaited.size() * waiting.size();
    if (visits_ > kMaxVisits) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format("{}: expected fewer synchronizations, or fewer streams that they wait "
                      "for",
                      source));
    }
    for (const OpId before : awaited) {
      for (const OpId after : waiting) {
        add_pair(before, after);
      }
    }
  }
  return std::move(pairs_);
}

// An op without kernels is behind the one before it on its thread, which has a lower id.
void StreamOrder::rank_ops() {
  std::vector<OpId> order(began_us_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](OpId op) { return began_us_[index_of(op)]; });
  rank_.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank_[index_of(order[i])] = i;
  }
}

void StreamOrder::chain(Kernels& kernels) {
  std::ranges::sort(kernels, {}, [&](const Kernel& kernel) { return rank_[index_of(kernel.op)]; });
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    add_pair(kernels[i - 1].op, kernels[i].op);
  }
  const auto launch_us = [](const Kernel& kernel) { return kernel.launched.launch_us; };
  std::ranges::stable_sort(kernels, {}, launch_us);
  for (const Kernel& kernel : kernels) {
    if (kernel.launched.thread) {
      threads_[*kernel.launched.thread][kernel.launched.stream].push_back(kernel);
    }
  }
}

void StreamOrder::add_pair(OpId before, OpId after) {
  if (rank_[index_of(before)] < rank_[index_of(after)]) {
    pairs_.emplace(before, after);
  }
}

// The last op on each awaited stream. What a thread has waited for before it need not wait for
// again: whatever it launched since then is ordered already.
std::vector<OpId> StreamOrder::awaited_by(const StreamWait& wait) {
  std::vector<OpId> awaited;
  const auto launch_us = [](const Kernel& kernel) { return kernel.launched.launch_us; };
  const auto first = wait.awaited ? streams_.find(*wait.awaited) : streams_.begin();
  const auto end = wait.awaited && first != streams_.end() ? std::next(first) : streams_.end();
  for (auto stream = first; stream != end; ++stream) {
    ++visits_;
    const Kernels& kernels = stream->second;
    if (kernels[0].launched.device != wait.device) {
      continue;
    }
    const auto after = std::ranges::lower_bound(kernels, wait.recorded_us, {}, launch_us);
    const auto number = static_cast<std::size_t>(after - kernels.begin());
    bool is_new = number > 0;
    if (!wait.stream) {
      std::size_t& done = done_[{wait.thread, stream->first}];
      is_new = number > done;
      done = std::max(done, number);
    }
    if (is_new) {
      awaited.push_back(std::prev(after)->op);
    }
  }
  return awaited;
}

// The first op that waits on each stream.
std::vector<OpId> StreamOrder::waiting_for(const StreamWait& wait) const {
  std::vector<OpId> waiting;
  const auto launch_us = [](const Kernel& kernel) { return kernel.launched.launch_us; };
  const auto add_first = [&](const Kernels& kernels) {
    const auto first = std::ranges::upper_bound(kernels, wait.waits_us, {}, launch_us);
    if (first != kernels.end()) {
      waiting.push_back(first->op);
    }
  };
  if (wait.stream) {
    if (const auto stream = streams_.find(*wait.stream); stream != streams_.end()) {
      add_first(stream->second);
    }
    return waiting;
  }
  const auto own = wait.thread ? threads_.find(*wait.thread) : threads_.end();
  if (wait.thread && own == threads_.end()) {
    return waiting;
  }
  for (const auto& [stream, kernels] : wait.thread ? own->second : streams_) {
    add_first(kernels);
  }
  return waiting;
}

}  // namespace emplace::pytorch
