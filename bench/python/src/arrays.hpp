#pragma once

// numpy arrays over memory of ours, and placements from arrays of theirs.

#include "ids.hpp"

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace emplace::python {

namespace py = pybind11;

/// Makes `array` read-only and returns it.
py::array read_only(py::array array);

/// Returns the shape of an array of one dimension. Under NumPy 2, pybind11 before 2.12 gives an
/// array that is made from a mere number of elements wrong strides.
template <typename Count>
std::vector<py::ssize_t> length(Count count) {
  return {static_cast<py::ssize_t>(count)};
}

/// Returns a read-only array over `data`, without a copy; `owner` is what keeps that memory.
template <typename T>
py::array view(std::span<const T> data, const py::object& owner) {
  return read_only(py::array_t<T>(length(data.size()), data.data(), owner));
}

/// Returns an array that takes the memory of `data`, without a copy.
template <typename T>
py::array adopt(std::vector<T> data) {
  auto* const kept = new std::vector<T>(std::move(data));
  const py::capsule owner(kept, [](void* memory) { delete static_cast<std::vector<T>*>(memory); });
  return py::array_t<T>(length(kept->size()), kept->data(), owner);
}

/// Holds the placements of a batch: an array of any integer type, one row for each placement. A
/// single placement is a batch of one row.
class PlacementBatch {
 public:
  /// Takes what numpy can make an array of integers of, of one or two dimensions. Throws kUsage,
  /// where it is no such array or has not one column for each group of `problem`.
  PlacementBatch(const py::object& placements, const Problem& problem);

  /// Says whether it was an array of one dimension.
  bool is_single() const { return is_single_; }

  std::size_t size() const { return num_rows_; }

  /// Sets `placement` to a row. May be called by any thread, without the GIL. Throws kUsage where a
  /// number is no device of the problem.
  void read(std::size_t row, Placement& placement) const;

  /// Returns all placements; throws as read() does.
  std::vector<Placement> read_all() const;

 private:
  template <typename T>
  void read_as(std::size_t row, Placement& placement) const;

  py::array array_;  // keeps the memory
  bool is_single_ = false;
  std::size_t num_rows_ = 0;
  GroupId num_groups_ = 0;
  DeviceId num_devices_ = 0;
  const char* data_ = nullptr;
  std::ptrdiff_t row_stride_ = 0;
  std::ptrdiff_t column_stride_ = 0;
  char type_ = 'l';  // numpy's letter
};

/// Reads one placement; throws as PlacementBatch does, and kUsage for an array of two dimensions.
Placement read_placement(const py::object& placement, const Problem& problem);

/// Returns the devices of a placement as an array of its own.
py::array to_array(const Placement& placement);

}  // namespace emplace::python
