#pragma once

// The ranks of a job: processes of this program, on one machine or many, that were started together
// and send one another texts. Open MPI implements it (bench/mpi); no other code here uses MPI.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Joins the ranks of a job. Used by one thread.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Names the rank that keeps results and talks to people.
  static constexpr std::size_t kRoot = 0;

  struct Message {
    std::size_t from = 0;
    int kind = 0;  ///< what the text is, 0 or more
    std::string text{};
  };

  /// Returns the number of this rank, from 0.
  virtual std::size_t rank() const = 0;

  /// Returns the number of ranks.
  virtual std::size_t size() const = 0;

  /// Returns "rank 2 on node07".
  virtual std::string name() const = 0;

  /// Returns how many ranks run on this machine, this one among them.
  virtual std::size_t ranks_here() const = 0;

  /// Sends a text and returns at once. Texts from one rank to another arrive in order. Throws
  /// kUnsupported for one of 2^31 bytes or more.
  virtual void send(std::size_t to, int kind, std::string_view text) = 0;

  /// Returns the next text that has arrived for this rank; nothing if none has.
  virtual std::optional<Message> receive() = 0;

  /// Returns the texts of all ranks, by rank. All call it, in the same order of calls; it returns
  /// when each has.
  virtual std::vector<std::string> all_gather(std::string_view text) = 0;

  /// Ends the job in good order; returns when all ranks have called it. Nothing may be sent then.
  virtual void finish() = 0;

  /// Ends all ranks at once; the job's exit code is `code`.
  [[noreturn]] virtual void abort(int code) = 0;

  /// Returns whether this is the root.
  bool is_root() const { return rank() == kRoot; }
};

}  // namespace emplace::bench
