#pragma once

// Trains the policy of an agent, for emplace.train().

#include <pybind11/pybind11.h>

namespace emplace::python {

/// Adds train() to the module.
void bind_training(pybind11::module_& module);

}  // namespace emplace::python
