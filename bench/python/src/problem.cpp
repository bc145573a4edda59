#include "problem.hpp"

#include "cluster.hpp"
#include "graph.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/explanation_json.hpp>
#include <emplace/bench/placement_comparison.hpp>
#include <emplace/bench/placement_format.hpp>
#include <emplace/bench/report_page.hpp>
#include <emplace/bench/step_picture.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/constraints.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/explanation.hpp>
#include <emplace/sim/placement_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace emplace::python {
namespace {

agents::Evaluation evaluation_of(StepStatus status, double step_time_us, std::int64_t bytes_over) {
  return {.status = status == StepStatus::kOk ? agents::EvaluationStatus::kOk
                                              : agents::EvaluationStatus::kOutOfMemory,
          .step_time_us = step_time_us,
          .bytes_over = bytes_over};
}

// A simulated step, with arrays over its record.
struct PythonStep {
  std::shared_ptr<PythonProblem> problem;
  StepRecord record;

  std::vector<double> busy_us() const {
    const Problem& compiled = problem->problem();
    std::vector<double> busy_us(static_cast<std::size_t>(compiled.num_devices()));
    for (OpId op = 0; op < compiled.num_ops(); ++op) {
      const DeviceId device = record.placement[compiled.grouping().group_of(op)];
      busy_us[static_cast<std::size_t>(device)] += record.end_us[op] - record.start_us[op];
    }
    return busy_us;
  }
};

template <typename T>
py::array filled(std::vector<py::ssize_t> shape, const auto& fill) {
  py::array_t<T> array(std::move(shape));
  fill(array.mutable_data());
  return read_only(std::move(array));
}

py::array group_numbers(const Problem& problem, const auto& number_of) {
  return filled<std::int64_t>({problem.num_groups()}, [&](std::int64_t* out) {
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      out[group] = number_of(group);
    }
  });
}

std::int64_t group_memory(const Problem& problem, GroupId group) {
  return problem.group_persistent_bytes(group) + problem.group_output_bytes(group);
}

py::array costs(const Problem& problem) {
  return filled<double>({problem.num_groups(), problem.num_devices()}, [&](double* out) {
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      for (DeviceId device = 0; device < problem.num_devices(); ++device) {
        *out++ = problem.group_cost_us(group, device);
      }
    }
  });
}

// Three features of each group, each divided by the largest: mean cost on the placeable devices,
// bytes that it hands on, memory.
py::array features(const Problem& problem) {
  constexpr std::size_t kColumns = 3;
  const std::vector<std::int64_t> outgoing = outgoing_bytes(problem.graph(), problem.grouping());
  std::vector<std::array<double, kColumns>> rows;
  std::array<double, kColumns> most{};
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    double cost_us = 0;
    for (const DeviceId device : problem.placeable_devices()) {
      cost_us += problem.group_cost_us(group, device);
    }
    rows.push_back({cost_us, static_cast<double>(outgoing[index_of(group)]),
                    static_cast<double>(group_memory(problem, group))});
    for (std::size_t column = 0; column < kColumns; ++column) {
      most[column] = std::max(most[column], rows.back()[column]);
    }
  }
  return filled<float>({problem.num_groups(), kColumns}, [&](float* out) {
    for (const auto& row : rows) {
      for (std::size_t column = 0; column < kColumns; ++column) {
        *out++ = most[column] > 0 ? static_cast<float>(row[column] / most[column]) : 0.0F;
      }
    }
  });
}

// An array over one member of all group edges.
template <typename T>
py::array edge_view(const py::object& self, std::vector<py::ssize_t> shape, const T* first) {
  constexpr auto kEdge = static_cast<py::ssize_t>(sizeof(GroupEdge));
  constexpr auto kNumber = static_cast<py::ssize_t>(sizeof(T));
  std::vector<py::ssize_t> strides = {kEdge};
  if (shape.size() == 2) {
    strides.push_back(kNumber);
  }
  return read_only(py::array_t<T>(std::move(shape), std::move(strides), first, self));
}

const Problem& problem_of(const py::object& self) {
  return self.cast<const PythonProblem&>().problem();
}

py::array edges(const py::object& self) {
  static_assert(offsetof(GroupEdge, consumer) == sizeof(GroupId));
  const auto all = problem_of(self).group_edges();
  const auto count = static_cast<py::ssize_t>(all.size());
  return all.empty() ? py::array(py::array_t<GroupId>(std::vector<py::ssize_t>{0, 2}))
                     : edge_view<GroupId>(self, {count, 2}, &all.front().producer);
}

py::array edge_bytes(const py::object& self) {
  const auto all = problem_of(self).group_edges();
  return all.empty() ? py::array(py::array_t<std::int64_t>(length(0)))
                     : edge_view<std::int64_t>(self, {static_cast<py::ssize_t>(all.size())},
                                               &all.front().bytes);
}

template <typename Range, typename Read>
py::list list_of(const Range& range, const Read& read) {
  py::list list;
  for (const auto& element : range) {
    list.append(read(element));
  }
  return list;
}

DeviceId check_device(const Problem& problem, std::int64_t device) {
  if (device < 0 || device >= problem.num_devices()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("device {}, expected 0 to {}", device, problem.num_devices() - 1));
  }
  return static_cast<DeviceId>(device);
}

GroupId check_group(const Problem& problem, std::int64_t group) {
  if (group < 0 || group >= problem.num_groups()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("group {}, expected 0 to {}", group, problem.num_groups() - 1));
  }
  return static_cast<GroupId>(group);
}

py::dict bounds(PythonProblem& self) {
  const LowerBounds* found = nullptr;
  {
    const py::gil_scoped_release released;
    found = &self.bounded().bounds;
  }
  py::dict dict;
  dict["best_us"] = found->best_us();
  dict["by"] = to_string(found->binding_part());
  dict["critical_path_us"] = found->critical_path_us;
  dict["total_work_us"] = found->total_work_us;
  dict["stay_or_leave_us"] = found->stay_or_leave_us;
  dict["work_in_between_us"] = found->work_in_between_us;
  dict["memory_us"] = found->memory_us;
  return dict;
}

StepRecord record(PythonProblem& self, const py::object& placement) {
  const Placement devices = read_placement(placement, self.problem());
  const py::gil_scoped_release released;
  return self.record(devices);
}

// Compares placements, each (name, problem, placement), with the first. Returns the comparison as
// JSON and as text, and its page if that is asked for.
py::tuple compare(
    const std::vector<std::tuple<std::string, std::shared_ptr<PythonProblem>, py::object>>&
        placements,
    std::int64_t draws, std::uint64_t seed, bool with_page) {
  std::vector<Placement> given;
  given.reserve(placements.size());
  for (const auto& [name, problem, placement] : placements) {
    given.push_back(read_placement(placement, problem->problem()));
  }
  std::array<std::string, 3> texts;
  {
    const py::gil_scoped_release released;
    std::vector<bench::SimulatedPlacement> sides;
    sides.reserve(placements.size());
    for (std::size_t at = 0; at < placements.size(); ++at) {
      const auto& self = *std::get<1>(placements[at]);
      const Problem& problem = self.problem();
      Problem by_op = problem.regrouped(ungrouped(problem.graph()));
      StepRecord step = Simulator(by_op).record(bench::op_by_op(problem, given[at]));
      sides.push_back({.name = std::get<0>(placements[at]),
                       .graph = self.names().graph,
                       .cluster = self.names().cluster,
                       .problem = std::move(by_op),
                       .record = std::move(step)});
    }
    const bench::PlacementComparison comparison = bench::compare_placements(
        sides, draws > 0 ? std::optional(DrawOptions{.draws = draws, .seed = seed}) : std::nullopt);
    texts = {bench::write_json(comparison), bench::write_terminal(comparison),
             with_page ? bench::write_html(comparison, sides) : ""};
  }
  return py::make_tuple(texts[0], texts[1], texts[2]);
}

// Returns the timeline of a step in SVG.
std::string draw(const Problem& problem, const StepRecord& step) {
  std::string caption = counted(problem.num_ops(), "op");
  if (problem.num_groups() < std::int32_t{problem.num_ops()}) {
    caption += " in " + counted(problem.num_groups(), "group");
  }
  return bench::draw_step(problem, step, caption);
}

// Reads the members of a file of constraints.
Constraints read(const py::dict& constraints) {
  py::dict file = constraints.attr("copy")();
  file["schema"] = "emplace-constraints";
  file["version"] = 1;
  const auto text = py::module_::import("json").attr("dumps")(file).cast<std::string>();
  return read_constraints(text, "constraints");
}

// Names of files may be any path-like object, so what may be one is a path.
std::shared_ptr<PythonProblem> load_named(const std::filesystem::path& graph,
                                          const std::filesystem::path& path, std::int64_t groups,
                                          const std::string& grouping,
                                          const py::dict& constraints) {
  const std::string cluster = with_constraints(path.native(), read(constraints));
  const std::string strategy(grouping_for(grouping, groups));
  const auto load = [&] {
    const py::gil_scoped_release released;
    return std::make_shared<PythonProblem>(
        bench::load_problem(graph.native(), cluster, groups, strategy),
        ProblemNames{.graph = graph, .cluster = cluster, .groups = groups, .grouping = strategy});
  };
  std::shared_ptr<PythonProblem> problem = load();
  pass_on_warnings(problem->problem().graph());
  return problem;
}

std::shared_ptr<PythonProblem> compile(const PythonGraph& graph, const PythonCluster& given,
                                       std::int64_t groups, const std::string& grouping,
                                       const py::dict& constraints) {
  const Constraints read_ones = read(constraints);
  const py::gil_scoped_release released;
  const std::string strategy(grouping_for(grouping, groups));
  std::shared_ptr<const Cluster> cluster = given.cluster;
  std::string name = given.named;
  if (!read_ones.empty()) {
    auto constrained = std::make_shared<Cluster>(*cluster);
    constrain(*constrained, read_ones);
    cluster = std::move(constrained);
    name = with_constraints(name, read_ones);
  }
  return std::make_shared<PythonProblem>(
      Problem(graph.graph, bench::group_graph(*graph.graph, groups, strategy), cluster),
      ProblemNames{.graph = (*graph.graph)[boost::graph_bundle].name,
                   .cluster = name,
                   .groups = groups,
                   .grouping = strategy});
}

}  // namespace

PythonProblem::PythonProblem(Problem problem, ProblemNames names)
    : entry_{std::move(problem), {}},
      names_(std::move(names)),
      simulators_([this] { return Simulator(entry_.problem); }) {}

const bench::ProblemSet::Entry& PythonProblem::bounded() {
  std::call_once(has_bounds_, [this] { entry_.bounds = lower_bounds(entry_.problem); });
  return entry_;
}

std::vector<agents::Evaluation> PythonProblem::evaluate(const PlacementBatch& batch) {
  std::vector<agents::Evaluation> evaluations(batch.size());
  // Isolated, so that a thread which waits here does not start on a cell of a suite.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, batch.size()), [&](const auto& range) {
      Simulator& simulator = simulators_.local();
      Placement placement;
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        batch.read(i, placement);
        entry_.problem.constrain(placement);
        const SimResult& result = simulator.run(placement);
        evaluations[i] = evaluation_of(result.status, result.makespan_us, result.bytes_over);
      }
    });
  });
  return evaluations;
}

StepRecord PythonProblem::record(const Placement& placement) {
  return simulators_.local().record(placement);
}

py::object to_python(const std::vector<agents::Evaluation>& evaluations, bool is_single) {
  const py::module_ types = py::module_::import("emplace._types");
  if (is_single) {
    const agents::Evaluation& only = evaluations.front();
    return types.attr("Evaluation")(types.attr("STATUSES")[py::int_(int(only.status))],
                                    only.step_time_us, only.bytes_over, only.objective_us());
  }
  const auto count = static_cast<py::ssize_t>(evaluations.size());
  py::array_t<std::uint8_t> status(length(count));
  py::array_t<double> step_time_us(length(count));
  py::array_t<std::int64_t> bytes_over(length(count));
  py::array_t<double> objective_us(length(count));
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    status.mutable_data()[i] = static_cast<std::uint8_t>(evaluations[i].status);
    step_time_us.mutable_data()[i] = evaluations[i].step_time_us;
    bytes_over.mutable_data()[i] = evaluations[i].bytes_over;
    objective_us.mutable_data()[i] = evaluations[i].objective_us();
  }
  return types.attr("Evaluations")(status, step_time_us, bytes_over, objective_us);
}

void bind_problem(py::module_& module) {
  py::class_<PythonStep>(module, "Step")
      .def_property_readonly("status",
                             [](const PythonStep& step) { return to_string(step.record.status); })
      .def_property_readonly(
          "fits", [](const PythonStep& step) { return step.record.status == StepStatus::kOk; })
      .def_property_readonly("step_time_us",
                             [](const PythonStep& step) { return step.record.makespan_us; })
      .def_property_readonly("bytes_over",
                             [](const PythonStep& step) { return step.record.bytes_over; })
      .def_property_readonly("objective_us",
                             [](const PythonStep& step) {
                               return evaluation_of(step.record.status, step.record.makespan_us,
                                                    step.record.bytes_over)
                                   .objective_us();
                             })
      .def_property_readonly("busy_us",
                             [](const PythonStep& step) { return adopt(step.busy_us()); })
      .def_property_readonly("peak_bytes",
                             [](const py::object& self) {
                               return view<std::int64_t>(
                                   self.cast<const PythonStep&>().record.peak_bytes, self);
                             })
      .def_property_readonly("start_us",
                             [](const py::object& self) {
                               return view<double>(self.cast<const PythonStep&>().record.start_us,
                                                   self);
                             })
      .def_property_readonly("end_us",
                             [](const py::object& self) {
                               return view<double>(self.cast<const PythonStep&>().record.end_us,
                                                   self);
                             })
      .def_property_readonly("placement",
                             [](const py::object& self) {
                               return view<DeviceId>(
                                   self.cast<const PythonStep&>().record.placement.devices(), self);
                             })
      .def_property_readonly("problem", [](const PythonStep& step) { return step.problem; })
      .def("_repr_html_",
           [](const PythonStep& step) {
             const py::gil_scoped_release released;
             return draw(step.problem->problem(), step.record);
           })
      .def("__repr__", [](const PythonStep& step) {
        return fmt::format("<emplace.Step {}, {:.3f} ms>", to_string(step.record.status),
                           step.record.makespan_us / 1e3);
      });

  using Self = const PythonProblem&;
  py::class_<PythonProblem, std::shared_ptr<PythonProblem>> bound(module, "Problem");
  def_ops(bound, [](Self self) -> const OpGraph& { return self.problem().graph(); });
  // It never changes, so a copy is the same object.
  const auto same = [](const py::object& self, const py::args&) { return self; };
  bound.def("__copy__", same).def("__deepcopy__", same);
  bound.def_property_readonly("graph", [](Self self) { return self.names().graph; })
      .def_property_readonly("cluster", [](Self self) { return self.names().cluster; })
      .def_property_readonly("num_ops", [](Self self) { return self.problem().num_ops(); })
      .def_property_readonly("num_groups", [](Self self) { return self.problem().num_groups(); })
      .def_property_readonly("num_devices", [](Self self) { return self.problem().num_devices(); })
      .def_property_readonly("devices",
                             [](Self self) {
                               return list_of(self.problem().cluster().devices,
                                              [](const Device& device) { return device.name; });
                             })
      .def_property_readonly("placeable_devices",
                             [](const py::object& self) {
                               return view<DeviceId>(problem_of(self).placeable_devices(), self);
                             })
      .def_property_readonly(
          "capacities",
          [](Self self) {
            return filled<std::int64_t>({self.problem().num_devices()}, [&](std::int64_t* out) {
              for (DeviceId device = 0; device < self.problem().num_devices(); ++device) {
                out[device] = self.problem().memory_bytes(device);
              }
            });
          })
      .def_property_readonly("costs", [](Self self) { return costs(self.problem()); })
      .def_property_readonly("bytes",
                             [](Self self) {
                               return read_only(adopt(outgoing_bytes(self.problem().graph(),
                                                                     self.problem().grouping())));
                             })
      .def_property_readonly("memory",
                             [](Self self) {
                               return group_numbers(self.problem(), [&](GroupId group) {
                                 return group_memory(self.problem(), group);
                               });
                             })
      .def_property_readonly("persistent_bytes",
                             [](Self self) {
                               return group_numbers(self.problem(), [&](GroupId group) {
                                 return self.problem().group_persistent_bytes(group);
                               });
                             })
      .def_property_readonly("features", [](Self self) { return features(self.problem()); })
      .def_property_readonly("edges", edges)
      .def_property_readonly("edge_bytes", edge_bytes)
      .def_property_readonly("order",
                             [](const py::object& self) {
                               return view<GroupId>(problem_of(self).group_order(), self);
                             })
      .def_property_readonly("groups",
                             [](Self self) {
                               const Problem& problem = self.problem();
                               return filled<GroupId>({problem.num_ops()}, [&](GroupId* out) {
                                 for (OpId op = 0; op < problem.num_ops(); ++op) {
                                   out[op] = problem.grouping().group_of(op);
                                 }
                               });
                             })
      .def(
          "members",
          [](const py::object& self, std::int64_t group) {
            const Problem& problem = problem_of(self);
            return view<OpId>(problem.grouping().members(check_group(problem, group)), self);
          },
          py::arg("group"))
      .def(
          "op_costs",
          [](const py::object& self, std::int64_t device) {
            const Problem& problem = problem_of(self);
            return view<double>(problem.costs().on(check_device(problem, device)), self);
          },
          py::arg("device"))
      .def(
          "transfer_us",
          [](Self self, std::int64_t bytes, std::int64_t from, std::int64_t to) {
            if (bytes < 0) {
              throw Error(ErrorCode::kUsage, fmt::format("{} bytes, expected 0 or more", bytes));
            }
            return self.problem().transfer_us(bytes, check_device(self.problem(), from),
                                              check_device(self.problem(), to));
          },
          py::arg("bytes"), py::arg("source"), py::arg("target"))
      .def(
          "simulate",
          [](const std::shared_ptr<PythonProblem>& self, const py::object& placement) {
            return PythonStep{self, record(*self, placement)};
          },
          py::arg("placement"))
      .def(
          "evaluate",
          [](PythonProblem& self, const py::object& placements) {
            const PlacementBatch batch(placements, self.problem());
            std::vector<agents::Evaluation> evaluations;
            {
              const py::gil_scoped_release released;
              evaluations = self.evaluate(batch);
            }
            return to_python(evaluations, batch.is_single());
          },
          py::arg("placements"))
      .def(
          "explain",
          [](PythonProblem& self, const py::object& placement) {
            const StepRecord step = record(self, placement);
            const std::string text = [&] {
              const py::gil_scoped_release released;
              return bench::explanation_json(self.problem(), step, explain(self.problem(), step));
            }();
            return py::module_::import("json").attr("loads")(text);
          },
          py::arg("placement"))
      .def(
          "trace",
          [](PythonProblem& self, const py::object& placement) {
            const StepRecord step = record(self, placement);
            const py::gil_scoped_release released;
            return write_chrome_trace(self.problem(), step);
          },
          py::arg("placement"))
      .def(
          "picture",
          [](PythonProblem& self, const py::object& placement) {
            const StepRecord step = record(self, placement);
            const py::gil_scoped_release released;
            return draw(self.problem(), step);
          },
          py::arg("placement"))
      .def(
          "constrain",
          [](Self self, const py::object& placement) {
            return to_array(read_placement(placement, self.problem()));
          },
          py::arg("placement"))
      .def_property_readonly("bounds", bounds)
      .def(
          "save",
          [](Self self, const py::object& placement, const std::filesystem::path& path) {
            write_text_file(path, write_placement_json(self.problem(),
                                                       read_placement(placement, self.problem())));
          },
          py::arg("placement"), py::arg("path"))
      .def(
          "export",
          [](Self self, const py::object& placement, const std::string& format) {
            const Problem& problem = self.problem();
            const bench::PlacementFormat& to = bench::find_placement_format(format);
            const Placement given = read_placement(placement, problem);
            bench::PlacementExport file;
            double step_us = 0;
            {
              const py::gil_scoped_release released;
              const Problem by_op = problem.regrouped(ungrouped(problem.graph()));
              file = to.write(by_op, bench::op_by_op(problem, given));
              step_us = Simulator(by_op).run(file.placement).makespan_us;
            }
            return py::module_::import("emplace._types").attr("Export")(file.text, step_us);
          },
          py::arg("placement"), py::arg("format"))
      .def(
          "load",
          [](Self self, const std::filesystem::path& path) {
            return to_array(read_placement_json(read_text_file(path), path, self.problem()));
          },
          py::arg("path"))
      .def("__repr__", [](Self self) {
        return fmt::format("<emplace.Problem {} on {}, {} groups>", self.names().graph,
                           self.names().cluster, self.problem().num_groups());
      });

  module.def("compare", compare, py::arg("placements"), py::arg("draws"), py::arg("seed"),
             py::arg("with_page"));
  module.def("problem", compile, py::arg("graph"), py::arg("cluster"), py::arg("groups") = 0,
             py::arg("grouping") = "", py::arg("constraints") = py::dict());
  module.def("problem", load_named, py::arg("graph"), py::arg("cluster"), py::arg("groups") = 0,
             py::arg("grouping") = "", py::arg("constraints") = py::dict());
}

}  // namespace emplace::python
