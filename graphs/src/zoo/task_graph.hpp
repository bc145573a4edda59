#pragma once

// The task graphs of the scheduling literature: a task computes for a while and hands its results
// to others; what it computes does not matter. A generator states work and volumes relative to each
// other, and two parameters scale them:
//
//   cost-us  mean computation time of a task on a reference device, in microseconds
//   ccr      communication-to-computation ratio (Topcuoglu, Hariri, Wu, TPDS 2002): the mean time
//   to
//          move a result along an edge over the mean computation time of a task
//
// A graph knows no devices, so times are taken on a reference device of 3e6 FLOP/us behind a link
// of 1e4 bytes/us. Of these only the balance matters for the ratio: 300 FLOP for each byte. On a
// cluster whose devices make F FLOP in the time in which a link moves one byte, the ratio is
// ccr * F / 300: within a factor of two of `ccr` on the shipped GPU machines with NVLink and on
// the p2-8xlarge clusters. A task has FLOPs and no memory traffic, so no device's memory bandwidth
// enters.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/params.hpp>
#include <emplace/base/random.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace emplace {

/// What a reference device computes in a microsecond.
inline constexpr double kReferenceFlopsPerUs = 3e6;

/// What a reference link moves in a microsecond.
inline constexpr double kReferenceBytesPerUs = 1e4;

/// The most tasks that a generator makes.
inline constexpr std::int64_t kMaxTasks = 2'000'000;

/// Returns a generator's `own` parameters, and `cost-us` and `ccr` after them.
std::vector<ParamSpec> task_parameters(std::vector<ParamSpec> own);

/// Describes the seed of a random generator.
ParamSpec seed_parameter();

/// Describes how much works and volumes vary in a random generator.
ParamSpec spread_parameter();

/// Draws a factor uniformly from 1 - spread to 1 + spread.
double vary(RandomStream& random, double spread);

/// Puts a task graph together, task by task.
class TaskGraph {
 public:
  /// Starts an empty graph called `name` that will have `tasks` tasks; throws kUsage if these are
  /// more than kMaxTasks. `source` is the graph's reference.
  TaskGraph(std::string name, std::string source, double tasks);

  /// Adds a task of relative `work` in `scope`, called `<scope>/<name>`, and returns its first
  /// result, of relative `volume`. One without readers is never moved.
  Tensor task(const std::string& scope, const std::string& name, double work, double volume,
              std::span<const Tensor> inputs);
  Tensor task(const std::string& scope, const std::string& name, double work, double volume,
              std::initializer_list<Tensor> inputs);

  /// Adds another result of relative `volume` to the task that made `first`.
  Tensor another_result(Tensor first, double volume);

  /// Lets the task that made `consumer` read `input`, too.
  void read(Tensor consumer, Tensor input);

  /// Scales work and volumes to `cost-us` and `ccr` of `params`, and returns the graph.
  OpGraph finish(const Params& params) &&;

 private:
  OpGraph graph_;
  IdVector<OpId, double> works_;                 // of a task
  IdVector<OpId, std::vector<double>> volumes_;  // of a task's results
};

}  // namespace emplace
