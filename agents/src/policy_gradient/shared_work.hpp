#pragma once

// Independent pieces of a training: on the threads of this process, and shared among the processes
// that train together, if there are others (team.hpp).

#include "byte_stream.hpp"

#include <emplace/agents/team.hpp>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <string>
#include <vector>

namespace emplace::agents::policy_gradient {

/// Has `compute(i)` called for each i below `count` by one process, in parallel, or by all where it
/// is the only one. `write(i, bytes)` then writes what it gave, and `read(i, bytes)` takes that
/// over in all other processes, one i at a time. A null `team` stands for one process.
template <class Compute, class Write, class Read>
void share_work(Team* team, std::size_t count, const Compute& compute, const Write& write,
                const Read& read) {
  const std::size_t size = team == nullptr || count == 1 ? 1 : team->size();
  const std::size_t rank = size == 1 ? 0 : team->rank();
  const std::size_t mine = rank < count ? (count - rank + size - 1) / size : 0;
  // Isolated, so that a thread which waits here does not start on another cell of the suite.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(std::size_t{0}, mine, [&](std::size_t i) { compute(rank + i * size); });
  });
  if (size == 1) {
    return;
  }
  ByteWriter written;
  for (std::size_t i = rank; i < count; i += size) {
    write(i, written);
  }
  const std::vector<std::string> all = team->all_gather(written.take());
  for (std::size_t other = 0; other < size; ++other) {
    if (other != rank) {
      ByteReader bytes(all[other]);
      for (std::size_t i = other; i < count; i += size) {
        read(i, bytes);
      }
      EMPLACE_CHECK(bytes.at_end(), "rank {} sent more than it was asked for", other);
    }
  }
}

}  // namespace emplace::agents::policy_gradient
