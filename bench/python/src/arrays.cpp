#include "arrays.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace emplace::python {
namespace {

std::string shape_of(const py::array& array) {
  return fmt::format("({})", fmt::join(array.shape(), array.shape() + array.ndim(), ", "));
}

py::array integers(const py::object& object) {
  const py::object numpy = py::module_::import("numpy");
  py::array array = numpy.attr("asarray")(object);
  const char kind = array.dtype().kind();
  if (kind != 'i' && kind != 'u') {
    throw Error(ErrorCode::kUsage,
                fmt::format("a placement is an array of integers, the devices of the groups; found "
                            "an array of {}",
                            py::str(array.dtype()).cast<std::string>()));
  }
  if (!array.dtype().attr("isnative").cast<bool>()) {
    array = array.attr("astype")(array.dtype().attr("newbyteorder")("="));
  }
  return array;
}

}  // namespace

py::array read_only(py::array array) {
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

PlacementBatch::PlacementBatch(const py::object& placements, const Problem& problem)
    : array_(integers(placements)),
      is_single_(array_.ndim() == 1),
      num_groups_(problem.num_groups()),
      num_devices_(problem.num_devices()) {
  const py::ssize_t last = array_.ndim() - 1;
  if (last < 0 || last > 1 || array_.shape(last) != num_groups_) {
    throw Error(ErrorCode::kUsage,
                fmt::format("expected placements of {0} groups, an array of the shape ({0}) or (N, "
                            "{0}); found {1}",
                            num_groups_, shape_of(array_)));
  }
  num_rows_ = is_single_ ? 1 : static_cast<std::size_t>(array_.shape(0));
  row_stride_ = is_single_ ? 0 : array_.strides(0);
  column_stride_ = array_.strides(last);
  data_ = static_cast<const char*>(array_.data());
  type_ = array_.dtype().char_();
}

template <typename T>
void PlacementBatch::read_as(std::size_t row, Placement& placement) const {
  const char* const begin = data_ + static_cast<std::ptrdiff_t>(row) * row_stride_;
  for (GroupId group = 0; group < num_groups_; ++group) {
    T device;
    std::memcpy(&device, begin + group * column_stride_, sizeof(T));
    if (std::cmp_less(device, 0) || std::cmp_greater_equal(device, std::int32_t{num_devices_})) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{}group {} is on device {}, expected 0 to {}",
                              is_single_ ? "" : fmt::format("placement {}: ", row), group, device,
                              num_devices_ - 1));
    }
    placement[group] = static_cast<DeviceId>(static_cast<std::make_unsigned_t<T>>(device));
  }
}

void PlacementBatch::read(std::size_t row, Placement& placement) const {
  if (placement.size() != num_groups_) {
    placement = Placement(num_groups_);
  }
  switch (type_) {
    case 'b':
      return read_as<signed char>(row, placement);
    case 'B':
      return read_as<unsigned char>(row, placement);
    case 'h':
      return read_as<short>(row, placement);
    case 'H':
      return read_as<unsigned short>(row, placement);
    case 'i':
      return read_as<int>(row, placement);
    case 'I':
      return read_as<unsigned int>(row, placement);
    case 'l':
      return read_as<long>(row, placement);
    case 'L':
      return read_as<unsigned long>(row, placement);
    case 'q':
      return read_as<long long>(row, placement);
    case 'Q':
      return read_as<unsigned long long>(row, placement);
    default:
      EMPLACE_CHECK(false, "numpy has an integer type '{}'", type_);
  }
}

std::vector<Placement> PlacementBatch::read_all() const {
  std::vector<Placement> placements(num_rows_);
  for (std::size_t row = 0; row < num_rows_; ++row) {
    read(row, placements[row]);
  }
  return placements;
}

Placement read_placement(const py::object& placement, const Problem& problem) {
  const PlacementBatch batch(placement, problem);
  if (!batch.is_single()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("expected one placement, an array of {} devices; found {} placements",
                            problem.num_groups(), batch.size()));
  }
  Placement result;
  batch.read(0, result);
  problem.constrain(result);
  return result;
}

py::array to_array(const Placement& placement) {
  return py::array_t<DeviceId>(length(placement.devices().size()), placement.devices().data());
}

}  // namespace emplace::python
