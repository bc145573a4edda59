#include "allowed_threads.hpp"
#include "command.hpp"
#include "dry_run.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "python_package.hpp"
#include "ranks.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/bench/shard.hpp>
#include <emplace/bench/suite_filter.hpp>
#include <emplace/bench/suite_run.hpp>

#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace emplace::cli {
namespace {

using bench::Cell;
using bench::CellResult;

struct RunOptions {
  std::string suite;
  std::string output;
  bool resume = false;
  std::int64_t seed = 0;
  std::string shard;
  bool dry_run = false;
  std::vector<std::string> python;
  bench::SuiteFilter filter;
  std::int64_t evaluations = 0;  // 0: as the suite says
};

bench::Suite load_suite(const RunOptions& options) {
  bench::SuiteFilter filter = options.filter;
  if (options.evaluations > 0) {
    filter.max_evaluations = options.evaluations;
  }
  return bench::narrowed(bench::load_suite(options.suite), filter);
}

// The options that choose a part of the suite, to be typed again.
std::string filter_text(const RunOptions& options) {
  std::string text;
  const auto add = [&](std::string_view option, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      text += fmt::format(" {} {}", option, escape_shell(name));
    }
  };
  add("--graphs", options.filter.graphs);
  add("--clusters", options.filter.clusters);
  add("--agents", options.filter.agents);
  return options.evaluations > 0 ? fmt::format("{} --evaluations {}", text, options.evaluations)
                                 : text;
}

// Returns the n-th default folder of a suite: results/NAME, results/NAME-2, ...
std::string default_folder(const std::string& suite, int number) {
  return number == 1 ? "results/" + suite : fmt::format("results/{}-{}", suite, number);
}

// Says whether a folder may hold a run of the suite: results/exp-2 is also the default folder of a
// suite exp-2. What cannot be read is told by the store.
bool is_of_suite(const std::string& folder, const std::string& suite) {
  try {
    return bench::read_store_manifest(folder).suite.name == suite;
  } catch (const Error&) {
    return true;
  }
}

// The last of the default folders that has a run of the suite.
std::string last_folder(const std::string& suite, const std::string& run_name) {
  std::string last = default_folder(run_name, 1);
  std::error_code ignored;
  for (int number = 2; std::filesystem::exists(default_folder(run_name, number), ignored);
       ++number) {
    const std::string folder = default_folder(run_name, number);
    last = is_of_suite(folder, suite) ? folder : last;
  }
  return last;
}

// A new run gets the first folder that is free; a resumed one the last that is not.
std::string choose_folder(const RunOptions& options, const std::string& suite,
                          const bench::Shard& shard) {
  if (!options.output.empty()) {
    return options.output;
  }
  const std::string name = shard.name_of_run(suite);
  if (options.resume) {
    return last_folder(suite, name);
  }
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories("results", error);
  // Making a folder claims it, also against a run that starts at this moment. Where none can be
  // made, the store says why.
  int number = 1;
  while (!fs::create_directory(default_folder(name, number), error) && !error) {
    ++number;
  }
  return default_folder(name, number);
}

// Shows how far a run is. Cells count by their work.
class RunProgress {
 public:
  explicit RunProgress(const bench::SuiteRun& run)
      : total_(run.cells().size()), done_(total_ - run.remaining().size()) {
    const std::vector<double> work = run.work();
    for (std::size_t i = 0; i < work.size(); ++i) {
      work_of_.emplace(run.remaining()[i].id(), work[i]);
      work_left_ += work[i];
    }
    show("");
  }

  void finished(const Cell& cell) {
    ++done_;
    const double work = work_of_.at(cell.id());
    work_done_ += work;
    work_left_ -= work;
    show(fmt::format("{} on {}: {}", cell.graph, cell.cluster, cell.agent.text()));
  }

 private:
  void show(const std::string& last) {
    std::string text = fmt::format("[{}/{}]", done_, total_);
    if (work_done_ > 0) {
      const double elapsed_s =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
      text +=
          fmt::format(" about {:.0f} s left", elapsed_s * std::max(0.0, work_left_) / work_done_);
    }
    line_.show(last.empty() ? text : text + "  " + last);
  }

  ProgressLine line_;
  std::size_t total_;
  std::size_t done_;
  std::map<std::string, double> work_of_;  // by the id of the cell
  double work_left_ = 0;
  double work_done_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Trains the policies that the folder lacks.
void train(bench::SuiteRun& suite_run, bench::Executor& executor, const std::atomic<bool>& stop) {
  const std::vector<bench::SuiteTraining> left = suite_run.untrained();
  const std::size_t total = suite_run.trainings().size();
  note(fmt::format("{} of {} to train", left.size(), counted(total, "policy", "policies")));
  ProgressLine line;
  std::size_t done = total - left.size();
  suite_run.train(left, executor, stop, [&](const bench::SuiteTraining& training) {
    line.show(
        fmt::format("[{}/{}] trained {} on {}", ++done, total, training.policy, training.family));
  });
}

Outcome run(const RunOptions& options, const Invocation& invocation) {
  const bench::Shard shard =
      options.shard.empty() ? bench::Shard() : bench::read_shard(options.shard);
  const auto seed = static_cast<std::uint64_t>(options.seed);
  if (options.dry_run) {
    if (!options.output.empty() && !options.resume) {
      throw Error(ErrorCode::kUsage,
                  "--dry-run writes nothing: --output is the run that --resume would continue (see "
                  "emplace run --help)");
    }
    const bench::Suite suite = load_suite(options);
    dry_run(suite, seed, shard, options.resume ? choose_folder(options, suite.name, shard) : "",
            invocation.json);
    return Outcome::kOk;
  }
  bench::Communicator* const ranks = join_ranks();
  if (!options.python.empty() && ranks == nullptr) {
    run_in_python(invocation.arguments);
  }
  bench::Suite suite;
  std::unique_ptr<bench::SuiteRun> loaded;
  load_everywhere(ranks, [&] {
    if (!options.python.empty()) {
      throw Error(ErrorCode::kUsage,
                  "--python: agents in Python run on one machine, not under mpirun");
    }
    suite = load_suite(options);
    loaded = std::make_unique<bench::SuiteRun>(suite, seed, shard);
    return loaded->fingerprint();
  });
  bench::SuiteRun& suite_run = *loaded;
  const int threads = allowed_threads(threads_of_rank(ranks, invocation.threads));
  if (!is_root(ranks)) {
    suite_run.work_for_root(*ranks, threads);
    return Outcome::kOk;
  }
  const std::string folder = choose_folder(options, suite.name, shard);
  suite_run.open(folder, invocation.arguments, options.resume);
  // The results of one run should come from one program; a resumed run says where they do not.
  for (const std::string& difference : bench::differences_of_starts(suite_run.manifest(), folder)) {
    note(escape_terminal("emplace: warning: " + difference));
  }
  note(fmt::format("{}: {} of {} to run, results in {}", suite.name, suite_run.remaining().size(),
                   counted(std::ssize(suite_run.cells()), "cell"), folder));

  const std::atomic<bool>& stop = stop_on_signal();
  const auto executor = make_executor(ranks, threads);
  if (!suite_run.trainings().empty()) {
    train(suite_run, *executor, stop);
  }
  std::vector<bench::CellFault> faults;
  {
    RunProgress progress(suite_run);
    faults = suite_run.run(*executor, stop,
                           [&](const CellResult& result) { progress.finished(result.cell); });
  }

  const bench::Report report =
      bench::make_report(bench::read_store(folder), bench::shipped_best_known());
  if (report.cells_finished < report.cells_total) {
    const std::string go_on =
        fmt::format("continue with: emplace run {} -o {} --seed {}{}{} --resume",
                    escape_shell(options.suite), escape_shell(folder), options.seed,
                    filter_text(options), shard.is_whole() ? "" : " --shard " + shard.text());
    if (!faults.empty() && !stop) {
      print_error(
          fmt::format("emplace: {}; {}", bench::describe(faults, suite_run.cells().size()), go_on));
      return Outcome::kSomeCellsFailed;
    }
    print_error(fmt::format("emplace: interrupted after {} of {}; {}", report.cells_finished,
                            counted(report.cells_total, "cell"), go_on));
    return Outcome::kInterrupted;
  }
  const bool color = !invocation.json && use_color(invocation.color);
  print_as(invocation.json ? "json" : "terminal",
           invocation.json ? bench::write_json(report)
                           : bench::write_terminal(report, color, table_width()),
           color);
  if (!invocation.json && isatty(STDERR_FILENO) == 1) {
    note(fmt::format("next: emplace report {} -o report.html", escape_shell(folder)));
  }
  return report.cells_failed > 0 ? Outcome::kSomeCellsFailed : Outcome::kOk;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Run a suite of experiments and compare agents");
  command->group("Experiments");
  set_examples(*command,
               {"emplace run quickstart", "emplace run quickstart -o results/again --seed 1",
                "emplace run quickstart --dry-run", "emplace run quickstart --shard 1/4",
                "emplace run quickstart --agents heft,metis --clusters p2-8xlarge-2"});
  const auto options = std::make_shared<RunOptions>();
  command->add_option("SUITE", options->suite, "Name (emplace list suites), or a suite file")
      ->required()
      ->type_name("SUITE");
  command
      ->add_option("--python", options->python,
                   "Python file that registers agents; those that the suite does not name are "
                   "added to it")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command->add_flag("--resume", options->resume, "Keep the finished cells and run the others");
  CLI::Option* const python = command->get_option("--python");
  command
      ->add_option("--shard", options->shard,
                   "Run part I of N, which simulate about as much; emplace merge joins the results")
      ->type_name("I/N");
  command
      ->add_flag("--dry-run", options->dry_run,
                 "Show cells, evaluations, time of simulation and disk use without running "
                 "anything. With --resume: for the remaining cells.")
      ->excludes(python);
  const auto add_names = [&](const char* option, std::vector<std::string>& names,
                             const char* what) {
    command->add_option(option, names, what)
        ->allow_extra_args(false)
        ->type_name("NAME,...")
        ->group("Part of the suite");
  };
  add_names("--graphs", options->filter.graphs, "Only these graphs, or families of them");
  add_names("--clusters", options->filter.clusters, "Only these clusters");
  add_names("--agents", options->filter.agents, "Only these agents, as reports call them");
  add_evaluations(*command, options->evaluations)
      ->description("How many placements each agent may simulate for a graph and cluster")
      ->default_str("as the suite says")
      ->group("Part of the suite");
  add_seed(*command, options->seed);
  add_output(*command, options->output, "Folder of the results", "DIR")
      ->default_str("results/SUITE, then results/SUITE-2, ...");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) { return run(*options, invocation); };
  });
}

}  // namespace emplace::cli
