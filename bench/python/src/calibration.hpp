#pragma once

// What a calibration needs of the program: the ops to measure, and the cluster of what was
// measured.

#include <pybind11/pybind11.h>

namespace emplace::python {

/// Adds op_sites() and calibrated_cluster() to the module.
void bind_calibration(pybind11::module_& module);

}  // namespace emplace::python
