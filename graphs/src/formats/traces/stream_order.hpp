#pragma once

// In which order the ops of a Kineto trace ran on a GPU: those of a stream one after the other, and
// those of different streams where one waited for another, or a thread for a stream before it
// launched more.
//
// An op may have kernels on several streams, which may contradict each other about two ops. So all
// edges agree with one order of the ops, that in which their first kernels began: no stream's chain
// is ever broken, and a path through the graph is at least as long as the kernels of any stream.

#include "recording.hpp"

#include <emplace/base/ids.hpp>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::pytorch {

/// Finds the order of ops, which are added in the order of their ids.
class StreamOrder {
 public:
  /// Adds the next op, with the thread that called it and the kernels that it launched. If there
  /// are none, it follows the op before it on its thread.
  void add(std::size_t thread, const std::vector<LaunchedKernel>& kernels);

  /// Returns pairs of ops. In each, the second waits for the first; no pairs form a cycle. Throws
  /// kFormat, with the name of the trace, if there are too many waits. O((kernels + waits) log
  /// kernels) for a few streams.
  std::set<std::pair<OpId, OpId>> pairs(std::span<const StreamWait> waits,
                                        const std::string& source) &&;

 private:
  struct Kernel {
    LaunchedKernel launched;
    OpId op = 0;
  };
  using Kernels = std::vector<Kernel>;

  void rank_ops();
  void chain(Kernels& kernels);
  std::vector<OpId> awaited_by(const StreamWait& wait);
  std::vector<OpId> waiting_for(const StreamWait& wait) const;
  void add_pair(OpId before, OpId after);

  std::vector<double> began_us_;                                   // by op: its first kernel
  std::vector<std::size_t> rank_;                                  // by op
  std::map<std::size_t, OpId> last_of_;                            // by thread
  std::map<std::size_t, Kernels> streams_;                         // in the order of their launches
  std::map<std::size_t, std::map<std::size_t, Kernels>> threads_;  // by stream, likewise
  // What threads have waited for already, by thread and stream: the number of kernels.
  std::map<std::pair<std::optional<std::size_t>, std::size_t>, std::size_t> done_;
  std::set<std::pair<OpId, OpId>> pairs_;
  std::size_t visits_ = 0;
};

}  // namespace emplace::pytorch
