#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/sim/placement_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace emplace {
namespace {

constexpr const char* kSchema = "emplace-placement";
constexpr std::int64_t kVersion = 1;
constexpr const char* kGraph = "graph";
constexpr const char* kCluster = "cluster";

using OpsByName = std::map<std::string_view, OpId>;

// A file is that of the step in one piece: copies for further micro-batches are where the first is.
bool is_in_file(const Op& op) { return op.micro_batch == 0; }

OpsByName ops_by_name(const Problem& problem) {
  OpsByName ops;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    ops.emplace(problem.op(op).name, op);
  }
  return ops;
}

// Fails as `message` says at a part of the file, unless the file says that it is a placement of
// another graph or on another cluster than `name`: then that is said first.
[[noreturn]] void fail_at(const JsonCursor& part, const JsonCursor& root, const char* member,
                          const std::string& name, const std::string& message) {
  const auto of_file = root.find(member);
  if (of_file && of_file->text() != name) {
    root.fail(fmt::format("a placement {} '{}', this is '{}': {}",
                          std::string_view(member) == kGraph ? "of" : "on", of_file->text(), name,
                          message));
  }
  part.fail(message);
}

// Finds the op of a member that is called as an op; fails at the member if there is none.
OpId find_op(const Problem& problem, const OpsByName& ops, const std::string& name,
             const JsonCursor& member, const JsonCursor& root) {
  const auto op = ops.find(name);
  if (op == ops.end()) {
    const std::string& graph = problem.graph()[boost::graph_bundle].name;
    fail_at(member, root, kGraph, graph,
            fmt::format("the graph '{}' has no op '{}'", graph, excerpt(name)));
  }
  return op->second;
}

// Fails at `members`, of which there are `count`, where an op has none.
void expect_all_ops(const JsonCursor& members, std::size_t count, const Problem& problem,
                    const OpsByName& ops, std::string_view what, const JsonCursor& root) {
  if (count == ops.size()) {
    return;
  }
  for (const auto& [name, op] : ops) {
    if (is_in_file(problem.op(op)) && !members.find(name)) {
      fail_at(members, root, kGraph, problem.graph()[boost::graph_bundle].name,
              fmt::format("the op '{}' has no {} ({} of {} ops have one)", name, what, count,
                          ops.size()));
    }
  }
}

// Gives groups of further micro-batches alone what `of_group` has for the group of an op with the
// same label: where ops are not grouped, copies are by themselves.
template <class T>
void copy_to_further_micro_batches(const Problem& problem,
                                   IdVector<GroupId, std::optional<T>>& of_group) {
  std::map<std::string_view, GroupId> group_with;  // by label
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    if (is_in_file(problem.op(op))) {
      group_with.emplace(problem.op(op).colocation, problem.grouping().group_of(op));
    }
  }
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    std::optional<T>& value = of_group[problem.grouping().group_of(op)];
    const auto with_label = group_with.find(problem.op(op).colocation);
    if (!value && !problem.op(op).colocation.empty() && with_label != group_with.end()) {
      value = of_group[with_label->second];
    }
  }
}

// A group has the highest priority of its ops.
IdVector<GroupId, Priority> read_priorities(const JsonCursor& json, const Problem& problem,
                                            const OpsByName& ops, const JsonCursor& root) {
  constexpr Priority kLeast = std::numeric_limits<Priority>::min();
  IdVector<GroupId, std::optional<Priority>> read(problem.num_groups());
  const auto members = json.members();
  for (const auto& [name, number] : members) {
    std::optional<Priority>& priority =
        read[problem.grouping().group_of(find_op(problem, ops, name, number, root))];
    priority = std::max(
        priority.value_or(kLeast),
        static_cast<Priority>(number.integer(kLeast, std::numeric_limits<Priority>::max())));
  }
  expect_all_ops(json, members.size(), problem, ops, "priority", root);
  copy_to_further_micro_batches(problem, read);
  IdVector<GroupId, Priority> priorities;
  for (const std::optional<Priority>& priority : read) {
    priorities.push_back(priority.value_or(kLeast));
  }
  return priorities;
}

}  // namespace

void require_constraints(const Problem& problem, const Placement& placement,
                         std::string_view source) {
  Placement kept = placement;
  problem.constrain(kept);
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    if (kept[group] != placement[group]) {
      throw Error(
          ErrorCode::kUsage,
          fmt::format("{}: the op '{}' is on {}; the constraints of the cluster '{}' expect "
                      "it on {}",
                      source, problem.op(problem.grouping().members(group).front()).name,
                      problem.device(placement[group]).name, problem.cluster().name,
                      problem.device(kept[group]).name));
    }
  }
}

std::string write_placement_json(const Problem& problem, const Placement& placement) {
  const auto by_op = [&](const auto& of_group) {
    Json ops = Json::object();
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      if (is_in_file(problem.op(op))) {
        ops.add(problem.op(op).name, of_group(problem.grouping().group_of(op)));
      }
    }
    return ops;
  };
  Json json = {{"schema", kSchema},
               {"version", kVersion},
               {kGraph, problem.graph()[boost::graph_bundle].name},
               {kCluster, problem.cluster().name},
               {"devices", by_op([&](GroupId group) -> const std::string& {
                  return problem.device(placement[group]).name;
                })}};
  if (placement.has_priorities()) {
    json.add("priorities", by_op([&](GroupId group) { return placement.priorities()[group]; }));
  }
  return json.indented(2) + "\n";
}

Placement read_placement_json(std::string_view text, const std::string& source,
                              const Problem& problem) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  root.expect_schema(kSchema, kVersion);
  root.expect_only({"schema", "version", kGraph, kCluster, "devices", "priorities"});

  for (const char* for_readers : {kGraph, kCluster}) {
    if (const auto name = root.find(for_readers)) {
      name->text();
    }
  }

  std::map<std::string, DeviceId, std::less<>> device_of_name;
  std::vector<std::string> device_names;
  for (const Device& device : problem.cluster().devices) {
    device_of_name.emplace(device.name, static_cast<DeviceId>(device_names.size()));
    device_names.push_back(device.name);
  }
  const OpsByName ops = ops_by_name(problem);

  const JsonCursor devices = root.at("devices");
  IdVector<GroupId, std::optional<DeviceId>> device_of_group(problem.num_groups());
  std::size_t num_placed = 0;
  for (const auto& [op_name, device_name] : devices.members()) {
    const OpId op = find_op(problem, ops, op_name, device_name, root);
    const std::string name = device_name.text();
    const auto device = device_of_name.find(name);
    if (device == device_of_name.end()) {
      fail_at(device_name, root, kCluster, problem.cluster().name,
              fmt::format("the cluster '{}' has no device '{}'; it has {}", problem.cluster().name,
                          excerpt(name), fmt::join(device_names, ", ")));
    }
    std::optional<DeviceId>& group_device = device_of_group[problem.grouping().group_of(op)];
    if (group_device && *group_device != device->second) {
      device_name.fail(
          fmt::format("another op puts its group on '{}'; place all ops of a group on one device, "
                      "or simulate without groups",
                      problem.device(*group_device).name));
    }
    group_device = device->second;
    ++num_placed;
  }
  expect_all_ops(devices, num_placed, problem, ops, "device", root);
  copy_to_further_micro_batches(problem, device_of_group);
  std::vector<DeviceId> result;
  result.reserve(device_of_group.size());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    const std::optional<DeviceId>& device = device_of_group[group];
    if (!device) {
      const OpId first = problem.grouping().members(group).front();
      devices.fail(
          fmt::format("the op '{}' has no device, and shares none with an op of the first "
                      "micro-batch",
                      problem.op(first).name));
    }
    result.push_back(*device);
  }
  Placement placement(std::move(result));
  if (const auto priorities = root.find("priorities")) {
    placement.set_priorities(read_priorities(*priorities, problem, ops, root));
  }
  return placement;
}

}  // namespace emplace
