#pragma once

// What a command is. Each cmd_*.cpp adds one to the program: its options, and the action that runs
// after all options have been read.

#include <CLI/App.hpp>

#include <functional>
#include <string>
#include <vector>

namespace emplace::cli {

/// Says how a command ended, if not by an exception.
enum class Outcome { kOk, kSomeCellsFailed, kRegression, kOutOfMemory, kInterrupted };

/// Holds what every command may want to know.
struct Invocation {
  std::vector<std::string> arguments{};  ///< of the process, with its name
  std::string color = "auto";            ///< "auto", "always" or "never"
  bool quiet = false;                    ///< only errors go to standard error
  bool json = false;                     ///< answers are JSON
  int threads = 0;                       ///< 0: all cores
  bool wide = false;                     ///< tables show all columns, however wide the terminal
};

/// Runs a command. Throws Error for a user's mistake.
using Action = std::function<Outcome(const Invocation&)>;

/// Add a command to the program; if the user chose it, parsing sets `action`.
void add_calibrate(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_merge(CLI::App& app, Action& action);
void add_place(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);

/// Add a command to the group `dev`, which is for maintainers.
void add_best_known(CLI::App& dev, Action& action);
void add_check_agent(CLI::App& dev, Action& action);
void add_docs(CLI::App& dev, Action& action);
void add_fit(CLI::App& dev, Action& action);

}  // namespace emplace::cli
