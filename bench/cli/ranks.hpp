#pragma once

// The ranks of mpirun. Each is a process of this program with the same arguments. A process joins
// them only for the command `run`, and only where mpirun started it with others: alone it loads
// nothing of Open MPI, and other commands answer on each rank as they do alone.

#include <emplace/bench/communicator.hpp>
#include <emplace/bench/executor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace emplace::cli {

/// Is thrown where a rank has nothing to tell, for the root tells it.
struct ToldByRoot {};

/// Whether what joins the ranks of mpirun was built, and is installed with this program.
bool can_join_ranks();

/// Joins the ranks with which mpirun started this process; null if it is alone. Throws kUnsupported
/// if this build cannot join them.
bench::Communicator* join_ranks();

/// Says whether this process talks to people and writes files: it is alone, or the root.
bool is_root(const bench::Communicator* ranks);

/// Loads what a command needs, on all ranks. `load` returns a hash of it, which must be the same
/// everywhere. The root throws what `load` threw, here or on another rank, and then the others
/// throw ToldByRoot. Just calls `load` if `ranks` is null.
void load_everywhere(bench::Communicator* ranks, const std::function<std::string()>& load);

/// Returns how many threads this process uses: `threads`, or if that is 0 its part of the cores of
/// the machine, which it shares with the ranks that run there, too.
int threads_of_rank(const bench::Communicator* ranks, int threads);

/// Returns what runs a suite on so many threads of this process, or of the root and on the others.
std::unique_ptr<bench::Executor> make_executor(bench::Communicator* ranks, int threads);

/// Returns "" for a process that is alone, and the name of the rank for others.
std::string rank_name();

/// Leaves the ranks before the process exits with `code`. Unless all is `done`, as it is on every
/// rank that the root dismissed, it ends the others, too, and does not return.
void leave_ranks(int code, bool done);

}  // namespace emplace::cli
