#include "length_prefixed.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/random.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>

#include <bit>
#include <unordered_set>
#include <utility>

namespace emplace::bench {
namespace {

std::shared_ptr<const OpGraph> share_graph(std::string_view name) {
  return std::make_shared<const OpGraph>(load_graph(name));
}

std::shared_ptr<const Cluster> share_cluster(std::string_view name) {
  return std::make_shared<const Cluster>(load_cluster(name));
}

// Collects values in a fixed byte order, so that the hash is the same on every machine.
class Fingerprint {
 public:
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      bytes_ += static_cast<char>(static_cast<unsigned char>(value >> shift));
    }
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void add(std::int32_t value) { add(static_cast<std::int64_t>(value)); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }

  std::string hash() const { return fmt::format("{:016x}", stable_hash(bytes_)); }

 private:
  std::string bytes_;
};

// Compiles a problem; an error names the graph as the user did.
Problem compile(std::string_view graph, std::shared_ptr<const OpGraph> ops, Grouping grouping,
                std::shared_ptr<const Cluster> cluster) {
  try {
    return Problem(std::move(ops), std::move(grouping), std::move(cluster));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", graph, error.what()));
  }
}

void add_transfer_model(Fingerprint& print, const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  print.add(to_string(cluster.transfer_model));
  switch (cluster.transfer_model) {
    case TransferModel::kPlaceto:
      print.add(cluster.placeto.gap_after_op_us);
      print.add(cluster.placeto.gap_after_transfer_us);
      print.add(cluster.placeto.bytes_per_us);
      break;
    case TransferModel::kGrappler:
      print.add(cluster.grappler.latency_us);
      print.add(cluster.grappler.bytes_per_us);
      break;
    case TransferModel::kPhysical:
      print.add(to_string(cluster.queue_order));
      for (const Link& link : problem.topology().links()) {
        print.add(link.bytes_per_us);
        print.add(link.latency_us);
        print.add(to_string(link.sharing));
      }
      for (DeviceId from = 0; from < problem.num_devices(); ++from) {
        for (DeviceId to = 0; to < problem.num_devices(); ++to) {
          const std::span<const std::int32_t> route = problem.topology().route(from, to);
          print.add(static_cast<std::int64_t>(route.size()));
          for (const std::int32_t link : route) {
            print.add(link);
          }
        }
      }
      break;
  }
}

// Nothing where there are none.
void add_constraints(Fingerprint& print, const Problem& problem) {
  for (OpId op = 0; op < problem.num_ops() && !problem.cluster().pins.empty(); ++op) {
    print.add(problem.pinned_device(op));
  }
  for (const std::vector<OpId>& together : problem.together()) {
    print.add(static_cast<std::int64_t>(together.size()));
    for (const OpId op : together) {
      print.add(op);
    }
  }
}

}  // namespace

Grouping group_graph(const OpGraph& graph, std::int64_t groups, std::string_view grouping) {
  const GroupingStrategy& strategy = find_grouping(grouping_for(grouping, groups));
  return strategy.group(graph, target_of(strategy, groups));
}

Problem load_problem(std::string_view graph, std::string_view cluster, std::int64_t groups,
                     std::string_view grouping) {
  find_grouping(
      grouping_for(grouping, groups));  // report a mistyped name before the graph is built
  std::shared_ptr<const OpGraph> ops = share_graph(graph);
  Grouping grouped = group_graph(*ops, groups, grouping);
  return compile(graph, std::move(ops), std::move(grouped), share_cluster(cluster));
}

namespace {

// Says what a hash is of.
enum class Hashed : std::uint8_t {
  kAll,    // all that a simulation or an agent reads
  kSteps,  // what decides the step of a placement of the ops
};

std::string hash_of(const Problem& problem, Hashed hashed) {
  const bool all = hashed == Hashed::kAll;
  Fingerprint print;
  const Cluster& cluster = problem.cluster();
  add_transfer_model(print, problem);
  print.add(problem.num_devices());
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const Device& facts = cluster.devices[static_cast<std::size_t>(device)];
    print.add(std::string_view(facts.name));
    if (all) {
      print.add(static_cast<std::int64_t>(facts.placeable));
    }
    print.add(problem.memory_bytes(device));
    print.add(problem.slots(device));
  }
  print.add(problem.num_ops());
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const Op& facts = problem.op(op);
    print.add(std::string_view(facts.name));
    if (all) {
      print.add(std::string_view(facts.kind));
      print.add(std::string_view(facts.scope));
      print.add(static_cast<std::int64_t>(facts.phase));
      print.add(problem.grouping().group_of(op));
    } else {
      print.add(std::string_view(facts.colocation));
    }
    print.add(facts.persistent_bytes);
    print.add(facts.workspace_bytes);
    print.add(problem.allocated_bytes(op));
    if (problem.works_in_place(op)) {
      print.add(std::string_view("in place"));
    }
    if (problem.viewed_input(op) != Problem::kNoUse) {
      print.add(problem.viewed_input(op));
    }
    print.add(problem.gap_us(op));
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      print.add(problem.cost_us(op, device));
      print.add(problem.launch_us(op, device));
    }
    for (const Problem::Child& child : problem.children(op)) {
      print.add(child.op);
      print.add(child.output);
    }
    for (auto [use, end] = problem.uses_of(op); use < end; ++use) {
      print.add(problem.uses()[use].consumer);
      print.add(problem.uses()[use].output);
    }
  }
  add_constraints(print, problem);
  for (std::int32_t output = 0; output < problem.num_outputs(); ++output) {
    print.add(problem.output_bytes(output));
    print.add(problem.output_allocated_bytes(output));
  }
  return print.hash();
}

}  // namespace

std::string hash_of(const Problem& problem) { return hash_of(problem, Hashed::kAll); }

std::string step_hash_of(const Problem& problem) { return hash_of(problem, Hashed::kSteps); }

std::string problem_key(const Cell& cell) {
  return fmt::format("{} {} {} {}", length_prefixed(cell.graph), length_prefixed(cell.cluster),
                     cell.groups, cell.grouping);
}

void for_each_problem(const std::vector<Cell>& cells,
                      const std::function<void(const Cell&, Problem)>& visit) {
  std::shared_ptr<const OpGraph> graph;
  std::string graph_name;
  std::map<std::string, std::shared_ptr<const Cluster>> clusters;
  std::unordered_set<std::string> seen;
  for (const Cell& cell : cells) {
    if (!seen.insert(problem_key(cell)).second) {
      continue;
    }
    if (!graph || graph_name != cell.graph) {
      graph = share_graph(cell.graph);
      graph_name = cell.graph;
    }
    std::shared_ptr<const Cluster>& cluster = clusters[cell.cluster];
    if (!cluster) {
      cluster = share_cluster(cell.cluster);
    }
    visit(cell,
          compile(cell.graph, graph, group_graph(*graph, cell.groups, cell.grouping), cluster));
  }
}

ProblemSet::ProblemSet(const std::vector<Cell>& cells) {
  for_each_problem(cells, [&](const Cell& cell, Problem problem) {
    const LowerBounds bounds = lower_bounds(problem);
    hashes_.push_back({cell.graph, cell.cluster, hash_of(problem), step_hash_of(problem)});
    entries_.emplace(problem_key(cell),
                     std::make_unique<const Entry>(Entry{std::move(problem), bounds}));
  });
}

const ProblemSet::Entry& ProblemSet::find(const Cell& cell) const {
  const auto found = entries_.find(problem_key(cell));
  EMPLACE_CHECK(found != entries_.end(), "no problem for cell {}", problem_key(cell));
  return *found->second;
}

}  // namespace emplace::bench
