#include "graph_facts.hpp"

#include "terminal.hpp"

#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/bench/threads.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace emplace::cli {

using bench::TextTable;
using Align = TextTable::Align;

GraphFacts facts_of(const OpGraph& graph, std::string_view name, const Grouping& grouping) {
  GraphFacts facts{.name = graph[boost::graph_bundle].name,
                   .source = graph[boost::graph_bundle].source,
                   .ops = num_ops(graph),
                   .edges = static_cast<std::int64_t>(boost::num_edges(graph)),
                   .groups = grouping.size(),
                   .grouping = std::string(name),
                   .cut_bytes = cut_bytes(graph, grouping),
                   .totals = totals(graph)};
  for (OpId id = 0; id < num_ops(graph); ++id) {
    const Op& op = graph[static_cast<std::size_t>(id)];
    KindTotals& kind = facts.kinds[op.kind];
    ++kind.ops;
    kind.flops += op.flops;
    std::int64_t bytes = 0;
    for (const Output& output : op.outputs) {
      bytes += output.persistent ? 0 : output.bytes;
    }
    kind.output_bytes += bytes;
    if (op.phase == Phase::kForward) {
      facts.forward_flops += op.flops;
      facts.activation_bytes += bytes;
    }
  }
  return facts;
}

std::vector<GraphFacts> facts_of_catalog() {
  const std::vector<std::string> names = GraphCatalog::global().names();
  std::vector<GraphFacts> facts(names.size());
  bench::on_threads(0, [&] {
    tbb::parallel_for(std::size_t{0}, names.size(), [&](std::size_t i) {
      const OpGraph graph = load_graph(names[i]);
      facts[i] = facts_of(graph, kDefaultGrouping, bench::group_graph(graph, 0));
    });
  });
  return facts;
}

std::string to_text(const GraphFacts& facts) {
  std::string text = escape_terminal(facts.name) + "\n";
  const auto line = [&](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<18}{}\n", what, value);
  };
  const auto gigabytes = [](std::int64_t bytes) {
    return fmt::format("{:.3f} GB", static_cast<double>(bytes) / 1e9);
  };
  const auto gigaflops = [](std::int64_t flops) {
    return fmt::format("{:.3f} GFLOP", static_cast<double>(flops) / 1e9);
  };
  line("source", escape_terminal(facts.source));
  line("ops", fmt::format("{}", facts.ops));
  line("edges", fmt::format("{}", facts.edges));
  line("groups",
       fmt::format("{} (by {}, cut {})", facts.groups, facts.grouping, gigabytes(facts.cut_bytes)));
  line("step", gigaflops(facts.totals.flops));
  line("forward pass", gigaflops(facts.forward_flops));
  line("parameters",
       fmt::format("{} ({})", facts.totals.parameters, gigabytes(facts.totals.parameter_bytes)));
  line("persistent", gigabytes(facts.totals.persistent_bytes));
  line("activations", gigabytes(facts.activation_bytes));

  TextTable kinds({{"kind"},
                   {"ops", Align::kRight},
                   {"GFLOP", Align::kRight},
                   {"outputs [GB]", Align::kRight, 1}});
  for (const auto& [kind, sums] : facts.kinds) {
    kinds.add_row({kind, fmt::format("{}", sums.ops),
                   fmt::format("{:.3f}", static_cast<double>(sums.flops) / 1e9),
                   fmt::format("{:.3f}", static_cast<double>(sums.output_bytes) / 1e9)});
  }
  return text + "\n" + kinds.to_terminal(false, table_width());
}

Json to_json(const GraphFacts& facts) {
  Json kinds = Json::array();
  for (const auto& [kind, sums] : facts.kinds) {
    kinds.push_back({{"kind", kind},
                     {"ops", sums.ops},
                     {"flops", sums.flops},
                     {"output_bytes", sums.output_bytes}});
  }
  return {{"schema_version", 1},
          {"graph", facts.name},
          {"source", facts.source},
          {"ops", facts.ops},
          {"edges", facts.edges},
          {"groups", facts.groups},
          {"grouping", facts.grouping},
          {"cut_bytes", facts.cut_bytes},
          {"flops", facts.totals.flops},
          {"forward_flops", facts.forward_flops},
          {"parameters", facts.totals.parameters},
          {"parameter_bytes", facts.totals.parameter_bytes},
          {"persistent_bytes", facts.totals.persistent_bytes},
          {"activation_bytes", facts.activation_bytes},
          {"kinds", std::move(kinds)}};
}

}  // namespace emplace::cli
