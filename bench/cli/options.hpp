#pragma once

// Options that several commands share, and how mistakes in them are told.

#include <emplace/graphs/grouping_strategy.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Not <CLI/App.hpp>, which takes seconds to compile: most users of this header add no option.
namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
class Option;
}  // namespace CLI

namespace emplace::cli {

/// Evaluations that an agent may use unless told otherwise.
inline constexpr std::int64_t kDefaultEvaluations = 1000;

/// Most episodes that a user may ask for.
inline constexpr std::int64_t kMaxEpisodes = 1'000'000'000;

/// Names a problem.
struct ProblemOptions {
  std::string graph{};
  std::string cluster{};
  std::int64_t groups = 0;       ///< 0: the default of the grouping
  std::string given_grouping{};  ///< strategy; if empty, that of grouping()

  /// Returns the strategy that the options mean.
  std::string grouping() const { return std::string(grouping_for(given_grouping, groups)); }
};

/// Says who places, and with what.
struct AgentOptions {
  std::string agent{};
  std::int64_t evaluations = kDefaultEvaluations;
  std::optional<double> time_limit_s{};  ///< instead of evaluations
  std::int64_t seed = 0;
  std::string from{};  ///< path of a placement file from which a search starts, or empty
};

/// Chooses a cell of a run. Without its id, it is the fastest one of the graph and the cluster.
struct CellChoice {
  std::string folder{};   ///< of the run, or empty
  std::string id{};       ///< of the cell or the first digits of it, or empty
  std::string graph{};    ///< empty: the only one of the run
  std::string cluster{};  ///< empty: the only one of the run
};

/// Names a problem and a placement of it: by an agent, from a file, or of a run.
struct StepOptions {
  ProblemOptions problem{};
  AgentOptions agent{};
  std::string placement{};  ///< path of a file, or empty
  std::string run{};        ///< folder of a run, or empty
  std::string cell{};       ///< id of a cell of the run, or empty
  int threads = 0;          ///< 0: all cores
};

/// Throws kUsage if two outputs, each with what it is called and its path (empty: none), are one
/// file, which need not exist yet: the second would overwrite the first.
void refuse_same_files(std::span<const std::pair<std::string_view, std::string>> files);

/// Adds GRAPH, which may also be given as --graph.
CLI::Option* add_graph(CLI::App& command, std::string& graph);

/// Adds GRAPH..., which may also be given as --graph.
CLI::Option* add_graphs(CLI::App& command, std::vector<std::string>& graphs);

/// Adds --cluster.
CLI::Option* add_cluster(CLI::App& command, std::string& cluster);

/// Adds --groups and --grouping.
void add_grouping_options(CLI::App& command, ProblemOptions& options);

/// Adds GRAPH, --cluster, --groups and --grouping.
void add_problem_options(CLI::App& command, ProblemOptions& options);

/// Adds --agent, --evaluations, --time-limit and --seed.
void add_agent_options(CLI::App& command, AgentOptions& options);

/// Adds --cell.
CLI::Option* add_cell(CLI::App& command, std::string& cell);

/// Adds the options of a problem and of an agent, --placement, which it returns, --result, --cell
/// and --threads.
CLI::Option* add_step_options(CLI::App& command, StepOptions& options);

/// Adds --evaluations.
CLI::Option* add_evaluations(CLI::App& command, std::int64_t& evaluations);

/// Adds --seed.
CLI::Option* add_seed(CLI::App& command, std::int64_t& seed);

/// Adds -j, --threads; 0 stands for all cores.
CLI::Option* add_threads(CLI::App& command, int& threads);

/// Adds -o, --output for what `what` says, a TYPE such as "FILE".
CLI::Option* add_output(CLI::App& command, std::string& output, const std::string& what,
                        const std::string& type = "FILE");

/// Adds --format, one of `formats`, by default what `format` holds, and --json, which stands for
/// the format json. `format` must live as long as the command.
CLI::Option* add_format(CLI::App& command, std::string& format,
                        const std::vector<std::string>& formats);

/// Adds --json.
CLI::Option* add_json(CLI::App& command, bool& json,
                      const std::string& what = "Print the result as JSON");

/// Returns the command of these names, one below the other; `app` itself for none. Throws Error of
/// kUsage, with the nearest names for a command that does not exist.
const CLI::App& find_command(const CLI::App& app, std::span<const std::string> names);

/// Parses the command line. Returns false if it asked for help or the version, which are then
/// printed. Throws Error of kUsage, with the nearest names for a command or option that does not
/// exist.
bool parse(CLI::App& app, int argc, const char* const* argv);

}  // namespace emplace::cli
