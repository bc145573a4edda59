// The classic task graphs against closed forms: how many tasks and edges there are, how the work is
// spread, and what the communication-to-computation ratio comes to.

#include "support/errors.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace emplace::task_graphs_test {
namespace {

constexpr const char* kGenerators[] = {
    "cholesky", "fft",     "fork-join", "gaussian-elimination", "in-tree",
    "layered",  "montage", "out-tree",  "series-parallel"};

std::int64_t tasks_of(const OpGraph& graph) { return num_ops(graph); }

std::int64_t edges_of(const OpGraph& graph) {
  return static_cast<std::int64_t>(boost::num_edges(graph));
}

// How often each element of the alphabet of a graph occurs: the names of its tasks up to the first
// underscore.
std::map<std::string, std::int64_t> count_tasks(const OpGraph& graph) {
  std::map<std::string, std::int64_t> counts;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const std::string name = graph[op].name.substr(graph[op].scope.size() + 1);
    ++counts[name.substr(0, name.find('_'))];
  }
  return counts;
}

double mean_flops(const OpGraph& graph) {
  return static_cast<double>(totals(graph).flops) / static_cast<double>(tasks_of(graph));
}

std::int64_t bytes_of(const OpGraph& graph, OpGraph::edge_descriptor edge) {
  return graph[boost::source(edge, graph)]
      .outputs.at(static_cast<std::size_t>(graph[edge].output))
      .bytes;
}

double mean_bytes(const OpGraph& graph) {
  double sum = 0;
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    sum += static_cast<double>(bytes_of(graph, edge));
  }
  return sum / static_cast<double>(edges_of(graph));
}

// Returns the number of tasks on the longest path to each task and with it.
std::vector<int> depths(const OpGraph& graph) {
  std::vector<int> depth(boost::num_vertices(graph), 1);
  for (const OpId op : topological_order(graph)) {
    for (const auto use :
         boost::make_iterator_range(boost::out_edges(static_cast<std::size_t>(op), graph))) {
      auto& reader = depth[boost::target(use, graph)];
      reader = std::max(reader, depth[static_cast<std::size_t>(op)] + 1);
    }
  }
  return depth;
}

int longest_path(const OpGraph& graph) { return std::ranges::max(depths(graph)); }

TEST(TaskGraphs, CommunicationOverComputationIsTheRatioAskedFor) {
  // On the reference device, 3e6 FLOP/us, and link, 1e4 bytes/us. FLOPs and bytes are rounded to
  // whole numbers, and the smallest are thousands.
  for (const std::string name : kGenerators) {
    for (const double ccr : {0.1, 1.0, 10.0}) {
      const OpGraph graph = load_graph(fmt::format("{}:ccr={},cost-us=500", name, ccr));
      EXPECT_NEAR(mean_flops(graph) / 3e6, 500, 1e-3) << name;
      EXPECT_NEAR(mean_bytes(graph) / 1e4 / (mean_flops(graph) / 3e6), ccr, 1e-5 * ccr) << name;
    }
  }
}

TEST(TaskGraphs, OnTheClusterOfThePapersTheRatioIsWhatTheHeaderSays) {
  // A K80 multiplies matrices at 0.32 * 4.368e6 FLOP/us, and its link moves 7600 bytes/us: 184 FLOP
  // for a byte where the reference makes 300. A launch of 3 us adds to each task's 1000 us.
  const OpGraph graph = load_graph("cholesky:ccr=2,cost-us=1000");
  const DeviceProfile k80 = load_device_profile("k80-placeto-paper");
  double computation_us = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    const Cost cost = op_cost(k80, graph[op]);
    EXPECT_EQ(cost.source, CostSource::kRoofline);
    computation_us += cost.us;
  }
  computation_us /= static_cast<double>(tasks_of(graph));
  EXPECT_NEAR(computation_us, 3 + 1000 * 3e6 / (0.32 * 4.368e6), 1e-3);
  EXPECT_NEAR(mean_bytes(graph) / 7600 / computation_us, 2 * 183.9 / 300, 0.01);
}

TEST(TaskGraphs, WithoutCommunicationNothingIsMoved) {
  for (const std::string name : kGenerators) {
    EXPECT_EQ(mean_bytes(load_graph(name + ":ccr=0")), 0) << name;
  }
}

TEST(TaskGraphs, TooManyTasksAreRefusedBeforeTheyAreMade) {
  for (const char* spec :
       {"in-tree:arity=10,levels=1000000", "cholesky:tiles=10000",
        "montage:rows=1000000,columns=1000000", "fork-join:width=1000000,stages=1000000",
        "gaussian-elimination:columns=1000000", "fft:log2-points=20"}) {
    EXPECT_THAT(test::error_of(ErrorCode::kUsage, [&] { load_graph(spec); }),
                testing::HasSubstr("at most 2000000 tasks"))
        << spec;
  }
}

TEST(TaskGraphs, ASeedIsTheSameGraphAndAnotherSeedAnother) {
  for (const std::string name : {"layered", "series-parallel"}) {
    const auto edges = [&](const char* seed) {
      const OpGraph graph = load_graph(name + ":seed=" + seed);
      std::vector<std::pair<OpId, OpId>> list;
      for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
        list.emplace_back(boost::source(edge, graph), boost::target(edge, graph));
      }
      return list;
    };
    EXPECT_EQ(edges("7"), edges("7")) << name;
    EXPECT_NE(edges("7"), edges("8")) << name;
  }
}

TEST(Trees, ACompleteTreeHasAGeometricSeriesOfTasks) {
  // (arity^levels - 1) / (arity - 1) tasks, each but the root with one edge to its parent.
  const std::map<std::string, std::int64_t> expected = {{"arity=2,levels=7", 127},
                                                        {"arity=3,levels=4", 40},
                                                        {"arity=1,levels=5", 5},
                                                        {"arity=10,levels=6", 111'111},
                                                        {"arity=9,levels=1", 1}};
  for (const auto& [parameters, tasks] : expected) {
    for (const std::string name : {"in-tree:", "out-tree:"}) {
      const OpGraph graph = load_graph(name + parameters);
      EXPECT_EQ(tasks_of(graph), tasks) << name << parameters;
      EXPECT_EQ(edges_of(graph), tasks - 1) << name << parameters;
    }
  }
}

TEST(Trees, AnInTreeHasOneExitAndAnOutTreeOneEntry) {
  const OpGraph in = load_graph("in-tree:arity=3,levels=4");
  const OpGraph out = load_graph("out-tree:arity=3,levels=4");
  int inner = 0;
  for (OpId op = 0; op < num_ops(in); ++op) {
    const auto id = static_cast<std::size_t>(op);
    EXPECT_EQ(boost::out_degree(id, in), op == num_ops(in) - 1 ? 0U : 1U);
    EXPECT_EQ(boost::in_degree(id, out), op == 0 ? 0U : 1U);
    inner += boost::in_degree(id, in) == 3 ? 1 : 0;
    // Every child receives a part of its own.
    EXPECT_EQ(out[id].outputs.size(), std::max<std::size_t>(1, boost::out_degree(id, out)));
  }
  EXPECT_EQ(inner, 1 + 3 + 9);
  EXPECT_EQ(longest_path(in), 4);
  EXPECT_EQ(longest_path(out), 4);
}

TEST(ForkJoin, HasTheTasksOfItsStagesAndOneBetweenTwo) {
  for (const auto& [width, stages] : {std::pair{8, 10}, {1, 1}, {100, 3}}) {
    const OpGraph graph = load_graph(fmt::format("fork-join:width={},stages={}", width, stages));
    EXPECT_EQ(tasks_of(graph), stages * (width + 1) + 1);
    EXPECT_EQ(edges_of(graph), 2 * stages * width);
    EXPECT_EQ(longest_path(graph), 2 * stages + 1);
  }
}

TEST(Fft, HasTheTasksOfTopcuogluAndOthers) {
  // 2 (n - 1) + 1 calls, in a tree, and n log2(n) butterflies, which read two results each.
  for (const int log2_points : {0, 1, 2, 5, 10}) {
    const std::int64_t n = std::int64_t{1} << log2_points;
    const OpGraph graph = load_graph(fmt::format("fft:log2-points={}", log2_points));
    EXPECT_EQ(tasks_of(graph), 2 * (n - 1) + 1 + n * log2_points);
    EXPECT_EQ(edges_of(graph), 2 * (n - 1) + 2 * n * log2_points);
    EXPECT_EQ(longest_path(graph), 1 + 2 * log2_points);
  }
  // Their figure with four points: 7 calls and 8 butterflies.
  EXPECT_EQ(tasks_of(load_graph("fft:log2-points=2")), 15);
}

TEST(Fft, EveryPathFromTheFirstCallToAnExitCostsTheSame) {
  // As in the paper: tasks of one level cost the same, so every such path is critical.
  const OpGraph graph = load_graph("fft:log2-points=4");
  std::map<int, std::set<std::int64_t>> flops;
  const std::vector<int> depth = depths(graph);
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    flops[depth[op]].insert(graph[op].flops);
  }
  EXPECT_EQ(flops.size(), 9U);
  for (const auto& [level, values] : flops) {
    EXPECT_EQ(values.size(), 1U) << level;
  }
}

TEST(GaussianElimination, HasTheTasksOfTopcuogluAndOthers) {
  // Step k has a pivot and m - k columns: (m^2 + m - 2) / 2 in all. Edges: from each pivot to its
  // columns, m (m - 1) / 2, and from each column of a step but the last to the next step, one less.
  for (const std::int64_t m : {2, 3, 5, 14, 100}) {
    const OpGraph graph = load_graph(fmt::format("gaussian-elimination:columns={}", m));
    EXPECT_EQ(tasks_of(graph), (m * m + m - 2) / 2);
    EXPECT_EQ(edges_of(graph), m * m - m - 1);
    EXPECT_EQ(longest_path(graph), 2 * (m - 1));  // pivot and column of each step
  }
  EXPECT_EQ(tasks_of(load_graph("gaussian-elimination:columns=5")), 14);  // their figure
}

TEST(GaussianElimination, TheWorkIsTwoThirdsOfTheCubeOfTheColumns) {
  // Sum over k of (m - k) divisions and 2 (m - k)^2: m (m - 1) / 2 + m (m - 1) (2m - 1) / 3. The
  // first pivot makes m - 1 of them.
  constexpr double kColumns = 50;
  const double work = kColumns * (kColumns - 1) / 2 + kColumns * (kColumns - 1) * 99 / 3;
  const OpGraph graph = load_graph("gaussian-elimination:columns=50");
  EXPECT_NEAR(static_cast<double>(graph[0].flops) / static_cast<double>(totals(graph).flops),
              (kColumns - 1) / work, 1e-9);
}

TEST(Cholesky, HasTheKernelCallsOfTheTiledAlgorithm) {
  for (const std::int64_t t : {1, 2, 3, 8, 20}) {
    const OpGraph graph = load_graph(fmt::format("cholesky:tiles={}", t));
    auto counts = count_tasks(graph);
    EXPECT_EQ(counts["potrf"], t);
    EXPECT_EQ(counts["trsm"], t * (t - 1) / 2);
    EXPECT_EQ(counts["syrk"], t * (t - 1) / 2);
    EXPECT_EQ(counts["gemm"], t * (t - 1) * (t - 2) / 6);
    EXPECT_EQ(tasks_of(graph), t * (t + 1) * (t + 2) / 6);
    // A potrf is read by its column, t (t - 1) / 2; a trsm by one syrk; each gemm reads two trsm;
    // and each syrk and gemm is read by the next task on its tile: in all
    // 3 t (t - 1) / 2 + 3 t (t - 1) (t - 2) / 6.
    EXPECT_EQ(edges_of(graph), t * (t - 1) * (t + 1) / 2);
    EXPECT_EQ(longest_path(graph), 3 * (t - 1) + 1);  // potrf, trsm, syrk, and so on
  }
}

TEST(Cholesky, TheWorkIsAThirdOfTheCube) {
  // In units of b^3: t / 3 + t (t - 1) + t (t - 1) (t - 2) / 3 = t^3 / 3, of which the first potrf
  // is 1/3.
  for (const double t : {1.0, 4.0, 12.0}) {
    const OpGraph graph = load_graph(fmt::format("cholesky:tiles={}", t));
    EXPECT_NEAR(static_cast<double>(totals(graph).flops) / static_cast<double>(graph[0].flops),
                t * t * t, 1e-5 * t * t * t);
  }
}

TEST(Montage, HasTwoTasksForAnImageOneForAnOverlapAndSixMore) {
  for (const auto& [rows, columns] : {std::pair{4, 4}, {1, 1}, {1, 5}, {30, 20}}) {
    const OpGraph graph = load_graph(fmt::format("montage:rows={},columns={}", rows, columns));
    const std::int64_t images = rows * columns;
    // To the right, below, and along both diagonals.
    const std::int64_t overlaps =
        rows * (columns - 1) + (rows - 1) * columns + 2 * (rows - 1) * (columns - 1);
    auto counts = count_tasks(graph);
    EXPECT_EQ(counts["image"], 2 * images);
    EXPECT_EQ(counts["overlap"], overlaps);
    EXPECT_EQ(tasks_of(graph), 2 * images + overlaps + 6);
    // Two into each overlap and one out; two into each background task and two out; concat to
    // model, table to add, add to shrink, shrink to jpeg.
    EXPECT_EQ(edges_of(graph), 3 * overlaps + 4 * images + 4);
  }
}

TEST(Layered, EveryTaskReadsTheLayerBeforeItsOwn) {
  for (const int seed : {0, 1, 2}) {
    const OpGraph graph =
        load_graph(fmt::format("layered:tasks=400,shape=2,degree=3,seed={}", seed));
    EXPECT_EQ(tasks_of(graph), 400);
    EXPECT_EQ(longest_path(graph), 10);  // sqrt(400) / 2 layers
    const std::vector<int> depth = depths(graph);
    double inputs = 0;
    double readers = 0;
    for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
      EXPECT_EQ(graph[op].scope, fmt::format("layer_{}", depth[op] - 1));
      std::set<std::size_t> read;
      for (const auto edge : boost::make_iterator_range(boost::in_edges(op, graph))) {
        EXPECT_EQ(depth[boost::source(edge, graph)], depth[op] - 1);
        read.insert(boost::source(edge, graph));
      }
      EXPECT_EQ(read.size(), boost::in_degree(op, graph)) << "reads one task twice";
      EXPECT_LE(read.size(), 5U);
      EXPECT_EQ(read.empty(), depth[op] == 1);
      inputs += static_cast<double>(read.size());
      readers += read.empty() ? 0 : 1;
    }
    // Uniform from 1 to 5 has mean 3 and variance 2: four standard errors of the mean of 360.
    EXPECT_NEAR(inputs / readers, 3, 4 * std::sqrt(2.0 / readers)) << seed;
  }
}

TEST(Layered, OneLayerIsIndependentTasksAndAsManyLayersAsTasksAreAChain) {
  EXPECT_EQ(edges_of(load_graph("layered:tasks=50,shape=1000")), 0);
  const OpGraph chain = load_graph("layered:tasks=50,shape=0.1");
  EXPECT_EQ(edges_of(chain), 49);
  EXPECT_EQ(longest_path(chain), 50);
}

TEST(Layered, WorksStayWithinTheirSpread) {
  const OpGraph graph = load_graph("layered:tasks=1000,spread=0.25,cost-us=1000");
  std::int64_t least = graph[0].flops;
  std::int64_t most = graph[0].flops;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    least = std::min(least, graph[op].flops);
    most = std::max(most, graph[op].flops);
  }
  // The mean of the draws is within 0.02 of 1, and is scaled to 3e9.
  EXPECT_GT(static_cast<double>(least), 0.75 * 3e9 * 0.98);
  EXPECT_LT(static_cast<double>(least), 0.80 * 3e9);
  EXPECT_LT(static_cast<double>(most), 1.25 * 3e9 * 1.02);
  EXPECT_GT(static_cast<double>(most), 1.20 * 3e9);
}

// Reduces a graph: parallel edges become one, and so do the two edges of a task with one edge in
// and one out. What is left of a series-parallel graph, and of no other, is one edge.
std::size_t edges_left(const OpGraph& graph) {
  std::set<std::pair<std::size_t, std::size_t>> edges;
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    edges.emplace(boost::source(edge, graph), boost::target(edge, graph));
  }
  for (bool reduced = true; reduced;) {
    reduced = false;
    for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
      std::vector<std::pair<std::size_t, std::size_t>> in;
      std::vector<std::pair<std::size_t, std::size_t>> out;
      for (const auto& edge : edges) {
        if (edge.second == op) {
          in.push_back(edge);
        }
        if (edge.first == op) {
          out.push_back(edge);
        }
      }
      if (in.size() == 1 && out.size() == 1) {
        edges.erase(in[0]);
        edges.erase(out[0]);
        edges.emplace(in[0].first, out[0].second);
        reduced = true;
      }
    }
  }
  return edges.size();
}

TEST(SeriesParallel, ReducesToOneEdge) {
  for (const int seed : {0, 1, 2, 3}) {
    const OpGraph graph = load_graph(fmt::format("series-parallel:tasks=60,seed={}", seed));
    EXPECT_EQ(tasks_of(graph), 60);
    EXPECT_EQ(edges_left(graph), 1U) << seed;
  }
  EXPECT_GT(edges_left(load_graph("fft:log2-points=2")), 1U);  // the check can fail
}

TEST(SeriesParallel, IsAChainWithoutBranchesAndAFanWithoutSeries) {
  // A new task on an edge adds one edge, a new task beside one adds two.
  const OpGraph chain = load_graph("series-parallel:tasks=40,parallel=0");
  EXPECT_EQ(edges_of(chain), 1 + 38);
  EXPECT_EQ(longest_path(chain), 40);
  EXPECT_EQ(edges_of(load_graph("series-parallel:tasks=40,parallel=1")), 1 + 2 * 38);
}

}  // namespace
}  // namespace emplace::task_graphs_test
