#pragma once

// Ops that move blocks of tensors of many axes: transposes and slices.

#include "skeleton.hpp"

#include <span>

namespace emplace::calibrate::kernels {

/// Tells where the elements of a block, in the order of its own axes, lie in another tensor.
struct Axes {
  static constexpr int kMost = 8;

  int rank = 1;
  std::int64_t extent[kMost] = {1};
  std::int64_t stride[kMost] = {1};

  // Adds an axis within those before; one that only continues the last becomes part of it.
  void add(std::int64_t axis_extent, std::int64_t axis_stride, bool& is_first) {
    if (axis_extent == 1) {
      return;
    }
    if (is_first) {
      rank = 0;
      is_first = false;
    }
    if (rank > 0 && stride[rank - 1] == axis_extent * axis_stride) {
      extent[rank - 1] *= axis_extent;
      stride[rank - 1] = axis_stride;
      return;
    }
    extent[rank] = axis_extent;
    stride[rank] = axis_stride;
    ++rank;
  }

  std::int64_t columns() const { return extent[rank - 1]; }
  std::int64_t rows() const {
    std::int64_t result = 1;
    for (int axis = 0; axis + 1 < rank; ++axis) {
      result *= extent[axis];
    }
    return result;
  }

  // Where the first element of a row of the block lies; `known_rank` lets compilers unroll.
  template <int known_rank>
  EMPLACE_DEVICE std::int64_t offset(std::int64_t row) const {
    std::int64_t result = 0;
    for (int axis = known_rank - 2; axis >= 0; --axis) {
      result += row % extent[axis] * stride[axis];
      row /= extent[axis];
    }
    return result;
  }
};

inline std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * shape[axis];
  }
  return strides;
}

/// Copies between a whole block and places among another tensor's elements.
template <class T>
struct BlockCopy {
  Axes axes{};

  // Runs one function for each rank, since ranks are few and short loops slow.
  template <bool gathers, class Launcher>
  void copy(Launcher& launcher, const T* from, T* to) const {
    switch (axes.rank) {
      case 1:
        return copy_of_rank<gathers, 1>(launcher, from, to);
      case 2:
        return copy_of_rank<gathers, 2>(launcher, from, to);
      case 3:
        return copy_of_rank<gathers, 3>(launcher, from, to);
      case 4:
        return copy_of_rank<gathers, 4>(launcher, from, to);
      case 5:
        return copy_of_rank<gathers, 5>(launcher, from, to);
      default:
        return copy_of_rank<gathers, Axes::kMost>(launcher, from, to);
    }
  }

  template <bool gathers, int rank, class Launcher>
  void copy_of_rank(Launcher& launcher, const T* from, T* to) const {
    // Axes that are missing have the extent 1, and stand in front.
    Axes whole = axes;
    for (int axis = rank - 1, own = axes.rank - 1; axis >= 0; --axis, --own) {
      whole.extent[axis] = own >= 0 ? axes.extent[own] : 1;
      whole.stride[axis] = own >= 0 ? axes.stride[own] : 0;
    }
    const std::int64_t columns = axes.columns();
    const std::int64_t stride = axes.stride[axes.rank - 1];
    launcher.map(axes.rows(), columns, [=] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
      const std::int64_t in_block = row * columns + column;
      const std::int64_t elsewhere = whole.offset<rank>(row) + column * stride;
      to[gathers ? in_block : elsewhere] = from[gathers ? elsewhere : in_block];
    });
  }
};

template <class T>
struct Transpose : BlockCopy<T> {
  std::int64_t elements;

  // The op's shape: the input's shape, then its axes in their new order.
  explicit Transpose(SiteReader& site) : elements(site.output_elements(0)) {
    site.expect_input<T>(0, elements);
    site.expect_output<T>(0, elements);
    const auto& shape = site.input_shape(0);
    const auto& stated = site.site().op.shape;
    site.expect(shape.size() <= Axes::kMost && stated.size() == 2 * shape.size());
    if (!site.fits()) {
      return;
    }
    const auto strides = strides_of(shape);
    bool is_first = true;
    std::int64_t count = 1;
    for (std::size_t i = shape.size(); i < stated.size(); ++i) {
      const auto axis = static_cast<std::size_t>(stated[i]);
      site.expect(stated[i] >= 0 && axis < shape.size());
      if (site.fits()) {
        this->axes.add(shape[axis], strides[axis], is_first);
        count *= shape[axis];
      }
    }
    site.expect(count == elements);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    this->template copy<true>(launcher, input<T>(buffers, 0), output<T>(buffers, 0));
  }
};

// Where a block lies in the whole does not matter to a graph: ours begin at the whole's first
// element.
inline void add_block_axes(SiteReader& site, Axes& axes, const std::vector<std::int64_t>& block,
                           const std::vector<std::int64_t>& whole) {
  site.expect(block.size() == whole.size() && block.size() <= Axes::kMost);
  if (!site.fits()) {
    return;
  }
  const auto strides = strides_of(whole);
  bool is_first = true;
  for (std::size_t axis = 0; axis < block.size(); ++axis) {
    site.expect(block[axis] <= whole[axis]);
    axes.add(block[axis], strides[axis], is_first);
  }
}

template <class T>
struct Slice : BlockCopy<T> {
  explicit Slice(SiteReader& site) {
    site.expect_input<T>(0, site.input_elements(0));
    site.expect_output<T>(0, site.output_elements(0));
    add_block_axes(site, this->axes, site.output_shape(0), site.input_shape(0));
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    this->template copy<true>(launcher, input<T>(buffers, 0), output<T>(buffers, 0));
  }
};

/// Writes zeros where the block is not, and the block's gradient where it is.
template <class T>
struct SliceBackward : BlockCopy<T> {
  std::int64_t elements;

  explicit SliceBackward(SiteReader& site) : elements(site.output_elements(0)) {
    site.expect_input<T>(0, site.input_elements(0));
    site.expect_output<T>(0, elements);
    add_block_axes(site, this->axes, site.input_shape(0), site.output_shape(0));
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    T* dx = output<T>(buffers, 0);
    launcher.map(elements, [=] EMPLACE_BODY(std::int64_t i) { dx[i] = T(0.0F); });
    this->template copy<false>(launcher, input<T>(buffers, 0), dx);
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> axis_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"slice", make<Launcher, Slice>},
      {"slice_backward", make<Launcher, SliceBackward>},
      {"transpose", make<Launcher, Transpose>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
