#include "suite/suite_json.hpp"
#include "suite/units.hpp"

#include <emplace/agents/plugin_loader.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/random.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/checksum.hpp>
#include <emplace/bench/manifest.hpp>

#include <boost/version.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <git_revision.hpp>
#include <sched.h>
#include <sys/utsname.h>
#include <tbb/version.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

namespace emplace::bench {
namespace {

constexpr std::string_view kRunSchema = "emplace-run";
constexpr std::int64_t kRunVersion = 4;

// Returns what follows `key` and its separators on the first line of `path` that begins with it.
std::string value_in_file(const char* path, std::string_view key, std::string_view separators) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) {
      continue;
    }
    const std::size_t begin = line.find_first_not_of(separators, key.size());
    if (begin == std::string::npos) {
      return "";
    }
    const std::size_t end = line.find_last_not_of(separators);
    return line.substr(begin, end - begin + 1);
  }
  return "";
}

std::string system_name() {
  std::string distribution = value_in_file("/etc/os-release", "PRETTY_NAME", "=\"");
  utsname names{};
  if (uname(&names) != 0) {
    return distribution;
  }
  const std::string kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  return distribution.empty() ? kernel : distribution + ", " + kernel;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

std::int64_t installed_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? std::int64_t{pages} * page_bytes : 0;
}

Json to_json(const Start& start) {
  Json libraries = Json::object();
  for (const auto& [name, version] : start.build.libraries) {
    libraries.add(name, version);
  }
  return {{"time", start.time},
          {"arguments", start.arguments},
          {"build",
           {{"version", start.build.version},
            {"git_revision", start.build.git_revision},
            {"compiler", start.build.compiler},
            {"build_type", start.build.build_type},
            {"libraries", std::move(libraries)}}},
          {"machine",
           {{"cpu", start.machine.cpu},
            {"cores", start.machine.cores},
            {"memory_bytes", start.machine.memory_bytes},
            {"system", start.machine.system}}}};
}

Start start_from_json(const JsonCursor& json) {
  json.expect_only({"time", "arguments", "build", "machine"});
  Start start;
  start.time = json.at("time").text();
  for (const JsonCursor& argument : json.at("arguments").elements()) {
    start.arguments.push_back(argument.text());
  }
  const JsonCursor build = json.at("build");
  build.expect_only({"version", "git_revision", "compiler", "build_type", "libraries"});
  start.build.version = build.at("version").text();
  start.build.git_revision = build.at("git_revision").text();
  start.build.compiler = build.at("compiler").text();
  start.build.build_type = build.at("build_type").text();
  for (const auto& [name, version] : build.at("libraries").members()) {
    start.build.libraries.emplace_back(name, version.text());
  }
  const JsonCursor machine = json.at("machine");
  machine.expect_only({"cpu", "cores", "memory_bytes", "system"});
  start.machine.cpu = machine.at("cpu").text();
  start.machine.cores =
      static_cast<int>(machine.at("cores").integer(0, std::numeric_limits<int>::max()));
  start.machine.memory_bytes = machine.at("memory_bytes").integer(0, kMaxInteger);
  start.machine.system = machine.at("system").text();
  return start;
}

}  // namespace

BuildInfo build_info() {
  return {.version = EMPLACE_VERSION,
          .git_revision = EMPLACE_GIT_REVISION,
          .compiler = EMPLACE_COMPILER,
          .build_type = EMPLACE_BUILD_TYPE,
          .libraries = {{"boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100'000,
                                              BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
                        {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10'000,
                                            FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
                        {"nlohmann-json",
                         fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                     NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
                        {"onetbb", TBB_runtime_version()}}};
}

MachineInfo machine_info() {
  return {.cpu = value_in_file("/proc/cpuinfo", "model name", " \t:"),
          .cores = usable_cores(),
          .memory_bytes = installed_memory_bytes(),
          .system = system_name()};
}

Start start_now(std::vector<std::string> arguments) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  Start start{.arguments = std::move(arguments),
              .time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)),
              .build = build_info(),
              .machine = machine_info()};
  // A plug-in tells no version of its own.
  for (const agents::LoadedPlugin& plugin : agents::loaded_plugins()) {
    start.build.libraries.emplace_back(
        "plug-in " + plugin.name, fmt::format("{:016x}", stable_hash(read_text_file(plugin.path))));
  }
  std::ranges::sort(start.build.libraries);  // as they are read back
  return start;
}

std::vector<std::string> differences_of_starts(const Manifest& manifest,
                                               const std::string& folder) {
  const BuildInfo& first = manifest.starts.front().build;
  const BuildInfo& now = manifest.starts.back().build;
  std::vector<std::pair<std::string, std::string>> others;
  std::ranges::set_symmetric_difference(first.libraries, now.libraries, std::back_inserter(others));
  std::set<std::string> names;
  for (const auto& [name, version] : others) {
    names.insert(name);
  }
  std::vector<std::string> differences;
  if (!names.empty()) {
    differences.push_back(
        fmt::format("{}: this run was started with another {}; its finished cells are kept", folder,
                    fmt::join(names, ", ")));
  }
  BuildInfo same_libraries = now;
  same_libraries.libraries = first.libraries;
  if (first != same_libraries) {
    differences.push_back(
        fmt::format("this run was started by emplace {} (git {}), and is resumed by {} (git {})",
                    first.version, first.git_revision, now.version, now.git_revision));
  }
  return differences;
}

bool had_problem(const Manifest& manifest, std::string_view graph, std::string_view cluster,
                 const Problem& problem) {
  const std::string hash = hash_of(problem);
  return std::ranges::any_of(manifest.problems, [&](const ProblemHash& one) {
    return one.graph == graph && one.cluster == cluster && one.hash == hash;
  });
}

std::optional<std::string> difference(const Manifest& stored, const Manifest& wanted) {
  if (stored.suite != wanted.suite || stored.num_cells != wanted.num_cells) {
    return fmt::format("its suite '{}' is not the same as this suite '{}'", stored.suite.name,
                       wanted.suite.name);
  }
  if (stored.root_seed != wanted.root_seed) {
    return fmt::format("it was run with seed {}, not {}", stored.root_seed, wanted.root_seed);
  }
  for (std::size_t i = 0; i < wanted.problems.size(); ++i) {
    if (i >= stored.problems.size() || stored.problems[i] != wanted.problems[i]) {
      return fmt::format("{} on {} has changed since", wanted.problems[i].graph,
                         wanted.problems[i].cluster);
    }
  }
  return std::nullopt;
}

std::string write_manifest(const Manifest& manifest) {
  Json problems = Json::array();
  for (const ProblemHash& problem : manifest.problems) {
    problems.push_back({{"graph", problem.graph},
                        {"cluster", problem.cluster},
                        {"hash", problem.hash},
                        {"step_hash", problem.step_hash}});
  }
  Json starts = Json::array();
  for (const Start& start : manifest.starts) {
    starts.push_back(to_json(start));
  }
  Json json = {{"schema", kRunSchema},
               {"version", kRunVersion},
               {"suite", suite_to_json(manifest.suite)},
               {"root_seed", manifest.root_seed},
               {"num_cells", manifest.num_cells}};
  if (!manifest.shard.is_whole()) {
    json.add("shard", {{"index", manifest.shard.index},
                       {"count", manifest.shard.count},
                       {"num_cells", manifest.num_shard_cells}});
  }
  json.add("problems", problems);
  json.add("starts", starts);
  // An argument may be any bytes; what is not UTF-8 in it is replaced.
  return with_checksum(json.indented(2) + "\n");
}

Manifest read_manifest(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor json = document.root();
  json.expect_schema(kRunSchema, kRunVersion);
  if (json.at("version").integer(1, kRunVersion) < kRunVersion) {
    json.at("version").fail("an older program wrote these results; run the suite again");
  }
  json.expect_only({"schema", "version", "suite", "root_seed", "num_cells", "shard", "problems",
                    "starts", "crc32"});
  Manifest manifest;
  manifest.suite = suite_from_json(json.at("suite"), KnownNames::kAny);
  manifest.root_seed = static_cast<std::uint64_t>(json.at("root_seed").integer(0, kMaxRootSeed));
  manifest.num_cells = json.at("num_cells").integer(1, kMaxInteger);
  if (const auto shard = json.find("shard")) {
    shard->expect_only({"index", "count", "num_cells"});
    manifest.shard.count = shard->at("count").integer(2, kMaxShards);
    manifest.shard.index = shard->at("index").integer(1, manifest.shard.count);
    manifest.num_shard_cells = shard->at("num_cells").integer(0, manifest.num_cells);
  }
  for (const JsonCursor& problem : json.at("problems").elements()) {
    problem.expect_only({"graph", "cluster", "hash", "step_hash"});
    manifest.problems.push_back({problem.at("graph").text(), problem.at("cluster").text(),
                                 problem.at("hash").non_empty_text(),
                                 problem.at("step_hash").non_empty_text()});
  }
  for (const JsonCursor& start : json.at("starts").elements()) {
    manifest.starts.push_back(start_from_json(start));
  }
  check_checksum(text, source);
  return manifest;
}

}  // namespace emplace::bench
