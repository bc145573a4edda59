#include "file_facts.hpp"

#include "help_text.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/bench/suite.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

constexpr auto kSchemas = std::to_array<std::pair<std::string_view, FileKind>>({
    {"emplace-cluster", FileKind::kCluster},
    {"emplace-device-profile", FileKind::kDeviceProfile},
    {"emplace-placement", FileKind::kPlacement},
    {"emplace-trained-policy", FileKind::kPolicy},
    {"emplace-suite", FileKind::kSuite},
    {"emplace-best-known", FileKind::kOther},
    {"emplace-published-steps", FileKind::kOther},
});

// "  agents       heft, learned-search"
std::string line(std::string_view what, const std::string& value) {
  return fmt::format("  {:<12} {}\n", what, value);
}

std::string listed(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string text_at(const JsonCursor& object, std::string_view key) {
  const std::optional<JsonCursor> found = object.find(key);
  return found ? found->text() : "";
}

}  // namespace

FileKind kind_of_file(const std::string& path) {
  try {
    const JsonDocument document = JsonDocument::read(path);
    const std::optional<JsonCursor> schema =
        document.root().is_object() ? document.root().find("schema") : std::nullopt;
    if (schema && schema->is_text()) {
      const auto known = std::ranges::find(kSchemas, schema->text(),
                                           &std::pair<std::string_view, FileKind>::first);
      return known == kSchemas.end() ? FileKind::kGraph : known->second;
    }
  } catch (const Error&) {
    // Not JSON: a graph in another format, or a file whose reader says what is wrong.
  }
  return FileKind::kGraph;
}

FileFacts facts_of_placement(const std::string& path) {
  const JsonDocument document = JsonDocument::read(path);
  const JsonCursor root = document.root();
  root.expect_schema("emplace-placement", 1);
  const std::string graph = text_at(root, "graph");
  const std::string cluster = text_at(root, "cluster");
  std::map<std::string, std::int64_t> ops_by_device;
  for (const auto& [op, device] : root.at("devices").members()) {
    ++ops_by_device[device.non_empty_text()];
  }
  FileFacts facts{.text = fmt::format("{} (placement)\n", path),
                  .json = {{"schema_version", 1},
                           {"kind", "placement"},
                           {"graph", graph},
                           {"cluster", cluster},
                           {"has_priorities", root.find("priorities").has_value()}}};
  facts.text += line("graph", graph.empty() ? "not named" : graph);
  facts.text += line("cluster", cluster.empty() ? "not named" : cluster);
  Json devices = Json::object();
  for (const auto& [device, ops] : ops_by_device) {
    facts.text += line(device, counted(ops, "op"));
    devices.add(device, ops);
  }
  if (root.find("priorities")) {
    facts.text += line("order", "by priorities");
  }
  facts.text += fmt::format("\nnext: emplace simulate --placement {}\n", escape_shell(path));
  facts.json.add("ops_by_device", devices);
  return facts;
}

FileFacts facts_of_policy_file(const std::string& path) {
  const bench::PolicyOrigin origin = bench::read_policy_file(read_text_file(path), path).origin;
  const bench::TrainingPlan& plan = origin.plan;
  FileFacts facts{.text = fmt::format("{} (trained policy)\n", path),
                  .json = {{"schema_version", 1},
                           {"kind", "policy"},
                           {"agent", plan.agent.text()},
                           {"graphs", plan.graphs},
                           {"clusters", plan.clusters},
                           {"groups", plan.groups},
                           {"grouping", plan.grouping},
                           {"root_seed", plan.root_seed},
                           {"episodes_played", origin.episodes_played},
                           {"updates", origin.updates}}};
  facts.text += line("agent", plan.agent.text());
  facts.text += line("graphs", listed(plan.graphs));
  facts.text += line("clusters", listed(plan.clusters));
  facts.text += line("grouping", plan.groups > 0 ? fmt::format("{}, about {}", plan.grouping,
                                                               counted(plan.groups, "group"))
                                                 : plan.grouping);
  facts.text +=
      line("trained", fmt::format("{} in {}, seed {}", counted(origin.episodes_played, "episode"),
                                  counted(origin.updates, "update"), plan.root_seed));
  facts.text += fmt::format("\nnext: emplace place GRAPH --cluster CLUSTER --policy {}\n",
                            escape_shell(path));
  return facts;
}

FileFacts facts_of_suite(const std::string& path) {
  const bench::Suite suite = bench::load_suite(path);
  FileFacts facts{.text = fmt::format("{} (suite)\n", path),
                  .json = Json{{"schema_version", 1}, {"kind", "suite"}}};
  facts.json.add("suite", Json::of_text(bench::write_suite(suite)));
  facts.text += line("name", suite.name);
  if (!suite.summary.empty()) {
    facts.text += line("summary", suite.summary);
  }
  facts.text +=
      line("contents", fmt::format("{}, {}, {}", counted(std::ssize(suite.graphs), "graph"),
                                   counted(std::ssize(suite.clusters), "cluster"),
                                   counted(std::ssize(suite.agents), "agent")));
  facts.text += fmt::format("\nnext: emplace run {} --dry-run\n", escape_shell(path));
  return facts;
}

}  // namespace emplace::cli
