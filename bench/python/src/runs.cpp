#include "runs.hpp"

#include "arrays.hpp"
#include "problem.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/random.hpp>
#include <emplace/bench/agent_check.hpp>
#include <emplace/bench/best_known.hpp>
#include <emplace/bench/executor.hpp>
#include <emplace/bench/merge_stores.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/result_tables.hpp>
#include <emplace/bench/suite_run.hpp>
#include <emplace/bench/threads.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emplace::python {
namespace {

constexpr std::chrono::milliseconds kSignalInterval(50);

int runs_in_progress = 0;  // guarded by the GIL

struct RunInProgress {
  RunInProgress() { ++runs_in_progress; }
  ~RunInProgress() { --runs_in_progress; }
};

// The text of a policy file, and what errors call it.
using PolicyText = std::pair<std::string, std::string>;

// Runs one cell with as many threads; 0 for as many as there are cores.
bench::CellResult run_on_threads(int threads, const bench::Cell& cell, PythonProblem& problem,
                                 const std::atomic<bool>& stop, const bench::CellWatch& watch) {
  return bench::on_threads(
      threads, [&] { return bench::run_cell(cell, problem.bounded(), {}, stop, watch); });
}

// Lets a cell use a policy: as it is, in one episode, or with a budget to learn on.
void use_policy(const bench::PolicyFile& policy, const Problem& problem, bench::Cell& cell) {
  cell.agent = policy.origin.plan.agent;
  const auto agent = bench::agent_of(policy, cell.groups_are_given());
  if (cell.max_evaluations == 0) {
    cell.learns = false;
    cell.max_evaluations = agent->evaluations_per_episode(problem.num_groups());
  }
}

py::dict place(PythonProblem& problem, const std::string& agent, std::int64_t evaluations,
               std::optional<double> time_limit_s, std::int64_t seed, const py::object& start,
               int threads, const std::optional<PolicyText>& policy) {
  check_threads(threads);
  const agents::AgentSpec spec = agent;
  if (!policy) {
    spec.resolve();
  }
  const ProblemNames& names = problem.names();
  bench::Cell cell{.graph = names.graph,
                   .cluster = names.cluster,
                   .agent = spec,
                   .max_evaluations = evaluations,
                   .groups = names.groups,
                   .grouping = names.grouping,
                   .root_seed = static_cast<std::uint64_t>(seed)};
  bench::CellWatch watch;
  std::optional<bench::PolicyFile> file;
  if (policy) {
    file = bench::read_policy_file(policy->first, policy->second);
    use_policy(*file, problem.problem(), cell);
    watch.policy = &*file;
  }
  if (time_limit_s) {
    watch.max_time = std::chrono::duration<double>(*time_limit_s);
    watch.ends_at_bound = true;
  }
  if (!start.is_none()) {
    watch.start = read_placement(start, problem.problem());
  }
  bench::CellResult result;
  run_interruptibly([&](const std::atomic<bool>& stop) {
    result = run_on_threads(threads, cell, problem, stop, watch);
  });
  if (result.status == bench::CellStatus::kFailed) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("agent {} failed: {}", cell.agent.text(), result.message));
  }
  py::dict placed;
  placed["agent"] = cell.agent.text();
  placed["placement"] = to_array(result.placement);
  placed["status"] = to_string(result.status);
  placed["step_time_us"] = result.step_time_us;
  placed["bound_us"] = result.bound_us;
  placed["gap"] = gap_to_bound(result.step_time_us, result.bound_us);
  placed["peak_bytes"] = adopt(result.peak_bytes);
  placed["evaluations"] = result.evaluations;
  placed["evaluations_to_best"] = result.evaluations_to_best;
  placed["decision_groups"] = result.decision_groups;
  return placed;
}

// Returns what the agent does not do, a line each.
std::vector<std::string> mistakes_of(const std::string& agent) {
  std::vector<std::string> mistakes;
  run_interruptibly([&](const std::atomic<bool>& stop) {
    for (bench::AgentCheck& check : bench::check_agent(agent, stop)) {
      std::ranges::move(check.mistakes, std::back_inserter(mistakes));
    }
  });
  return mistakes;
}

// The files in Python of the agents of a suite: name and text.
using AgentFiles = std::vector<std::pair<std::string, std::string>>;

// They are among the libraries of a start, as plug-ins are.
bench::Libraries libraries_of(const AgentFiles& files) {
  bench::Libraries libraries;
  for (const auto& [name, text] : files) {
    libraries.emplace_back("Python " + name, fmt::format("{:016x}", stable_hash(text)));
  }
  return libraries;
}

// Runs a suite. Returns which cells this machine could not run, and why; empty if it ran all.
std::string run_suite(const std::string& text, const std::string& source, const std::string& folder,
                      std::int64_t seed, const std::string& shard, bool resume, int threads,
                      const std::vector<std::string>& arguments, const AgentFiles& files,
                      const py::object& warn, const py::object& progress) {
  check_threads(threads);
  if (seed < 0 || seed > bench::kMaxRootSeed) {
    throw Error(ErrorCode::kUsage,
                fmt::format("seed is {}, expected 0 to {}", seed, bench::kMaxRootSeed));
  }
  std::size_t done = 0;
  std::size_t total = 0;
  std::vector<bench::CellFault> faults;
  run_interruptibly([&](const std::atomic<bool>& stop) {
    bench::SuiteRun run(bench::read_suite(text, source), static_cast<std::uint64_t>(seed),
                        bench::read_shard(shard));
    run.open(folder, arguments, resume, libraries_of(files));
    for (const std::string& warning : bench::differences_of_starts(run.manifest(), folder)) {
      const py::gil_scoped_acquire acquired;
      warn(warning);
    }
    bench::ThreadExecutor executor(threads);
    run.train(run.untrained(), executor, stop, [](const bench::SuiteTraining&) {});
    total = run.cells().size();
    done = total - run.remaining().size();
    faults = run.run(executor, stop, [&](const bench::CellResult&) {
      ++done;
      const py::gil_scoped_acquire acquired;
      if (!progress.is_none()) {
        progress(done, total);
      }
    });
  });
  return faults.empty() ? "" : bench::describe(faults, total);
}

py::object to_python(const bench::FieldValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return py::int_(*number);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return py::float_(*number);
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    return py::str(text->data(), text->size());
  }
  return py::none();
}

// Returns the rows of a table as dicts.
py::list rows_of(const bench::ResultTable& table, const bench::StoredRun& run) {
  py::list rows;
  table.write_rows(run, [&](std::span<const bench::FieldValue> fields) {
    py::dict row;
    for (std::size_t column = 0; column < fields.size(); ++column) {
      const std::string_view name = table.columns[column].name;
      row[py::str(name.data(), name.size())] = to_python(fields[column]);
    }
    rows.append(std::move(row));
  });
  return rows;
}

// Returns the report as JSON text, and the tables of the run by name.
py::tuple read_run(const std::string& folder) {
  std::optional<bench::StoredRun> run;
  std::string report;
  {
    const py::gil_scoped_release released;
    run = bench::read_store(folder);
    report = bench::write_json(bench::make_report(*run, bench::shipped_best_known()));
  }
  py::dict tables;
  for (const bench::ResultTable& table : bench::result_tables()) {
    tables[py::str(table.name.data(), table.name.size())] = rows_of(table, *run);
  }
  return py::make_tuple(report, tables);
}

// Returns the report for a terminal, or as JSON, and the cells that are finished, failed and all.
py::tuple report_text(const std::string& folder, bool color, bool json) {
  const py::gil_scoped_release released;
  const bench::Report report =
      bench::make_report(bench::read_store(folder), bench::shipped_best_known());
  const std::string text = json ? bench::write_json(report) : bench::write_terminal(report, color);
  const py::gil_scoped_acquire acquired;
  return py::make_tuple(text, report.cells_finished, report.cells_failed, report.cells_total);
}

}  // namespace

void check_threads(int threads) {
  if (threads < 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("threads is {}, expected 1 or more, or 0 for all cores", threads));
  }
}

bool is_running() { return runs_in_progress > 0; }

namespace {

// How a second Ctrl-C ends the process, as it ends the program: an agent in Python may not end, and
// then a run does not either.
class EndAtInterrupt {
 public:
  EndAtInterrupt() = default;
  ~EndAtInterrupt() {
    if (is_armed_) {
      PyOS_setsig(SIGINT, before_);
    }
  }
  EndAtInterrupt(const EndAtInterrupt&) = delete;
  EndAtInterrupt& operator=(const EndAtInterrupt&) = delete;

  // From now on, and as long as this lives, the next Ctrl-C ends the process.
  void arm() {
    before_ = PyOS_setsig(SIGINT, SIG_DFL);
    is_armed_ = true;
  }

 private:
  bool is_armed_ = false;
  PyOS_sighandler_t before_ = SIG_DFL;
};

}  // namespace

void run_interruptibly(const std::function<void(const std::atomic<bool>& stop)>& body) {
  const RunInProgress in_progress;
  std::atomic<bool> stop{false};
  std::optional<py::error_already_set> interrupt;
  EndAtInterrupt second;
  std::future<void> ended;
  {
    const py::gil_scoped_release released;
    ended = std::async(std::launch::async, [&] { body(stop); });
    while (ended.wait_for(kSignalInterval) != std::future_status::ready) {
      const py::gil_scoped_acquire acquired;
      if (!interrupt && PyErr_CheckSignals() != 0) {
        interrupt.emplace();
        stop = true;
        if (interrupt->matches(PyExc_KeyboardInterrupt)) {
          second.arm();
        }
      }
    }
  }
  ended.get();
  if (interrupt) {
    throw py::error_already_set(*interrupt);
  }
}

void bind_runs(py::module_& module) {
  module.def("place", place);
  module.def("mistakes_of_agent", mistakes_of);
  module.def("run_suite", run_suite);
  // Merges the results of shards.
  module.def("merge_runs", [](const std::vector<std::string>& folders, const std::string& output) {
    const py::gil_scoped_release released;
    bench::merge_stores(folders, output);
  });
  module.def("read_run", read_run);
  module.def("report_text", report_text);
  module.def("suite_of_run", [](const std::string& folder) {
    return bench::read_store_manifest(folder).suite.name;
  });
  // The suite in `text` with all that it leaves to others: "*" and what it extends.
  module.def("complete_suite", [](const std::string& text, const std::string& source) {
    return bench::write_suite(bench::read_suite(text, source));
  });
  // The name of a run of the suite in `text`. Suite and shard are checked.
  module.def("name_of_run",
             [](const std::string& text, const std::string& source, const std::string& shard) {
               return bench::read_shard(shard).name_of_run(bench::read_suite(text, source).name);
             });
  module.def("suite_text", [](const std::string& name_or_path) {
    return bench::write_suite(bench::load_suite(name_or_path));
  });
}

}  // namespace emplace::python
