#include "allowed_threads.hpp"
#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "step/best_known_searches.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/agents/agent_spec.hpp>
#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/best_known.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/bench/threads.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

using bench::BestKnown;
using bench::TextTable;
constexpr TextTable::Align kRight = TextTable::Align::kRight;
constexpr const char* kFolderInTree = "bench/best_known";

std::string in_ms(double time_us) { return fmt::format("{:.3f}", time_us / 1e3); }

// The folder of entries of the source tree in which the command runs; empty outside of one.
std::string folder_of_tree() {
  namespace fs = std::filesystem;
  std::error_code ignored;  // what cannot be looked at is not there
  for (fs::path at = fs::current_path(ignored); !at.empty(); at = at.parent_path()) {
    if (fs::is_directory(at / kFolderInTree, ignored)) {
      return (at / kFolderInTree).string();
    }
    if (at == at.parent_path()) {
      break;
    }
  }
  return "";
}

// Throws kUsage if there is none.
std::string chosen_folder(const std::string& given) {
  std::string folder = given.empty() ? folder_of_tree() : given;
  if (folder.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("no {} here; give --folder DIR, the folder of the entries", kFolderInTree));
  }
  return folder;
}

// --- check

// An entry, and what it is worth on today's problem.
struct Listed {
  BestKnown entry;
  std::string complaint{};           // empty if it is valid
  std::optional<double> bound_us{};  // nothing if there is no such problem any more
};

Listed examine(BestKnown entry) {
  Listed listed{.entry = std::move(entry)};
  try {
    const Problem problem = bench::load_finest_problem(listed.entry.graph, listed.entry.cluster);
    listed.complaint = bench::check_best_known(listed.entry, problem).complaint;
    listed.bound_us = lower_bounds(problem).best_us();
  } catch (const Error& error) {
    listed.complaint = fmt::format("stale: {}", error.what());
  }
  return listed;
}

std::string to_text(const std::vector<Listed>& all) {
  TextTable table({{"graph"},
                   {"cluster"},
                   {"step [ms]", kRight},
                   {"bound [ms]", kRight, 2},
                   {"gap [%]", kRight, 1},
                   {"groups", kRight, 3},
                   {"found by", TextTable::Align::kLeft, 4},
                   {"state"}});
  for (const Listed& listed : all) {
    const BestKnown& entry = listed.entry;
    table.add_row(
        {entry.graph, entry.cluster, in_ms(entry.step_time_us),
         listed.bound_us ? in_ms(*listed.bound_us) : "-",
         listed.bound_us
             ? fmt::format("{:.1f}", gap_to_bound(entry.step_time_us, *listed.bound_us) * 100)
             : "-",
         fmt::format("{}", entry.placement.size()), entry.found.by,
         listed.complaint.empty() ? "valid" : listed.complaint});
  }
  return table.to_terminal(false, table_width());
}

Json to_json(const std::vector<Listed>& all) {
  Json list = Json::array();
  for (const Listed& listed : all) {
    const BestKnown& entry = listed.entry;
    const auto if_bound = [&](double value) {
      return listed.bound_us ? Json(value) : Json(nullptr);
    };
    list.push_back(
        {{"graph", entry.graph},
         {"cluster", entry.cluster},
         {"step_time_us", entry.step_time_us},
         {"bound_us", if_bound(listed.bound_us.value_or(0))},
         {"gap", if_bound(gap_to_bound(entry.step_time_us, listed.bound_us.value_or(0)))},
         {"groups", entry.placement.size()},
         {"found", to_json(entry.found)},
         {"valid", listed.complaint.empty()},
         {"complaint", listed.complaint}});
  }
  return {{"schema_version", 1}, {"best_known", std::move(list)}};
}

void check(const std::string& folder, bool json) {
  std::vector<BestKnown> entries = bench::read_best_known_folder(folder);
  std::vector<Listed> all;
  {
    ProgressLine line;
    for (BestKnown& entry : entries) {
      line.show(
          fmt::format("[{}/{}] {} on {}", all.size(), entries.size(), entry.graph, entry.cluster));
      all.push_back(examine(std::move(entry)));
    }
  }
  if (json) {
    print_json(to_json(all));
  } else {
    print_text(to_text(all));
  }
  const auto invalid =
      std::ranges::count_if(all, [](const Listed& listed) { return !listed.complaint.empty(); });
  if (invalid > 0) {
    throw Error(ErrorCode::kFormat, fmt::format("{} of {} best-known placements are not valid; fix "
                                                "them with: emplace dev best-known",
                                                invalid, all.size()));
  }
}

// --- update

struct UpdateOptions : BestKnownSources {
  std::string folder;
  bool check = false;
};

// What became of a search.
struct Done {
  std::string graph;
  std::string cluster;
  std::optional<bench::BestKnownUpdateResult> result{};  // nothing if it failed
  std::string message{};                                 // why it failed
  double search_s = 0;
};

Done run(const BestKnownSearch& search, const std::string& folder) {
  const auto start = std::chrono::steady_clock::now();
  Done done{.graph = search.graph, .cluster = search.cluster};
  try {
    const Problem problem = bench::load_finest_problem(search.graph, search.cluster);
    const std::optional<BestKnown> present =
        bench::read_best_known_of(folder, search.graph, search.cluster);
    if (!search.run && !present) {
      throw Error(ErrorCode::kUnsupported, "there is no entry to update; give an --agent");
    }
    const bench::BestKnownCheck check =
        present ? bench::check_best_known(*present, problem) : bench::BestKnownCheck{};
    const bool is_worth_it =
        search.run && !(present && present->step_time_us <= search.least_us && check.valid());
    done.result =
        bench::update_best_known(folder, search.graph, search.cluster, problem,
                                 is_worth_it ? search.run(problem, check.renewed) : std::nullopt);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUsage) {
      throw;
    }
    done.message = error.what();
  }
  done.search_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return done;
}

std::string state_of(const Done& done) {
  return done.result ? std::string(to_string(done.result->update)) : "failed: " + done.message;
}

std::string to_text(const std::vector<Done>& all) {
  TextTable table({{"graph"},
                   {"cluster"},
                   {"before [ms]", kRight, 1},
                   {"now [ms]", kRight},
                   {"search [s]", kRight, 2},
                   {"entry"}});
  const auto step_of = [](const std::optional<BestKnown>& entry) {
    return entry ? in_ms(entry->step_time_us) : "-";
  };
  for (const Done& done : all) {
    table.add_row({done.graph, done.cluster, done.result ? step_of(done.result->before) : "-",
                   done.result ? step_of(done.result->now) : "-",
                   fmt::format("{:.1f}", done.search_s), state_of(done)});
  }
  return table.to_terminal(false, table_width());
}

Json to_json(const std::vector<Done>& all) {
  const auto step_of = [](const std::optional<BestKnown>& entry) {
    return entry ? Json(entry->step_time_us) : Json(nullptr);
  };
  Json list = Json::array();
  for (const Done& done : all) {
    list.push_back({{"graph", done.graph},
                    {"cluster", done.cluster},
                    {"before_us", done.result ? step_of(done.result->before) : Json(nullptr)},
                    {"now_us", done.result ? step_of(done.result->now) : Json(nullptr)},
                    {"entry", done.result ? to_string(done.result->update) : "failed"},
                    {"message", done.message}});
  }
  return {{"schema_version", 1}, {"updates", std::move(list)}};
}

Outcome update(const UpdateOptions& options, bool json) {
  const std::string folder = chosen_folder(options.folder);
  if (!options.agent.agent.empty()) {
    agents::AgentSpec(options.agent.agent).make();  // a mistyped agent is told before all else
  }
  const std::vector<BestKnownSearch> searches = searches_of(options, folder);
  const std::atomic<bool>& stop = stop_on_signal();
  std::vector<Done> all;
  {
    ProgressLine line;
    for (const BestKnownSearch& search : searches) {
      if (stop) {
        break;
      }
      line.show(fmt::format("[{}/{}] {} on {}", all.size(), searches.size(), search.graph,
                            search.cluster));
      all.push_back(run(search, folder));
    }
  }
  if (json) {
    print_json(to_json(all));
  } else {
    print_text(to_text(all));
  }
  if (stop) {
    print_error(
        fmt::format("emplace: interrupted at {} of {}; better placements found so far are kept",
                    all.size(), counted(std::ssize(searches), "search", "searches")));
    return Outcome::kInterrupted;
  }
  return std::ranges::all_of(all, [](const Done& done) { return done.result.has_value(); })
             ? Outcome::kOk
             : Outcome::kSomeCellsFailed;
}

}  // namespace

void add_best_known(CLI::App& dev, Action& action) {
  CLI::App* command = dev.add_subcommand(
      "best-known", "Search for better placements; keep the better one of each graph and cluster");
  command->group("Commands");
  set_examples(*command,
               {"emplace dev best-known inception-v3 --cluster p2-8xlarge-2 --agent hill-climb "
                "--folder best",
                "emplace dev best-known --check --folder best"});
  const auto options = std::make_shared<UpdateOptions>();
  CLI::Option* graphs = add_graphs(*command, options->graphs)->default_str("all entries");
  CLI::Option* clusters =
      command
          ->add_option("--cluster", options->clusters,
                       "Names (emplace list clusters); every graph is placed on each")
          ->type_name("CLUSTER")
          ->group("Problem");
  add_agent_options(*command, options->agent);
  CLI::Option* agent = command->get_option("--agent");
  agent->description(
      "The agent that searches, NAME[:key=value,...] (emplace list agents); without --agent, "
      "entries whose costs changed are only simulated again");
  CLI::Option* from =
      command
          ->add_option("--from", options->from,
                       "Take placements from these files instead of searching: result folders of "
                       "emplace run (their fastest cells), or placement files")
          ->type_name("FILE")
          ->group("Placement")
          ->excludes(graphs)
          ->excludes(clusters)
          ->excludes(agent);
  command
      ->add_flag("--check", options->check,
                 "Simulate each entry again, show its bound, and fail unless all are valid")
      ->excludes(graphs)
      ->excludes(clusters)
      ->excludes(agent)
      ->excludes(from);
  command->add_option("--folder", options->folder, "Folder of the entries")
      ->type_name("DIR")
      ->default_str(fmt::format("{} in the current source tree", kFolderInTree));
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      return bench::on_threads(allowed_threads(invocation.threads), [&] {
        if (options->check) {
          check(chosen_folder(options->folder), invocation.json);
          return Outcome::kOk;
        }
        return update(*options, invocation.json);
      });
    };
  });
}

}  // namespace emplace::cli
