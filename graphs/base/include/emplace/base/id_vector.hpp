#pragma once

// Containers that are indexed by the ids of ids.hpp. Ids are signed and the standard containers'
// indices are not; these convert in one place instead of at each access. A std::size_t is an index
// too, for loops over positions. Like the standard containers', operator[] does not check its
// argument.

#include <emplace/base/ids.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Returns `id` as an index of something that is not indexed by ids, for example a vertex of an
/// OpGraph. Requires: id >= 0.
template <typename Id>
constexpr std::size_t index_of(Id id) {
  return static_cast<std::size_t>(id);
}

/// A std::vector with an element for each id from 0.
template <typename Id, typename T>
class IdVector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  using Base::operator[];
  IdVector() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a vector of the same elements is the same
  IdVector(Base elements) : Base(std::move(elements)) {}

  /// Returns the element of `id`. Requires: 0 <= id < size().
  typename Base::reference operator[](Id id) {
    return Base::operator[](static_cast<std::size_t>(id));
  }
  typename Base::const_reference operator[](Id id) const {
    return Base::operator[](static_cast<std::size_t>(id));
  }

  /// Ids of another kind number other things.
  template <typename Kind>
  void operator[](emplace::Id<Kind> other) const = delete;

  /// Returns the number of elements as an id: the end of a loop over all of them.
  Id end_id() const { return static_cast<Id>(Base::size()); }
};

/// A std::span with an element for each id from 0.
template <typename Id, typename T>
class IdSpan : public std::span<T> {
  using Base = std::span<T>;

 public:
  using Base::Base;
  using Base::operator[];
  // NOLINTNEXTLINE(google-explicit-constructor): a span of the same elements is the same
  constexpr IdSpan(Base elements) : Base(elements) {}

  /// Returns the element of `id`. Requires: 0 <= id < size().
  constexpr T& operator[](Id id) const { return Base::operator[](static_cast<std::size_t>(id)); }

  /// Ids of another kind number other things.
  template <typename Kind>
  void operator[](emplace::Id<Kind> other) const = delete;

  /// Returns the number of elements as an id: the end of a loop over all of them.
  constexpr Id end_id() const { return static_cast<Id>(Base::size()); }
};

}  // namespace emplace
