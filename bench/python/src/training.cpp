#include "training.hpp"

#include "runs.hpp"

#include <emplace/base/error.hpp>
#include <emplace/bench/manifest.hpp>
#include <emplace/bench/training.hpp>
#include <emplace/graphs/catalog.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace emplace::python {
namespace {

namespace py = pybind11;

py::list rows_of(const bench::LearningCurve& curve) {
  py::list rows;
  for (const bench::CurveRow& of : curve.rows()) {
    py::dict row;
    row["update"] = of.update;
    row["episodes"] = of.episodes;
    row["evaluations"] = of.evaluations;
    row["graph"] = curve.problems()[of.problem].graph;
    row["cluster"] = curve.problems()[of.problem].cluster;
    row["last_us"] = of.last_us;
    row["best_us"] = of.best_us;
    row["entropy"] = of.entropy;
    row["gradient_norm"] = of.gradient_norm;
    rows.append(std::move(row));
  }
  return rows;
}

py::list rows_of(const std::vector<bench::Validation>& validations) {
  py::list rows;
  for (const bench::Validation& of : validations) {
    py::dict row;
    row["episodes"] = of.episodes;
    row["updates"] = of.updates;
    row["objective_us"] = of.objective_us;
    rows.append(std::move(row));
  }
  return rows;
}

// Returns the policy file's text, the rows of the learning curve and of the validations, and how
// the training ended.
py::tuple train(const std::string& agent, const std::vector<std::string>& graphs,
                const std::vector<std::string>& clusters, std::int64_t episodes,
                std::int64_t groups, const std::string& grouping, std::int64_t patience,
                std::int64_t seed, const std::vector<std::string>& validation, int threads,
                const py::object& progress) {
  check_threads(threads);
  if (seed < 0 || seed > bench::kMaxRootSeed) {
    throw Error(ErrorCode::kUsage,
                fmt::format("seed is {}, expected 0 to {}", seed, bench::kMaxRootSeed));
  }
  bench::TrainingPlan plan{.agent = agent,
                           .graphs = expand_graphs(graphs),
                           .clusters = clusters,
                           .groups = groups,
                           .grouping = std::string(grouping_for(grouping, groups)),
                           .root_seed = static_cast<std::uint64_t>(seed),
                           .episodes = episodes,
                           .patience = patience,
                           .validation = expand_graphs(validation)};
  std::string policy;
  std::string ended_by;
  py::list rows;
  py::list validations;
  run_interruptibly([&](const std::atomic<bool>& stop) {
    bench::Training training(std::move(plan), &stop);
    bench::TrainingEnd end{};
    try {
      end = training.run(threads, [&] {
        const py::gil_scoped_acquire acquired;
        if (!progress.is_none()) {
          progress(training.curve().episodes(), training.num_episodes());
        }
        return !stop;
      });
    } catch (const Error&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw Error(ErrorCode::kUnsupported, fmt::format("agent {} failed: {}", agent, error.what()));
    }
    ended_by = to_string(end);
    if (end != bench::TrainingEnd::kStopped) {
      policy = training.policy_file();
    }
    const py::gil_scoped_acquire acquired;
    rows = rows_of(training.curve());
    validations = rows_of(training.validations());
  });
  return py::make_tuple(policy, rows, validations, ended_by);
}

}  // namespace

void bind_training(py::module_& module) { module.def("train", train); }

}  // namespace emplace::python
