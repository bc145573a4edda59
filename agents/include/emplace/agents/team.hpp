#pragma once

// Processes that train one policy together. Each runs the whole training on the same problems with
// the same random streams, so all are in the same state. Work that can be divided, such as the
// episodes of several problems, is divided among them, and all get all results. So a policy
// depends, to the last bit, neither on the number of processes nor on which of them computed what.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::agents {

/// Joins the processes of a training.
class Team {
 public:
  virtual ~Team() = default;

  /// Returns the number of this process, from 0.
  virtual std::size_t rank() const = 0;

  /// Returns the number of processes.
  virtual std::size_t size() const = 0;

  /// Returns the bytes of all processes, by rank. All processes call it, in the same order of
  /// calls; it returns when each has.
  virtual std::vector<std::string> all_gather(std::string_view bytes) = 0;
};

}  // namespace emplace::agents
