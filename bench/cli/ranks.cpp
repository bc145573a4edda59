#include "ranks.hpp"

#include <emplace/base/error.hpp>
#include <emplace/bench/rank_executor.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <tbb/info.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace emplace::cli {
namespace {

constexpr const char* kModule = "emplace_mpi.so";
constexpr const char* kMaker = "emplace_mpi_communicator";

constexpr const char* kSizeVariable = "OMPI_COMM_WORLD_SIZE";
constexpr const char* kJobVariable = "PMIX_NAMESPACE";

bench::Communicator* joined = nullptr;  // of this process

// mpirun tells each process the number of all; Slurm's srun only that there may be others.
bool has_company() {
  const char* const size = std::getenv(kSizeVariable);
  if (size == nullptr) {
    return std::getenv(kJobVariable) != nullptr;
  }
  return std::string_view(size) != "1";
}

// Returns the module's path: beside the program, where it was built, or in the folder of libraries.
std::string module_path() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path beside = program / kModule;
  return fs::exists(beside, error)
             ? beside.string()
             : (program.parent_path() / EMPLACE_LIBRARY_DIR / "emplace" / kModule).string();
}

bench::Communicator* open_module() {
  if (!EMPLACE_HAS_MPI) {
    throw Error(ErrorCode::kUnsupported,
                "this build cannot join the ranks of mpirun; emplace doctor shows how to get it");
  }
  // Global, because Open MPI loads parts of itself that look for its symbols there.
  void* const module = dlopen(module_path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const maker = module == nullptr ? nullptr : dlsym(module, kMaker);
  if (maker == nullptr) {
    const char* const why = dlerror();
    throw Error(ErrorCode::kUnsupported,
                fmt::format("cannot join the ranks of mpirun: {}", why == nullptr ? kMaker : why));
  }
  return reinterpret_cast<bench::Communicator* (*)()>(maker)();
}

// The first letter of what a rank says of loading: a hash follows, or what was wrong.
constexpr char kLoaded = 'l';
constexpr char kFailed = 'f';

}  // namespace

bool can_join_ranks() { return EMPLACE_HAS_MPI && std::filesystem::exists(module_path()); }

bench::Communicator* join_ranks() {
  if (joined == nullptr && has_company()) {
    joined = open_module();
    // Programs that this one starts, such as agents, are none of the ranks.
    unsetenv(kSizeVariable);
    unsetenv(kJobVariable);
  }
  return joined != nullptr && joined->size() > 1 ? joined : nullptr;
}

bool is_root(const bench::Communicator* ranks) { return ranks == nullptr || ranks->is_root(); }

void load_everywhere(bench::Communicator* ranks, const std::function<std::string()>& load) {
  if (ranks == nullptr) {
    load();
    return;
  }
  std::string report;
  std::exception_ptr mistake;
  try {
    report = kLoaded + load();
  } catch (const std::exception& error) {
    mistake = std::current_exception();
    report = fmt::format("{}{}: {}", kFailed, ranks->name(), error.what());
  }
  const std::vector<std::string> reports = ranks->all_gather(report);
  const std::vector<std::string> names = ranks->all_gather(ranks->name());
  const std::string& of_root = reports[bench::Communicator::kRoot];
  const auto other = std::ranges::find_if(
      reports, [&](const std::string& one) { return one.front() != kLoaded || one != of_root; });
  if (of_root.front() == kLoaded && other == reports.end()) {
    return;
  }
  if (!ranks->is_root()) {
    throw ToldByRoot();
  }
  if (mistake) {
    std::rethrow_exception(mistake);
  }
  if (other->front() == kLoaded) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format(
            "{} has a different emplace, different files or different arguments than the root",
            names[static_cast<std::size_t>(other - reports.begin())]));
  }
  throw Error(ErrorCode::kUnsupported, other->substr(1));
}

int threads_of_rank(const bench::Communicator* ranks, int threads) {
  if (ranks == nullptr || threads > 0) {
    return threads;
  }
  // Where mpirun binds ranks to cores, oneTBB knows only those.
  const auto part = static_cast<int>(std::thread::hardware_concurrency() / ranks->ranks_here());
  return std::max(1, std::min(part, tbb::info::default_concurrency()));
}

std::unique_ptr<bench::Executor> make_executor(bench::Communicator* ranks, int threads) {
  if (ranks == nullptr) {
    return std::make_unique<bench::ThreadExecutor>(threads);
  }
  return std::make_unique<bench::RankExecutor>(*ranks, threads);
}

std::string rank_name() {
  return joined != nullptr && joined->size() > 1 && !joined->is_root() ? joined->name() : "";
}

void leave_ranks(int code, bool done) {
  if (joined == nullptr) {
    return;
  }
  if (!done && joined->size() > 1) {
    joined->abort(code);
  }
  joined->finish();
  joined = nullptr;
}

}  // namespace emplace::cli
