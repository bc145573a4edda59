#pragma once

// Ops that only move elements.

#include "skeleton.hpp"

#include <span>

namespace emplace::calibrate::kernels {

template <class T>
struct Zeros {
  std::int64_t elements;

  explicit Zeros(SiteReader& site) : elements(site.output_elements(0)) {
    site.expect_output<T>(0, elements);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    T* y = output<T>(buffers, 0);
    launcher.map(elements, [=] EMPLACE_BODY(std::int64_t i) { y[i] = T(0.0F); });
  }
};

/// Holds some of the parts of a tensor: where each lies, and which columns of the whole it has.
template <class T>
struct Parts {
  static constexpr std::int64_t kMost = 32;

  T* at[kMost];
  std::int64_t begin[kMost];
  std::int64_t columns[kMost];
};

/// Tells how parts lie in a tensor of [rows, columns]: the rows of parts stand side by side.
struct Joint {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::vector<std::int64_t> columns_of{};

  // The axis is the first along which the first part is not as long as the whole.
  Joint(SiteReader& site, const std::vector<std::int64_t>& whole,
        const std::vector<std::vector<std::int64_t>>& parts) {
    site.expect(!parts.empty() && parts[0].size() == whole.size() && !whole.empty());
    if (!site.fits()) {
      return;
    }
    std::size_t axis = 0;
    while (axis + 1 < whole.size() && parts[0][axis] == whole[axis]) {
      rows *= whole[axis++];
    }
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < whole.size(); ++i) {
      inner *= whole[i];
    }
    columns = whole[axis] * inner;
    std::int64_t end = 0;
    for (const auto& part : parts) {
      site.expect(part.size() == whole.size());
      columns_of.push_back(site.fits() ? part[axis] * inner : 0);
      end += columns_of.back();
    }
    site.expect(end == columns);
  }

  // Calls run(parts, number of them, columns of the widest) for up to Parts::kMost at a time.
  template <class T, class Run>
  void for_some(std::span<T* const> at, const Run& run) const {
    std::int64_t begin = 0;
    for (std::size_t first = 0; first < at.size(); first += Parts<T>::kMost) {
      Parts<T> some{};
      const std::size_t count = std::min<std::size_t>(at.size() - first, Parts<T>::kMost);
      std::int64_t widest = 0;
      for (std::size_t i = 0; i < count; ++i) {
        some.at[i] = at[first + i];
        some.begin[i] = begin;
        some.columns[i] = columns_of[first + i];
        begin += some.columns[i];
        widest = std::max(widest, some.columns[i]);
      }
      run(some, static_cast<std::int64_t>(count), widest);
    }
  }
};

template <class T>
struct Concat {
  Joint joint;

  explicit Concat(SiteReader& site) : joint(site, site.output_shape(0), shapes(site)) {
    for (std::int64_t i = 0; site.fits() && i < site.num_inputs(); ++i) {
      site.expect_input<T>(i, joint.rows * joint.columns_of[static_cast<std::size_t>(i)]);
    }
    site.expect_output<T>(0, joint.rows * joint.columns);
  }

  static std::vector<std::vector<std::int64_t>> shapes(SiteReader& site) {
    std::vector<std::vector<std::int64_t>> result;
    for (std::int64_t i = 0; i < site.num_inputs(); ++i) {
      result.push_back(site.input_shape(i));
    }
    return result;
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    std::vector<const T*> at;
    for (std::int64_t i = 0; i < std::ssize(buffers.inputs); ++i) {
      at.push_back(input<T>(buffers, i));
    }
    joint.for_some(std::span<const T* const>(at),
                   [&](const Parts<const T>& parts, std::int64_t count, std::int64_t widest) {
                     run(launcher, parts, count, widest, output<T>(buffers, 0));
                   });
  }

  template <class Launcher>
  void run(Launcher& launcher, const Parts<const T>& some, std::int64_t count, std::int64_t widest,
           T* y) const {
    const Parts<const T> parts = some;
    const std::int64_t rows = joint.rows;
    const std::int64_t columns = joint.columns;
    launcher.map(count * rows, widest, [=] EMPLACE_BODY(std::int64_t line, std::int64_t column) {
      const std::int64_t part = line / rows;
      const std::int64_t row = line % rows;
      if (column < parts.columns[part]) {
        y[row * columns + parts.begin[part] + column] =
            parts.at[part][row * parts.columns[part] + column];
      }
    });
  }
};

template <class T>
struct Split {
  Joint joint;

  explicit Split(SiteReader& site) : joint(site, site.input_shape(0), shapes(site)) {
    for (std::int64_t i = 0; site.fits() && i < site.num_outputs(); ++i) {
      site.expect_output<T>(i, joint.rows * joint.columns_of[static_cast<std::size_t>(i)]);
    }
    site.expect_input<T>(0, joint.rows * joint.columns);
  }

  static std::vector<std::vector<std::int64_t>> shapes(SiteReader& site) {
    std::vector<std::vector<std::int64_t>> result;
    for (std::int64_t i = 0; i < site.num_outputs(); ++i) {
      result.push_back(site.output_shape(i));
    }
    return result;
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    std::vector<T*> at;
    for (std::int64_t i = 0; i < std::ssize(buffers.outputs); ++i) {
      at.push_back(output<T>(buffers, i));
    }
    joint.for_some(std::span<T* const>(at),
                   [&](const Parts<T>& parts, std::int64_t count, std::int64_t widest) {
                     run(launcher, parts, count, widest, input<T>(buffers, 0));
                   });
  }

  template <class Launcher>
  void run(Launcher& launcher, const Parts<T>& some, std::int64_t count, std::int64_t widest,
           const T* x) const {
    const Parts<T> parts = some;
    const std::int64_t rows = joint.rows;
    const std::int64_t columns = joint.columns;
    launcher.map(count * rows, widest, [=] EMPLACE_BODY(std::int64_t line, std::int64_t column) {
      const std::int64_t part = line / rows;
      const std::int64_t row = line % rows;
      if (column < parts.columns[part]) {
        parts.at[part][row * parts.columns[part] + column] =
            x[row * columns + parts.begin[part] + column];
      }
    });
  }
};

/// [N, C, H, W] moved by one place up and to the left, or back; zeros come in.
template <int direction>
struct Shift {
  template <class T>
  struct Op {
    std::int64_t maps;
    std::int64_t h = 1;
    std::int64_t w = 1;

    explicit Op(SiteReader& site) : maps(1) {
      const auto& shape = site.output_shape(0);
      site.expect(shape.size() == 4);
      if (site.fits()) {
        maps = shape[0] * shape[1];
        h = shape[2];
        w = shape[3];
      }
      site.expect_input<T>(0, maps * h * w);
      site.expect_output<T>(0, maps * h * w);
    }

    template <class Launcher>
    void operator()(Launcher& launcher, const OpBuffers& buffers) const {
      const T* x = input<T>(buffers, 0);
      T* y = output<T>(buffers, 0);
      launcher.map(maps * h, w, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
        const std::int64_t from_row = row % h + direction;
        const std::int64_t from = column + direction;
        const bool is_inside = from_row >= 0 && from_row < h && from >= 0 && from < w;
        y[row * w + column] = is_inside ? x[(row + direction) * w + from] : T(0.0F);
      });
    }
  };
};

/// [N, F, F]: what lies below the diagonals, row after row.
struct Triangle {
  std::int64_t n;
  std::int64_t f;

  explicit Triangle(SiteReader& site) : n(site.dimension(0)), f(site.dimension(1)) {
    site.expect(f >= 2);
  }
  std::int64_t below() const { return f * (f - 1) / 2; }
  EMPLACE_DEVICE std::int64_t at(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row % f;
    return row / f * (f * (f - 1) / 2) + i * (i - 1) / 2 + column;
  }
};

template <class T>
struct LowerTriangle : Triangle {
  explicit LowerTriangle(SiteReader& site) : Triangle(site) {
    site.expect_input<T>(0, n * f * f);
    site.expect_output<T>(0, n * below());
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    launcher.map(n * f, f, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
      if (column < row % f) {
        y[at(row, column)] = x[row * f + column];
      }
    });
  }
};

template <class T>
struct LowerTriangleBackward : Triangle {
  explicit LowerTriangleBackward(SiteReader& site) : Triangle(site) {
    site.expect_input<T>(0, n * below());
    site.expect_output<T>(0, n * f * f);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    T* dx = output<T>(buffers, 0);
    launcher.map(n * f, f, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
      dx[row * f + column] = column < row % f ? dy[at(row, column)] : T(0.0F);
    });
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> movement_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"concat", make<Launcher, Concat>},
      {"lower_triangle", make<Launcher, LowerTriangle>},
      {"lower_triangle_backward", make<Launcher, LowerTriangleBackward>},
      {"shift2d", make<Launcher, Shift<1>::template Op>},
      {"shift2d_backward", make<Launcher, Shift<-1>::template Op>},
      {"split", make<Launcher, Split>},
      {"zeros", make<Launcher, Zeros>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
