#pragma once

// The integers by which the modules refer to ops, groups and devices. All count from 0 and index
// flat arrays. Each kind is a type of its own: an id is an integer where one is expected and can be
// made from one, but ids of two kinds neither convert into each other nor compare.

#include <fmt/core.h>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace emplace {

/// An integer that numbers things of the kind `Kind`: as cheap as a std::int32_t.
template <typename Kind>
class Id {
 public:
  constexpr Id() = default;

  // NOLINTNEXTLINE(google-explicit-constructor): a literal is an id of whatever it numbers
  constexpr Id(std::int32_t value) : value_(value) {}

  /// Takes a number of another type. Requires: it fits.
  template <std::integral T>
    requires(!std::same_as<T, std::int32_t>)
  constexpr explicit Id(T value) : value_(static_cast<std::int32_t>(value)) {}

  // NOLINTNEXTLINE(google-explicit-constructor): arithmetic gives integers
  constexpr operator std::int32_t() const { return value_; }

  constexpr Id& operator++() {
    ++value_;
    return *this;
  }
  constexpr Id operator++(int) { return value_++; }
  constexpr Id& operator--() {
    --value_;
    return *this;
  }
  constexpr Id operator--(int) { return value_--; }
  constexpr Id& operator+=(std::int32_t n) {
    value_ += n;
    return *this;
  }
  constexpr Id& operator-=(std::int32_t n) {
    value_ -= n;
    return *this;
  }

 private:
  std::int32_t value_ = 0;
};

// Ids of the same kind compare as the integers that they are.
template <typename Kind, typename Other>
  requires(!std::same_as<Kind, Other>) bool
operator==(Id<Kind>, Id<Other>) = delete;
template <typename Kind, typename Other>
  requires(!std::same_as<Kind, Other>)
std::strong_ordering operator<=>(Id<Kind>, Id<Other>) = delete;

/// Index of an op in its graph, in the order in which the ops were added.
using OpId = Id<struct OpTag>;

/// Index of a group of ops in a Grouping; groups are numbered in topological order.
using GroupId = Id<struct GroupTag>;

/// Index of a device in its cluster.
using DeviceId = Id<struct DeviceTag>;

}  // namespace emplace

template <typename Kind>
struct std::hash<emplace::Id<Kind>> : std::hash<std::int32_t> {};

template <typename Kind>
struct std::numeric_limits<emplace::Id<Kind>> : std::numeric_limits<std::int32_t> {};

template <typename Kind>
struct fmt::formatter<emplace::Id<Kind>> : fmt::formatter<std::int32_t> {};
