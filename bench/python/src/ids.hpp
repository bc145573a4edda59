#pragma once

// Ids are Python's integers, and arrays of them numpy's int32.

#include <emplace/base/ids.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

namespace pybind11::detail {

template <typename Kind>
struct type_caster<emplace::Id<Kind>> {
 public:
  PYBIND11_TYPE_CASTER(emplace::Id<Kind>, const_name("int"));

  bool load(handle source, bool convert) {
    make_caster<std::int32_t> number;
    if (!number.load(source, convert)) {
      return false;
    }
    value = cast_op<std::int32_t>(number);
    return true;
  }

  static handle cast(emplace::Id<Kind> id, return_value_policy policy, handle parent) {
    return make_caster<std::int32_t>::cast(std::int32_t{id}, policy, parent);
  }
};

template <typename Kind>
struct npy_format_descriptor<emplace::Id<Kind>> : npy_format_descriptor<std::int32_t> {
  static_assert(sizeof(emplace::Id<Kind>) == sizeof(std::int32_t));
};

}  // namespace pybind11::detail
