#pragma once

// Reads what a site must have for a library to run it. Third-party graphs may not fit.

#include <emplace/calibrate/op_site.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace emplace::calibrate {

/// Shows a site to a reader, which says what it expects.
class SiteReader {
 public:
  explicit SiteReader(const OpSite& site) : site_(site) {}

  /// Says whether all that was expected is so.
  bool fits() const { return fits_; }

  /// Returns an entry of the op's shape, at least 1; expects that there is one.
  std::int64_t dimension(std::size_t index);

  /// Expects that an input or output has so many elements of a type.
  void expect_input(std::size_t index, DataType type, std::int64_t elements);
  void expect_output(std::size_t index, DataType type, std::int64_t elements);

 private:
  const OpSite& site_;
  bool fits_ = true;
};

/// Returns the type by which the op of a site is chosen: that of its first input if these are real
/// numbers, else that of its first output; none if it has neither.
std::optional<DataType> element_type(const OpSite& site);

}  // namespace emplace::calibrate
