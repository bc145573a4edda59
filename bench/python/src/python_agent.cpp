#include "python_agent.hpp"

#include "arrays.hpp"
#include "problem.hpp"
#include "runs.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace emplace::python {
namespace {

// An evaluator as Python sees it: it ends with the call of place(), though Python may keep the
// object. An evaluator belongs to one thread, and Python's threads share objects, so each use locks
// it.
class PythonEvaluator {
 public:
  PythonEvaluator(agents::Evaluator& evaluator, std::shared_ptr<const PythonProblem> problem)
      : evaluator_(&evaluator), problem_(std::move(problem)) {}

  // Returns the problem of the evaluator, also when that has ended.
  const Problem& problem() const { return problem_->problem(); }

  // Calls `body` with the evaluator; throws kUsage if it has ended. Call it with the GIL. `body`
  // may release the GIL and must run no Python, which could ask for this evaluator, or let a thread
  // run that does.
  template <typename Body>
  auto with(const Body& body) {
    const std::unique_lock lock = locked();
    if (evaluator_ == nullptr) {
      throw Error(ErrorCode::kUsage, "the evaluator has ended: it lasts as long as place() runs");
    }
    return body(*evaluator_);
  }

  void end() {
    const std::unique_lock lock = locked();
    evaluator_ = nullptr;
  }

 private:
  // A thread that waits for the mutex must not hold the GIL, which the one that has it may need to
  // go on.
  std::unique_lock<std::mutex> locked() {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
      const py::gil_scoped_release released;
      lock.lock();
    }
    return lock;
  }

  std::mutex mutex_;
  agents::Evaluator* evaluator_;
  std::shared_ptr<const PythonProblem> problem_;
};

std::string excerpt_of(const py::handle& value) {
  return excerpt(py::repr(value).cast<std::string>());
}

// Returns the number that Python takes `value` for where it wants an index; nothing if it takes it
// for none. A bool is none.
std::optional<std::int64_t> as_index(const py::handle& value, const char* name) {
  if (PyBool_Check(value.ptr()) || PyIndex_Check(value.ptr()) == 0) {
    return std::nullopt;
  }
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) {
    // Arrays have __index__, which only those of one number allow.
    PyErr_Clear();
    return std::nullopt;
  }
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} is {}, expected a number of 64 bits", name, excerpt_of(number)));
  }
  return result;
}

// Returns the numbers of the argument `size`: one, or those of a tuple.
std::vector<py::ssize_t> read_size(const py::object& size) {
  std::vector<py::ssize_t> shape;
  const auto add = [&](const py::handle& value) {
    const std::optional<std::int64_t> number = as_index(value, "size");
    if (!number || *number < 0) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("size is {}, expected an integer of 0 or more, or a tuple of these",
                              excerpt_of(size)));
    }
    shape.push_back(*number);
  };
  if (!as_index(size, "size") && py::isinstance<py::sequence>(size)) {
    for (const py::handle value : size) {
      add(value);
    }
  } else {
    add(size);
  }
  return shape;
}

// The random stream of an evaluator.
struct PythonRandom {
  std::shared_ptr<PythonEvaluator> evaluator;

  template <typename Draw>
  auto draw(const Draw& next) const {
    return evaluator->with([&](agents::Evaluator& of) { return next(of.random()); });
  }

  // Returns one number, or an array of the shape `size`, a number or a tuple.
  template <typename T, typename Draw>
  py::object fill(const py::object& size, const Draw& next) const {
    if (size.is_none()) {
      return py::cast(draw(next));
    }
    py::array_t<T> numbers(read_size(size));
    const std::span<T> all(numbers.mutable_data(), static_cast<std::size_t>(numbers.size()));
    draw([&](RandomStream& random) {
      for (T& number : all) {
        number = next(random);
      }
      return 0;
    });
    return numbers;
  }
};

py::object python_value(const ParamValue& value) {
  return std::visit([](const auto& held) -> py::object { return py::cast(held); }, value);
}

// Throws what a suite takes for a fault of the machine, not of the agent, if `error` tells of one.
void throw_fault_of_machine(const py::error_already_set& error) {
  if (error.matches(PyExc_MemoryError)) {
    throw std::bad_alloc();
  }
  if (!error.matches(PyExc_OSError)) {
    return;
  }
  const py::object number = error.value().attr("errno");
  for (const int lack : {ENOMEM, EAGAIN, EMFILE, ENFILE, ENOSPC}) {
    if (number.equal(py::int_(lack))) {
      throw std::system_error(lack, std::generic_category(), "an agent in Python");
    }
  }
}

// Thrown with the last line of the traceback.
[[noreturn]] void throw_failure(const py::error_already_set& error) {
  throw_fault_of_machine(error);
  const py::object trace = error.trace() ? error.trace() : py::none();
  throw std::runtime_error(py::module_::import("emplace._agents")
                               .attr("note_failure")(error.value(), trace)
                               .cast<std::string>());
}

// Returns a JSON value as json.loads() does.
py::object json_to_python(const JsonCursor& json) {
  if (json.is_object()) {
    py::dict object;
    for (const auto& [name, member] : json.members()) {
      object[py::str(name)] = json_to_python(member);
    }
    return object;
  }
  if (json.is_array()) {
    py::list array;
    for (const JsonCursor& element : json.elements()) {
      array.append(json_to_python(element));
    }
    return array;
  }
  if (json.is_text()) {
    return py::str(json.text());
  }
  if (json.is_boolean()) {
    return py::bool_(json.boolean());
  }
  if (json.is_null()) {
    return py::none();
  }
  if (json.is_integer()) {
    return py::int_(json.integer());
  }
  return py::float_(
      json.number(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()));
}

// A problem and its evaluator as Python sees them while an agent uses them.
class Handed {
 public:
  explicit Handed(agents::Evaluator& evaluator) : Handed(evaluator.problem(), evaluator) {}
  // Hands on a copy, because Python may keep it for longer than this problem lives.
  Handed(const Problem& problem, agents::Evaluator& evaluator)
      : problem_(std::make_shared<PythonProblem>(
            Problem(problem), ProblemNames{.graph = problem.graph()[boost::graph_bundle].name,
                                           .cluster = problem.cluster().name})),
        evaluator_(std::make_shared<PythonEvaluator>(evaluator, problem_)) {}
  ~Handed() {
    if (evaluator_) {
      evaluator_->end();
    }
  }
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;
  Handed(Handed&&) = default;
  Handed& operator=(Handed&&) = delete;

  const std::shared_ptr<PythonProblem>& problem() const { return problem_; }
  const std::shared_ptr<PythonEvaluator>& evaluator() const { return evaluator_; }

 private:
  std::shared_ptr<PythonProblem> problem_;
  std::shared_ptr<PythonEvaluator> evaluator_;
};

// An instance of the class of an agent. Made at the first call.
class Instance {
 public:
  Instance(std::string name, Params params) : name_(std::move(name)), params_(std::move(params)) {}
  ~Instance() {
    if (Py_IsInitialized() == 0) {
      instance_.release();  // it ended with the interpreter
    } else if (instance_) {
      const py::gil_scoped_acquire acquired;
      instance_ = py::object();
    }
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // Calls `body` with the instance and the GIL; what Python raises is thrown as the agent's
  // failure.
  template <typename Body>
  auto with(const Body& body) {
    const py::gil_scoped_acquire acquired;
    try {
      if (!instance_) {
        py::dict params;
        for (const auto& [name, value] : params_.values()) {
          params[py::str(name)] = python_value(value);
        }
        instance_ = py::module_::import("emplace._agents").attr("make")(name_, params);
      }
      return body(instance_);
    } catch (const py::error_already_set& error) {
      throw_failure(error);
    }
  }

  // Lets `method` place, and reads its answer.
  Placement place(const char* method, const Problem& problem, agents::Evaluator& evaluator) {
    return with([&](const py::object& agent) {
      const Handed handed(problem, evaluator);
      const py::object placement = agent.attr(method)(handed.problem(), handed.evaluator());
      try {
        return read_placement(placement, problem);
      } catch (const Error& error) {
        throw std::runtime_error(
            fmt::format("{}() returned no placement: {}", method, error.what()));
      }
    });
  }

 private:
  std::string name_;
  Params params_;
  py::object instance_;
};

class PythonAgent final : public agents::Agent {
 public:
  PythonAgent(std::string name, Params params) : instance_(std::move(name), std::move(params)) {}

  Placement place(const Problem& problem, agents::Evaluator& evaluator) override {
    return instance_.place("place", problem, evaluator);
  }

 private:
  Instance instance_;
};

// An agent in Python that learns. emplace._agents checks that its class has what is called here.
class PythonTrainableAgent final : public agents::TrainableAgent {
 public:
  PythonTrainableAgent(std::string name, Params params)
      : instance_(std::move(name), std::move(params)) {}

  Placement place(const Problem& problem, agents::Evaluator& evaluator) override {
    return instance_.place("place", problem, evaluator);
  }

  void train(std::span<agents::Evaluator* const> evaluators,
             const agents::TrainingCallback& callback) override {
    instance_.with([&](const py::object& agent) {
      std::vector<Handed> handed;
      handed.reserve(evaluators.size());
      py::list problems;
      py::list python_evaluators;
      for (agents::Evaluator* const evaluator : evaluators) {
        handed.emplace_back(*evaluator);
        problems.append(handed.back().problem());
        python_evaluators.append(handed.back().evaluator());
      }
      bool goes_on = true;
      const auto report = [&](std::int64_t episodes, const std::vector<double>& last_us,
                              double entropy, double gradient_norm) {
        goes_on = tell(evaluators, callback,
                       {.episodes = episodes, .entropy = entropy, .gradient_norm = gradient_norm},
                       last_us) &&
                  goes_on;
        return goes_on;
      };
      agent.attr("train")(
          problems, python_evaluators,
          py::cpp_function(report, py::arg("episodes"), py::arg("last_us"),
                           py::arg("entropy") = 0.0, py::arg("gradient_norm") = 0.0));
    });
  }

  Placement place_with_policy(const Problem& problem, agents::Evaluator& evaluator) override {
    return instance_.place("place_with_policy", problem, evaluator);
  }

  std::int64_t evaluations_per_episode(GroupId num_groups) const override {
    return instance_.with([&](const py::object& agent) {
      return agent.attr("evaluations_per_episode")(num_groups).cast<std::int64_t>();
    });
  }

  std::string save() const override {
    return instance_.with([&](const py::object& agent) {
      return py::module_::import("emplace._agents")
          .attr("policy_text")(agent.attr("save")())
          .cast<std::string>();
    });
  }

  void load(const JsonCursor& policy) override {
    instance_.with([&](const py::object& agent) { agent.attr("load")(json_to_python(policy)); });
  }

  std::string save_training() const override { throw_no_checkpoints(); }
  void load_training(const JsonCursor&) override { throw_no_checkpoints(); }

  std::vector<agents::PolicyLayer> layers(DeviceId) const override { return {}; }

 private:
  [[noreturn]] static void throw_no_checkpoints() {
    throw Error(ErrorCode::kUnsupported, "agents in Python write no checkpoints of a training");
  }

  // Reports an update once for each problem; returns whether the training goes on.
  bool tell(std::span<agents::Evaluator* const> evaluators,
            const agents::TrainingCallback& callback, agents::TrainingUpdate update,
            const std::vector<double>& last_us) {
    if (last_us.size() != evaluators.size()) {
      throw Error(ErrorCode::kUsage, fmt::format("last_us has {} numbers, expected one for each of "
                                                 "the {} problems",
                                                 last_us.size(), evaluators.size()));
    }
    if (update.episodes < episodes_) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("episodes is {}, expected {} or more", update.episodes, episodes_));
    }
    episodes_ = update.episodes;
    update.update = ++updates_;
    bool goes_on = true;
    for (std::size_t problem = 0; problem < evaluators.size(); ++problem) {
      if (!evaluators[problem]->incumbent().placement()) {
        throw Error(ErrorCode::kUsage,
                    fmt::format("there is a report, but no placement of problem {} was evaluated",
                                problem));
      }
      update.problem = problem;
      update.last_us = last_us[problem];
      update.best_us = evaluators[problem]->incumbent().evaluation().objective_us();
      update.is_last = problem + 1 == evaluators.size();
      goes_on = (!callback || callback(update)) && goes_on;
    }
    return goes_on;
  }

  mutable Instance instance_;
  std::int64_t updates_ = 0;
  std::int64_t episodes_ = 0;
};

// A parameter as emplace._agents hands it on.
ParamSpec parameter_of(const py::dict& given) {
  const py::object value = given["default"];
  ParamSpec spec{.name = given["name"].cast<std::string>(),
                 .min = given["min"].cast<double>(),
                 .max = given["max"].cast<double>(),
                 .choices = given["choices"].cast<std::vector<std::string>>(),
                 .summary = given["summary"].cast<std::string>()};
  if (py::isinstance<py::bool_>(value)) {
    spec.default_value = value.cast<bool>();
  } else if (py::isinstance<py::int_>(value)) {
    spec.default_value = value.cast<std::int64_t>();
  } else if (py::isinstance<py::float_>(value)) {
    spec.default_value = value.cast<double>();
  } else {
    spec.default_value = value.cast<std::string>();
  }
  return spec;
}

agents::AgentKind kind_of(const std::string& text) {
  using agents::AgentKind;
  for (const AgentKind kind : {AgentKind::kBaseline, AgentKind::kExpert, AgentKind::kHeuristic,
                               AgentKind::kSearch, AgentKind::kLearned}) {
    if (to_string(kind) == text) {
      return kind;
    }
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("kind is '{}', expected one of 'baseline', 'expert', 'heuristic', "
                          "'search', 'learned'",
                          excerpt(text)));
}

void register_agent(const std::string& name, const std::string& kind, const std::string& summary,
                    const std::string& description, const std::string& reference,
                    bool deterministic, bool respects_placeable,
                    const std::optional<GroupId>& groups, bool trainable,
                    const std::vector<py::dict>& parameters) {
  if (is_running()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("agent {} comes too late: other agents are running", name));
  }
  agents::AgentInfo info{.name = name,
                         .kind = kind_of(kind),
                         .summary = summary,
                         .description = description,
                         .reference = reference,
                         .deterministic = deterministic,
                         .respects_placeable = respects_placeable,
                         .trainable = trainable,
                         .default_groups = groups};
  for (const py::dict& parameter : parameters) {
    info.parameters.push_back(parameter_of(parameter));
  }
  // By name, because the registry outlives the interpreter and its classes.
  agents::AgentRegistry::global().add(
      std::move(info), [name, trainable](const Params& params) -> std::unique_ptr<agents::Agent> {
        if (trainable) {
          return std::make_unique<PythonTrainableAgent>(name, params);
        }
        return std::make_unique<PythonAgent>(name, params);
      });
}

py::object evaluate(PythonEvaluator& self, const py::object& placements) {
  const PlacementBatch batch(placements, self.problem());
  const std::vector<agents::Evaluation> evaluations = self.with([&](agents::Evaluator& evaluator) {
    const py::gil_scoped_release released;
    const std::vector<Placement> all = batch.read_all();
    return batch.is_single() ? std::vector{evaluator.evaluate(all.front())}
                             : evaluator.evaluate(all);
  });
  return to_python(evaluations, batch.is_single());
}

}  // namespace

void bind_agents(py::module_& module) {
  py::class_<PythonRandom>(module, "Random", "The random stream of an evaluator.")
      .def("bits",
           [](const PythonRandom& self) {
             return self.draw([](RandomStream& random) { return random.next(); });
           })
      .def(
          "integers",
          [](const PythonRandom& self, const py::object& bound, const py::object& size) {
            const std::int64_t end = as_index(bound, "bound").value_or(0);
            if (end < 1) {
              throw Error(
                  ErrorCode::kUsage,
                  fmt::format("bound is {}, expected an integer of 1 or more", excerpt_of(bound)));
            }
            return self.fill<std::int64_t>(size, [end](RandomStream& random) {
              return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(end)));
            });
          },
          py::arg("bound"), py::arg("size") = py::none())
      .def(
          "uniform",
          [](const PythonRandom& self, const py::object& size) {
            return self.fill<double>(size, [](RandomStream& random) { return random.uniform(); });
          },
          py::arg("size") = py::none())
      .def(
          "normal",
          [](const PythonRandom& self, const py::object& size) {
            return self.fill<double>(
                size, [](RandomStream& random) { return random.normal_pair().first; });
          },
          py::arg("size") = py::none());

  using agents::Evaluator;
  py::class_<PythonEvaluator, std::shared_ptr<PythonEvaluator>>(
      module, "Evaluator", "What an agent may use: a budget of evaluations and a random stream.")
      .def("evaluate", evaluate, py::arg("placements"))
      .def_property_readonly(
          "evaluations",
          [](PythonEvaluator& self) {
            return self.with([](Evaluator& of) { return of.budget().evaluations(); });
          })
      .def_property_readonly(
          "evaluations_left",
          [](PythonEvaluator& self) {
            return self.with([](Evaluator& of) { return of.budget().evaluations_left(); });
          })
      .def_property_readonly(
          "exhausted",
          [](PythonEvaluator& self) {
            return self.with([](Evaluator& of) { return of.budget().exhausted(); });
          })
      .def_property_readonly(
          "share_used",
          [](PythonEvaluator& self) {
            return self.with([](Evaluator& of) { return of.budget().share_used(); });
          })
      .def_property_readonly("best_placement",
                             [](PythonEvaluator& self) {
                               const std::optional<Placement> best = self.with(
                                   [](Evaluator& of) { return of.incumbent().placement(); });
                               return best ? py::object(to_array(*best)) : py::none();
                             })
      .def_property_readonly(
          "best_evaluation",
          [](PythonEvaluator& self) {
            const std::vector<agents::Evaluation> best = self.with([](Evaluator& of) {
              return of.incumbent().placement() ? std::vector{of.incumbent().evaluation()}
                                                : std::vector<agents::Evaluation>();
            });
            return best.empty() ? py::none() : to_python(best, true);
          })
      .def(
          "prove_bound",
          [](PythonEvaluator& self, double us) {
            if (!std::isfinite(us)) {
              throw Error(ErrorCode::kUsage, fmt::format("a bound of {} us", us));
            }
            self.with([us](Evaluator& of) { of.prove_bound(us); });
          },
          py::arg("us"))
      .def_property_readonly("random", [](const std::shared_ptr<PythonEvaluator>& self) {
        return PythonRandom{self};
      });

  module.def("register_agent", register_agent);
  module.def("agent_info", [](const std::string& name) {
    const agents::AgentInfo& info = agents::AgentRegistry::global().info(name);
    py::list parameters;
    for (const ParamSpec& spec : info.parameters) {
      py::dict entry;
      entry["name"] = spec.name;
      entry["default"] = python_value(spec.default_value);
      entry["min"] = spec.min;
      entry["max"] = spec.max;
      entry["choices"] = spec.choices;
      entry["summary"] = spec.summary;
      parameters.append(std::move(entry));
    }
    py::dict dict;
    dict["name"] = info.name;
    dict["kind"] = to_string(info.kind);
    dict["summary"] = info.summary;
    dict["description"] = info.description;
    dict["reference"] = info.reference;
    dict["deterministic"] = info.deterministic;
    dict["respects_placeable"] = info.respects_placeable;
    dict["parameters"] = parameters;
    return dict;
  });
}

}  // namespace emplace::python
