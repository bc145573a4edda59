#include "folders.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/embedded.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/best_known.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/simulator.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <system_error>
#include <utility>

namespace emplace::embedded {
std::span<const Document> best_known();
}  // namespace emplace::embedded

namespace emplace::bench {
namespace {

namespace fs = std::filesystem;

// "inception-v3_batch_2.dgx-a100": parameters have characters that not every file system takes.
std::string stem_of(std::string_view graph, std::string_view cluster) {
  std::string stem = fmt::format("{}.{}", graph, cluster);
  std::ranges::replace_if(
      stem, [](char c) { return c == ':' || c == ',' || c == '='; }, '_');
  return stem;
}

// Keeps other processes from updating a folder.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (file_ < 0) {
      fail_io(path, "cannot open the folder", errno);
    }
    while (::flock(file_, LOCK_EX) != 0) {
      if (errno != EINTR) {
        const int error = errno;
        ::close(file_);
        fail_io(path, "cannot lock the folder", error);
      }
    }
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() { ::close(file_); }

 private:
  int file_;
};

std::vector<std::string> device_names(const Problem& problem) {
  std::vector<std::string> names;
  for (const Device& device : problem.cluster().devices) {
    names.push_back(device.name);
  }
  return names;
}

// The placement of an entry on today's problem; nothing if it has other groups, or lost a device.
std::optional<Placement> placement_on(const Problem& problem, const BestKnown& entry) {
  if (entry.placement.size() != problem.num_groups()) {
    return std::nullopt;
  }
  const std::vector<std::string> names = device_names(problem);
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    const std::string& name = entry.devices[static_cast<std::size_t>(entry.placement[group])];
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return std::nullopt;
    }
    placement[group] = static_cast<DeviceId>(found - names.begin());
  }
  const auto priorities = entry.placement.priorities();
  placement.set_priorities({priorities.begin(), priorities.end()});
  return placement;
}

std::string path_of(const std::string& folder, std::string_view graph, std::string_view cluster) {
  return fmt::format("{}/{}.json", folder, stem_of(graph, cluster));
}

}  // namespace

BestKnownStep BestKnown::step() const {
  return {.graph = graph,
          .cluster = cluster,
          .step_hash = step_hash,
          .step_time_us = step_time_us,
          .found = found,
          .groups = placement.size()};
}

std::string BestKnown::file_name() const { return stem_of(graph, cluster) + ".json"; }

std::vector<BestKnown> read_best_known_folder(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(".json") && !name.starts_with(".")) {
      names.push_back(name);
    }
  }
  if (error) {
    fail_io(path, "cannot read the folder", error.value());
  }
  std::ranges::sort(names);
  std::vector<BestKnown> entries;
  for (const std::string& name : names) {
    const std::string file = fmt::format("{}/{}", path, name);
    entries.push_back(read_best_known(read_plain_file(file), file));
    if (entries.back().file_name() != name) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("{}: expected the file name '{}' for its graph and cluster", file,
                              excerpt(entries.back().file_name(), 200)));
    }
  }
  return entries;
}

std::optional<BestKnown> read_best_known_of(const std::string& path, std::string_view graph,
                                            std::string_view cluster) {
  const std::string file = path_of(path, graph, cluster);
  std::error_code error;
  if (!fs::exists(file, error)) {
    return std::nullopt;
  }
  BestKnown entry = read_best_known(read_plain_file(file), file);
  if (entry.graph != graph || entry.cluster != cluster) {
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: expected a placement of {} on {}, found one of {} on {}", file,
                            graph, cluster, excerpt(entry.graph), excerpt(entry.cluster)));
  }
  return entry;
}

std::vector<BestKnownStep> shipped_best_known() {
  std::map<std::string, std::string_view> texts;
  for (const embedded::Document& document : embedded::best_known()) {
    texts.emplace(fmt::format("{}.json", document.name), document.text);
  }
  std::vector<BestKnownStep> steps;
  steps.reserve(texts.size());
  for (const auto& [file, text] : texts) {
    steps.push_back(read_best_known_step(text, file));
  }
  return steps;
}

std::optional<BestKnownStep> find_best_known(std::string_view graph, std::string_view cluster) {
  const std::string stem = stem_of(graph, cluster);
  for (const embedded::Document& document : embedded::best_known()) {
    if (stem == document.name) {
      BestKnownStep step = read_best_known_step(document.text, stem + ".json");
      if (step.graph == graph && step.cluster == cluster) {
        return step;
      }
    }
  }
  return std::nullopt;
}

Problem load_finest_problem(std::string_view graph, std::string_view cluster) {
  // A slash would make it the path of a file.
  const std::string name =
      graph.find('/') == std::string_view::npos ? Spec::parse(graph).name : std::string(graph);
  GraphCatalog::global().find(name);
  if (const auto names = cluster_names(); !std::ranges::binary_search(names, cluster)) {
    throw_unknown_name("cluster", cluster, names);
  }
  return load_problem(graph, cluster, 0, kFinestGrouping);
}

std::optional<Placement> at_grouping(const Grouping& finest, const Problem& problem,
                                     const Placement& placement) {
  const Grouping& grouping = problem.grouping();
  Placement result(finest.size());
  IdVector<GroupId, Priority> priorities;
  for (GroupId group = 0; group < finest.size(); ++group) {
    const std::span<const OpId> members = finest.members(group);
    const auto device_of = [&](OpId op) { return placement[grouping.group_of(op)]; };
    result[group] = device_of(members.front());
    if (!std::ranges::all_of(members, [&](OpId op) { return device_of(op) == result[group]; })) {
      return std::nullopt;
    }
    if (placement.has_priorities()) {
      priorities.push_back(placement.priorities()[grouping.group_of(members.front())]);
    }
  }
  result.set_priorities(std::move(priorities));
  return result;
}

std::optional<BestKnown> make_best_known(std::string_view graph, std::string_view cluster,
                                         const Problem& problem, const Placement& placement,
                                         HowFound found) {
  Simulator simulator(problem);
  const SimResult& step = simulator.run(placement);
  if (step.status != StepStatus::kOk) {
    return std::nullopt;
  }
  return BestKnown{.graph = std::string(graph),
                   .cluster = std::string(cluster),
                   .step_hash = step_hash_of(problem),
                   .step_time_us = step.makespan_us,
                   .found = std::move(found),
                   .devices = device_names(problem),
                   .placement = placement};
}

BestKnownCheck check_best_known(const BestKnown& entry, const Problem& problem) {
  BestKnownCheck check;
  if (const auto placement = placement_on(problem, entry)) {
    check.renewed = make_best_known(entry.graph, entry.cluster, problem, *placement, entry.found);
  }
  if (entry.step_hash != step_hash_of(problem)) {
    check.complaint = "stale: its costs, graph or cluster have changed";
  } else if (!check.renewed) {
    check.complaint = "wrong: the placement does not fit the problem";
  } else if (check.renewed->step_time_us != entry.step_time_us) {
    check.complaint = fmt::format("wrong: the step takes {} us, not {} us",
                                  check.renewed->step_time_us, entry.step_time_us);
  }
  return check;
}

std::string_view to_string(BestKnownUpdate update) {
  switch (update) {
    case BestKnownUpdate::kAdded:
      return "added";
    case BestKnownUpdate::kImproved:
      return "improved";
    case BestKnownUpdate::kRenewed:
      return "renewed";
    case BestKnownUpdate::kKept:
      return "kept";
    case BestKnownUpdate::kNoneFits:
      return "none fits";
  }
  EMPLACE_CHECK(false, "update {}", static_cast<int>(update));
}

BestKnownUpdateResult update_best_known(const std::string& path, std::string_view graph,
                                        std::string_view cluster, const Problem& problem,
                                        const std::optional<BestKnown>& candidate) {
  make_folder(path);
  const FolderLock lock(path);
  BestKnownUpdateResult result{.before = read_best_known_of(path, graph, cluster)};
  const BestKnownCheck check =
      result.before ? check_best_known(*result.before, problem) : BestKnownCheck{};
  result.now = check.renewed;
  const bool is_better =
      candidate && (!result.now || candidate->step_time_us < result.now->step_time_us);
  if (is_better) {
    result.now = candidate;
  }
  result.update = !result.now      ? BestKnownUpdate::kNoneFits
                  : !result.before ? BestKnownUpdate::kAdded
                  : !check.valid() ? BestKnownUpdate::kRenewed
                  : is_better      ? BestKnownUpdate::kImproved
                                   : BestKnownUpdate::kKept;
  if (result.now && result.now != result.before) {
    write_text_file(path_of(path, graph, cluster), write_best_known(*result.now));
  }
  return result;
}

}  // namespace emplace::bench
