#pragma once

// Rows of tables, by integers, and their gradients.

#include "skeleton.hpp"

#include <span>

namespace emplace::calibrate::kernels {

template <class T>
struct Embedding {
  std::int64_t ids;
  std::int64_t vocabulary;
  std::int64_t width;
  bool has_wide_ids;

  explicit Embedding(SiteReader& site)
      : ids(site.dimension(0)),
        vocabulary(site.dimension(1)),
        width(site.dimension(2)),
        has_wide_ids(site.expect_ids(1, ids)) {
    site.expect_input<T>(0, vocabulary * width);
    site.expect_output<T>(0, ids * width);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* table = input<T>(buffers, 0);
    const Ids rows{input<void>(buffers, 1), has_wide_ids, vocabulary};
    T* y = output<T>(buffers, 0);
    launcher.map(ids, width, [=, *this] EMPLACE_BODY(std::int64_t i, std::int64_t column) {
      y[i * width + column] = table[rows[i] * width + column];
    });
  }
};

/// Reads the gradients of the rows, and their ids.
template <class T>
struct EmbeddingBackward {
  std::int64_t ids;
  std::int64_t vocabulary;
  std::int64_t width;
  bool has_wide_ids;

  explicit EmbeddingBackward(SiteReader& site)
      : ids(site.dimension(0)),
        vocabulary(site.dimension(1)),
        width(site.dimension(2)),
        has_wide_ids(site.expect_ids(1, ids)) {
    site.expect_input<T>(0, ids * width);
    site.expect_output<T>(0, vocabulary * width);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const Ids rows{input<void>(buffers, 1), has_wide_ids, vocabulary};
    T* dtable = output<T>(buffers, 0);
    launcher.map(vocabulary * width, [=] EMPLACE_BODY(std::int64_t i) { dtable[i] = T(0.0F); });
    launcher.scatter_add(
        ids, width, dtable, [=] EMPLACE_BODY(std::int64_t i) { return rows[i]; },
        [=, *this] EMPLACE_BODY(std::int64_t i, std::int64_t column) {
          return float(dy[i * width + column]);
        });
  }
};

template <class T>
struct EmbeddingBag {
  std::int64_t bags;
  std::int64_t lookups;
  std::int64_t rows;
  std::int64_t width;
  bool has_wide_ids;

  explicit EmbeddingBag(SiteReader& site)
      : bags(site.dimension(0)),
        lookups(site.dimension(1)),
        rows(site.dimension(2)),
        width(site.dimension(3)),
        has_wide_ids(site.expect_ids(1, bags * lookups)) {
    site.expect_input<T>(0, rows * width);
    site.expect_output<T>(0, bags * width);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* table = input<T>(buffers, 0);
    const Ids chosen{input<void>(buffers, 1), has_wide_ids, rows};
    T* y = output<T>(buffers, 0);
    launcher.map(bags, width, [=, *this] EMPLACE_BODY(std::int64_t bag, std::int64_t column) {
      float sum = 0;
      for (std::int64_t i = bag * lookups; i < (bag + 1) * lookups; ++i) {
        sum += float(table[chosen[i] * width + column]);
      }
      y[bag * width + column] = T(sum);
    });
  }
};

/// Reads the gradients of the bags, and the ids; makes the gradient of each row looked up.
template <class T>
struct EmbeddingBagBackward {
  std::int64_t bags;
  std::int64_t lookups;
  std::int64_t width;

  explicit EmbeddingBagBackward(SiteReader& site)
      : bags(site.dimension(0)), lookups(site.dimension(1)), width(site.dimension(3)) {
    site.expect_input<T>(0, bags * width);
    site.expect_ids(1, bags * lookups);
    site.expect_output<T>(0, bags * lookups * width);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    T* drows = output<T>(buffers, 0);
    launcher.map(bags * lookups, width,
                 [=, *this] EMPLACE_BODY(std::int64_t i, std::int64_t column) {
                   drows[i * width + column] = dy[i / lookups * width + column];
                 });
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> embedding_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"embedding", make<Launcher, Embedding>},
      {"embedding_backward", make<Launcher, EmbeddingBackward>},
      {"embedding_bag", make<Launcher, EmbeddingBag>},
      {"embedding_bag_backward", make<Launcher, EmbeddingBagBackward>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
