#pragma once

// Agents that are classes of Python, in the registry beside all others. An agent holds the GIL
// while its own code runs, and gives it up while its placements are simulated, so cells with agents
// in Python run side by side with all others.

#include <pybind11/pybind11.h>

namespace emplace::python {

/// Adds the classes Evaluator and Random and the function register_agent() to the module.
void bind_agents(pybind11::module_& module);

}  // namespace emplace::python
