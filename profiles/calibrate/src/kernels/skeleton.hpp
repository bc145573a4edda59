#pragma once

// What our own ops are made of, written once for the CPU and for GPUs.
//
// An op is a class template on the type of its elements. Its constructor takes what it must know
// from the site; operator() runs it by calls of a launcher, which is the CPU's or a GPU's:
//
//     template <class T>
//     struct Twice {
//       std::int64_t elements;
//
//       explicit Twice(SiteReader& site) : elements(site.output_elements(0)) {
//         site.expect_input<T>(0, elements);
//         site.expect_output<T>(0, elements);
//       }
//
//       template <class Launcher>
//       void operator()(Launcher& launcher, const OpBuffers& buffers) const {
//         const T* x = input<T>(buffers, 0);
//         T* y = output<T>(buffers, 0);
//         launcher.map(elements, [=] EMPLACE_BODY(std::int64_t i) { y[i] = T(2 * x[i]); });
//       }
//     };
//
// A launcher enqueues what it is asked for, in order. It has these members; indices are int64_t,
// bodies are called in any order and at the same time:
//
//   map(n, body)                  body(i) for all i < n
//   map(rows, columns, body)      body(row, column); columns lie side by side in memory
//   reduce<Sum>(segments, outer, inner, term, finish, workspace)
//                                 for each segment the sum of term(segment, o, i) over all o <
//                                 outer and i < inner, which lie side by side; then finish(segment,
//                                 sum)
//   reduce_columns<Sum>(rows, columns, term, finish, workspace)
//                                 for each column the sum of term(row, column) over all rows; then
//                                 finish(column, sum); columns lie side by side
//   map_rows<Sum>(rows, columns, term, finish, body)
//                                 for each row the sum of term(row, column), then finish(row, sum),
//                                 which may change the sum, then body(row, column, sum) for all
//                                 columns, while the row is near
//   scatter_add<T>(slots, width, table, row_of, value)
//                                 adds value(slot, column) to table[row_of(slot) * width + column]
//
// A Sum is a plain struct, the default of which is the sum of nothing, with operator+=; terms are
// Sums. Static members of a launcher tell the bytes of workspace: reduce_bytes<Sum>(segments,
// length) with length = outer * inner, and reduce_columns_bytes<Sum>(rows, columns).
//
// Bodies capture plain values; in members of an op they capture [=, *this], never `this`. They call
// C's functions on float (expf), which both compilers know. They sit in functions with a name and
// without a deduced type, never in another lambda, because nvcc asks for that.

#include "element.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace emplace::calibrate::kernels {

/// Shows a site to an op, which says what it expects. Third-party graphs may not fit: then the op
/// is not run.
class SiteReader {
 public:
  explicit SiteReader(const OpSite& site) : site_(site) {}

  const OpSite& site() const { return site_; }

  /// Says whether all that was expected is so.
  bool fits() const { return fits_; }

  /// Expects `condition`.
  void expect(bool condition) { fits_ = fits_ && condition; }

  /// Returns an entry of the op's shape, at least 1; expects that there is one.
  std::int64_t dimension(std::size_t index);

  std::int64_t num_inputs() const { return std::ssize(site_.inputs); }
  std::int64_t num_outputs() const { return std::ssize(site_.op.outputs); }

  /// Returns the shape of an input or output; expects that there is one.
  const std::vector<std::int64_t>& input_shape(std::int64_t index);
  const std::vector<std::int64_t>& output_shape(std::int64_t index);

  /// Returns the elements of an input or output; expects that there is one.
  std::int64_t input_elements(std::int64_t index);
  std::int64_t output_elements(std::int64_t index);

  /// Expects that an input or output has so many elements, of the type T.
  template <class T>
  void expect_input(std::int64_t index, std::int64_t elements) {
    expect_value(input(index), kDataTypeOf<T>, elements);
  }
  template <class T>
  void expect_output(std::int64_t index, std::int64_t elements) {
    expect_value(output(index), kDataTypeOf<T>, elements);
  }

  /// The same for types that ops do not compute with.
  void expect_input(std::int64_t index, DataType type, std::int64_t elements) {
    expect_value(input(index), type, elements);
  }
  void expect_output(std::int64_t index, DataType type, std::int64_t elements) {
    expect_value(output(index), type, elements);
  }

  /// Expects that an input is so many integers, and says whether they have 64 bits.
  bool expect_ids(std::int64_t index, std::int64_t elements);

 private:
  const Output* input(std::int64_t index);
  const Output* output(std::int64_t index);
  void expect_value(const Output* value, DataType type, std::int64_t elements);

  const OpSite& site_;
  bool fits_ = true;
};

/// Returns the type by which the op of a site is chosen: that of its first input if these are real
/// numbers, else that of its first output; none if it has neither.
std::optional<DataType> element_type(const OpSite& site);

/// Returns where an input lies.
template <class T>
const T* input(const OpBuffers& buffers, std::int64_t index) {
  return static_cast<const T*>(buffers.inputs[static_cast<std::size_t>(index)]);
}

/// Returns where an output lies.
template <class T>
T* output(const OpBuffers& buffers, std::int64_t index) {
  return static_cast<T*>(buffers.outputs[static_cast<std::size_t>(index)]);
}

/// Holds an op of a site, ready to be run by launchers of one class.
template <class Launcher>
struct Kernel {
  std::int64_t workspace_bytes = 0;
  std::function<void(Launcher&, const OpBuffers&)> run{};  ///< empty if it can't be run
};

/// Says how ops of one kind are run.
template <class Launcher>
struct NamedKernel {
  std::string_view kind;
  Kernel<Launcher> (*make)(const OpSite& site);
};

/// Returns `bytes` rounded up so that what follows in a workspace is aligned.
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Returns the place `offset` bytes into the workspace.
template <class T>
T* workspace(const OpBuffers& buffers, std::int64_t offset = 0) {
  return reinterpret_cast<T*>(static_cast<char*>(buffers.workspace) + offset);
}

/// Sums up one number.
struct Total {
  float value = 0;
  EMPLACE_DEVICE void operator+=(const Total& other) { value += other.value; }
};

/// Sums up two.
struct Pair {
  float first = 0;
  float second = 0;
  EMPLACE_DEVICE void operator+=(const Pair& other) {
    first += other.first;
    second += other.second;
  }
};

/// Makes an op of a site, whatever its type; empty if the op does not fit the site.
template <class Launcher, class Op>
Kernel<Launcher> make_one(const OpSite& site) {
  SiteReader reader(site);
  Op op(reader);
  if (!reader.fits()) {
    return {};
  }
  std::int64_t workspace_bytes = 0;
  if constexpr (requires { op.template workspace_bytes<Launcher>(); }) {
    workspace_bytes = op.template workspace_bytes<Launcher>();
  }
  return {workspace_bytes,
          [op = std::move(op)](Launcher& launcher, const OpBuffers& b) { op(launcher, b); }};
}

/// Makes an op of a site by the type of its elements.
template <class Launcher, template <class T> class Op>
Kernel<Launcher> make(const OpSite& site) {
  switch (element_type(site).value_or(DataType::kBool)) {
    case DataType::kFloat32:
      return make_one<Launcher, Op<float>>(site);
    case DataType::kBfloat16:
      return make_one<Launcher, Op<Bfloat16>>(site);
    default:
      return {};
  }
}

}  // namespace emplace::calibrate::kernels
