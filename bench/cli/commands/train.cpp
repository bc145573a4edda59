#include "allowed_threads.hpp"
#include "command.hpp"
#include "help_text.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "picture_file.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/file_lock.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/bench/training.hpp>
#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

using bench::Training;
using bench::TrainingEnd;
using Clock = std::chrono::steady_clock;
constexpr double kDefaultCheckpointSeconds = 30;
constexpr std::array<std::string_view, 4> kCurveEndings = {".csv", ".svg", ".png", ".pdf"};

struct TrainOptions {
  std::string agent;
  std::vector<std::string> graphs;
  std::vector<std::string> validation;
  std::vector<std::string> clusters;
  ProblemOptions grouping;  // of which graph and cluster are not used
  std::int64_t episodes = 0;
  std::int64_t patience = 0;
  std::int64_t seed = 0;
  std::string output;
  std::vector<std::string> curves;
  double checkpoint_every_s = kDefaultCheckpointSeconds;
  bool resume = false;

  std::string checkpoint() const { return output + ".checkpoint"; }
};

bench::TrainingPlan plan_of(const TrainOptions& options) {
  return {.agent = options.agent,
          .graphs = expand_graphs(options.graphs),
          .clusters = options.clusters,
          .groups = options.grouping.groups,
          .grouping = options.grouping.grouping(),
          .root_seed = static_cast<std::uint64_t>(options.seed),
          .episodes = options.episodes,
          .patience = options.patience,
          .validation = expand_graphs(options.validation)};
}

// Writes all that a training leaves; the checkpoint last, so that what it belongs to is there.
void save(const TrainOptions& options, const Training& training) {
  write_text_file(options.output, training.policy_file());
  for (const std::string& path : options.curves) {
    write_text_file(path, names_picture(path)
                              ? encode_picture(training.curve().to_svg(training.references()), path)
                              : training.curve().to_csv());
  }
  write_text_file(options.checkpoint(), training.checkpoint());
}

// Tells how far a training is, by episodes.
class TrainingProgress {
 public:
  explicit TrainingProgress(const Training& training)
      : training_(training), begun_at_(training.curve().episodes()) {}

  void show() {
    const agents::TrainingUpdate& update = training_.curve().rows().back();
    const bench::ProblemName& problem = training_.curve().problems()[update.problem];
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
    const auto done = static_cast<double>(update.episodes - begun_at_);
    const auto left = static_cast<double>(training_.num_episodes() - update.episodes);
    line_.show(fmt::format("[{}/{}] about {:.0f} s left  {} on {}: {:.3f} ms, best {:.3f} ms",
                           update.episodes, training_.num_episodes(), elapsed_s * left / done,
                           problem.graph, problem.cluster, update.last_us / 1e3,
                           update.best_us / 1e3));
  }

 private:
  ProgressLine line_;
  const Training& training_;
  std::int64_t begun_at_;
  Clock::time_point start_ = Clock::now();
};

// Returns the text of the checkpoint to go on from; nothing for a training that begins.
std::optional<std::string> find_checkpoint(const TrainOptions& options) {
  const std::string checkpoint = options.checkpoint();
  std::error_code ignored;
  const bool exists = std::filesystem::exists(checkpoint, ignored);
  if (!options.resume && exists) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: a training already exists; finish it with "
                                               "--resume, or choose another file with --output",
                                               checkpoint));
  }
  if (!options.resume) {
    return std::nullopt;
  }
  if (!exists) {
    throw Error(ErrorCode::kIo,
                fmt::format("{}: nothing to resume: no such training was started, or it has ended",
                            checkpoint));
  }
  return read_text_file(checkpoint);
}

// How a training ended, and the episodes of the last checkpoint, where there is one.
struct Trained {
  TrainingEnd end;
  std::optional<std::int64_t> saved_episodes;
};

Trained train(const TrainOptions& options, Training& training, int threads) {
  const std::atomic<bool>& stop = stop_on_signal();
  TrainingProgress progress(training);
  // The first update is saved at once: a file that cannot be written is told before hours are lost.
  std::optional<Clock::time_point> saved;
  std::optional<std::int64_t> saved_episodes;
  if (options.resume) {
    saved_episodes = training.curve().episodes();
  }
  const std::chrono::duration<double> interval(options.checkpoint_every_s);
  const TrainingEnd end = training.run(allowed_threads(threads), [&] {
    progress.show();
    if (stop || !saved || Clock::now() - *saved >= interval) {
      save(options, training);
      saved = Clock::now();
      saved_episodes = training.curve().episodes();
    }
    return !stop;
  });
  return {end, saved_episodes};
}

std::string describe_interruption(const Training& training,
                                  const std::optional<std::int64_t>& saved_episodes) {
  const std::string where =
      fmt::format("emplace: interrupted after {} of {}", training.curve().episodes(),
                  counted(training.num_episodes(), "episode"));
  if (!saved_episodes) {
    return where + "; there was no update yet, so nothing was saved";
  }
  const std::string from = *saved_episodes == training.curve().episodes()
                               ? ""
                               : fmt::format(" from the checkpoint after {}", *saved_episodes);
  return fmt::format("{}; continue{} with the same command and --resume", where, from);
}

std::int64_t num_updates(const Training& training) {
  return training.curve().rows().empty() ? 0 : training.curve().rows().back().update;
}

std::string to_text(const TrainOptions& options, const Training& training, TrainingEnd end) {
  std::string text =
      fmt::format("{}: {} of {}{}, {}, policy in {}\n", options.agent, training.curve().episodes(),
                  counted(training.num_episodes(), "episode"),
                  end == TrainingEnd::kPatience ? " (out of patience)" : "",
                  counted(num_updates(training), "update"), options.output);
  if (!training.validations().empty()) {
    const bench::Validation& best = training.best_validation();
    text += fmt::format(
        "validation: the best policy is that after {}, with {:.3f} ms; the last has {:.3f} ms\n",
        counted(best.episodes, "episode"), best.objective_us / 1e3,
        training.validations().back().objective_us / 1e3);
  }
  text += "\n";
  using Align = bench::TextTable::Align;
  bench::TextTable table({{"graph"},
                          {"cluster"},
                          {"best [ms]", Align::kRight},
                          {"evaluations", Align::kRight, 2},
                          {"best after", Align::kRight, 3},
                          {"note", Align::kLeft, 1}});
  for (std::size_t i = 0; i < training.evaluators().size(); ++i) {
    const agents::Evaluator& evaluator = *training.evaluators()[i];
    const bench::ProblemName& problem = training.curve().problems()[i];
    const bool fits = evaluator.incumbent().evaluation().status == agents::EvaluationStatus::kOk;
    table.add_row({problem.graph, problem.cluster,
                   fmt::format("{:.3f}", evaluator.incumbent().evaluation().step_time_us / 1e3),
                   fmt::format("{}", evaluator.budget().evaluations()),
                   fmt::format("{}", evaluator.incumbent().evaluations_to_best()),
                   fits ? "" : "out of memory"});
  }
  return text + table.to_terminal(false, table_width());
}

Json to_json(const TrainOptions& options, const Training& training, TrainingEnd end) {
  Json problems = Json::array();
  for (std::size_t i = 0; i < training.evaluators().size(); ++i) {
    const agents::Evaluator& evaluator = *training.evaluators()[i];
    const bench::ProblemName& problem = training.curve().problems()[i];
    const bool fits = evaluator.incumbent().evaluation().status == agents::EvaluationStatus::kOk;
    problems.push_back({{"graph", problem.graph},
                        {"cluster", problem.cluster},
                        {"status", fits ? "ok" : "out_of_memory"},
                        {"best_us", evaluator.incumbent().evaluation().step_time_us},
                        {"evaluations", evaluator.budget().evaluations()},
                        {"evaluations_to_best", evaluator.incumbent().evaluations_to_best()}});
  }
  Json validations = Json::array();
  for (const bench::Validation& validation : training.validations()) {
    validations.push_back({{"episodes", validation.episodes},
                           {"updates", validation.updates},
                           {"objective_us", validation.objective_us}});
  }
  return {{"schema_version", 1},
          {"agent", options.agent},
          {"policy", options.output},
          {"ended_by", to_string(end)},
          {"episodes", training.curve().episodes()},
          {"updates", num_updates(training)},
          {"problems", std::move(problems)},
          {"validations", std::move(validations)}};
}

void check(const TrainOptions& options) {
  std::vector<std::pair<std::string_view, std::string>> files = {
      {"--output", options.output}, {"the checkpoint of --output", options.checkpoint()}};
  for (const std::string& path : options.curves) {
    expect_ending("--curve", path, kCurveEndings);
    files.emplace_back("--curve", path);
  }
  for (const auto& [name, path] : files) {
    if (path == "-") {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{}: expected the name of a file, found '-'", name));
    }
  }
  refuse_same_files(files);
}

Outcome run(const TrainOptions& options, const Invocation& invocation) {
  check(options);
  Training training(plan_of(options), &stop_on_signal());
  const bench::FileLock lock(options.output, "training");
  if (const std::optional<std::string> checkpoint = find_checkpoint(options)) {
    training.resume(*checkpoint, options.checkpoint());
  }
  const auto [end, saved_episodes] = train(options, training, invocation.threads);
  if (end == TrainingEnd::kStopped) {
    print_error(describe_interruption(training, saved_episodes));
    return Outcome::kInterrupted;
  }
  save(options, training);
  std::error_code ignored;
  std::filesystem::remove(options.checkpoint(), ignored);
  if (invocation.json) {
    print_json(to_json(options, training, end));
  } else {
    print_text(to_text(options, training, end));
  }
  return Outcome::kOk;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("train", "Train an agent's policy on graphs; write the policy");
  command->group("Experiments");
  set_examples(*command,
               {"emplace train learned-search inception-v3 --cluster p2-8xlarge-2 --groups 20 "
                "--episodes 10 -o policy.json"});
  const auto options = std::make_shared<TrainOptions>();
  command->add_option("AGENT", options->agent, "NAME[:key=value,...] (emplace list agents)")
      ->required()
      ->type_name("AGENT");
  add_graphs(*command, options->graphs)
      ->required()
      ->description(
          "NAME[:key=value,...] (emplace list graphs), or graph files; a family means all its "
          "training graphs");
  command
      ->add_option("--cluster", options->clusters,
                   "Names (emplace list clusters), or cluster files; every graph is placed on each")
      ->required()
      ->type_name("CLUSTER")
      ->group("Problem");
  add_grouping_options(*command, options->grouping);
  command->add_option("--episodes", options->episodes, "Episodes on each graph and cluster")
      ->required()
      ->transform(whole_number_from(1, kMaxEpisodes))
      ->type_name("N")
      ->group("Training");
  command
      ->add_option("--patience", options->patience,
                   "Stop after N episodes for each graph and cluster without a better placement "
                   "for any; 0: never")
      ->transform(whole_number_from(0, kMaxEpisodes))
      ->type_name("N")
      ->group("Training")
      ->capture_default_str();
  command
      ->add_option("--validation", options->validation,
                   fmt::format("Keep the policy, of {} over the training, that places these graphs "
                               "best in one greedy episode each, instead of the last one",
                               bench::kValidations))
      ->type_name("GRAPH")
      ->group("Training");
  add_seed(*command, options->seed)->group("Training");
  command->add_flag("--resume", options->resume, "Continue from OUTPUT.checkpoint")
      ->group("Training");
  add_output(*command, options->output, "Write the policy here")->required();
  command
      ->add_option("--curve", options->curves,
                   "Write the learning curve: FILE.csv, or FILE.svg (.png, .pdf) as a picture; may "
                   "be given again")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group("Output");
  command
      ->add_option("--checkpoint-every", options->checkpoint_every_s,
                   "Time between two writes of all files, OUTPUT.checkpoint included; 0: write "
                   "at each update")
      ->transform(duration(true))
      ->type_name("TIME")
      ->default_str(fmt::format("{}s", kDefaultCheckpointSeconds))
      ->group("Output");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) { return run(*options, invocation); };
  });
}

}  // namespace emplace::cli
