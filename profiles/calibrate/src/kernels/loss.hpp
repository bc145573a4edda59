#pragma once

// Softmax and losses, and their gradients. Losses are means; their gradient is that of a step that
// wants them small, so a constant 1.

#include "skeleton.hpp"

#include <cmath>
#include <span>

namespace emplace::calibrate::kernels {

/// Sums up exponentials of numbers, relative to that of the largest.
struct Exponentials {
  float largest = -INFINITY;
  float sum = 0;

  EMPLACE_DEVICE void operator+=(const Exponentials& other) {
    if (other.largest <= largest) {
      sum += other.largest == -INFINITY ? 0 : other.sum * expf(other.largest - largest);
    } else {
      sum = sum * expf(largest - other.largest) + other.sum;
      largest = other.largest;
    }
  }
};

template <class T>
struct Softmax {
  std::int64_t rows;
  std::int64_t columns;

  explicit Softmax(SiteReader& site) : rows(site.dimension(0)), columns(site.dimension(1)) {
    site.expect_input<T>(0, rows * columns);
    site.expect_output<T>(0, rows * columns);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    launcher.template map_rows<Exponentials>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          return Exponentials{float(x[row * columns + column]), 1};
        },
        [=] EMPLACE_BODY(std::int64_t, Exponentials & sum) { sum.sum = 1 / sum.sum; },
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column, const Exponentials& sum) {
          const std::int64_t i = row * columns + column;
          y[i] = T(expf(float(x[i]) - sum.largest) * sum.sum);
        });
  }
};

/// Reads the result's gradient and the result: dx = y (dy - sum of y dy over the row).
template <class T>
struct SoftmaxBackward {
  std::int64_t rows;
  std::int64_t columns;

  explicit SoftmaxBackward(SiteReader& site) : rows(site.dimension(0)), columns(site.dimension(1)) {
    site.expect_input<T>(0, rows * columns);
    site.expect_input<T>(1, rows * columns);
    site.expect_output<T>(0, rows * columns);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const T* y = input<T>(buffers, 1);
    T* dx = output<T>(buffers, 0);
    launcher.template map_rows<Total>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          const std::int64_t i = row * columns + column;
          return Total{float(dy[i]) * float(y[i])};
        },
        [=] EMPLACE_BODY(std::int64_t, Total&) {},
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column, const Total& sum) {
          const std::int64_t i = row * columns + column;
          dx[i] = T(float(y[i]) * (float(dy[i]) - sum.value));
        });
  }
};

/// Makes the loss and the probabilities, from logits and labels.
template <class T>
struct SoftmaxCrossEntropy {
  std::int64_t rows;
  std::int64_t columns;
  bool has_wide_labels;

  explicit SoftmaxCrossEntropy(SiteReader& site)
      : rows(site.dimension(0)),
        columns(site.dimension(1)),
        has_wide_labels(site.expect_ids(1, rows)) {
    site.expect_input<T>(0, rows * columns);
    site.expect_output<float>(0, 1);
    site.expect_output<T>(1, rows * columns);
  }

  std::int64_t loss_bytes() const { return aligned(rows * std::int64_t{sizeof(float)}); }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return loss_bytes() + Launcher::template reduce_bytes<Total>(1, rows);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    const Ids labels{input<void>(buffers, 1), has_wide_labels, columns};
    float* loss = output<float>(buffers, 0);
    T* probabilities = output<T>(buffers, 1);
    float* losses = workspace<float>(buffers);
    launcher.template map_rows<Exponentials>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          return Exponentials{float(x[row * columns + column]), 1};
        },
        [=, *this] EMPLACE_BODY(std::int64_t row, Exponentials & sum) {
          losses[row] = logf(sum.sum) + sum.largest - float(x[row * columns + labels[row]]);
          sum.sum = 1 / sum.sum;
        },
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column, const Exponentials& sum) {
          const std::int64_t i = row * columns + column;
          probabilities[i] = T(expf(float(x[i]) - sum.largest) * sum.sum);
        });
    launcher.template reduce<Total>(
        1, 1, rows,
        [=] EMPLACE_BODY(std::int64_t, std::int64_t, std::int64_t i) { return Total{losses[i]}; },
        [=, *this] EMPLACE_BODY(std::int64_t, const Total& sum) {
          loss[0] = sum.value / float(rows);
        },
        workspace<void>(buffers, loss_bytes()));
  }
};

/// Reads probabilities and labels: dx = (probability - one at the label) / N.
template <class T>
struct SoftmaxCrossEntropyBackward {
  std::int64_t rows;
  std::int64_t columns;
  bool has_wide_labels;

  explicit SoftmaxCrossEntropyBackward(SiteReader& site)
      : rows(site.dimension(0)),
        columns(site.dimension(1)),
        has_wide_labels(site.expect_ids(1, rows)) {
    site.expect_input<T>(0, rows * columns);
    site.expect_output<T>(0, rows * columns);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* probabilities = input<T>(buffers, 0);
    const Ids labels{input<void>(buffers, 1), has_wide_labels, columns};
    T* dx = output<T>(buffers, 0);
    launcher.map(rows, columns, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
      const std::int64_t i = row * columns + column;
      const float hit = labels[row] == column ? 1.0F : 0.0F;
      dx[i] = T((float(probabilities[i]) - hit) / float(rows));
    });
  }
};

struct CrossEntropyOf {
  EMPLACE_DEVICE static float of(float x, float y) {
    return fmaxf(x, 0.0F) - x * y + logf(1 + expf(-fabsf(x)));
  }
};
struct CrossEntropyGradientOf {
  EMPLACE_DEVICE static float of(float x, float y) { return 1 / (1 + expf(-x)) - y; }
};
struct SquaredErrorOf {
  EMPLACE_DEVICE static float of(float x, float y) { return (x - y) * (x - y); }
};
struct SquaredErrorGradientOf {
  EMPLACE_DEVICE static float of(float x, float y) { return 2 * (x - y); }
};

/// Takes the mean of a function of numbers and their targets.
template <class Function>
struct MeanLoss {
  template <class T>
  struct Op {
    std::int64_t elements;

    explicit Op(SiteReader& site) : elements(site.input_elements(0)) {
      site.expect_input<T>(0, elements);
      site.expect_input<T>(1, elements);
      site.expect_output<float>(0, 1);
    }

    template <class Launcher>
    std::int64_t workspace_bytes() const {
      return Launcher::template reduce_bytes<Total>(1, elements);
    }

    template <class Launcher>
    void operator()(Launcher& launcher, const OpBuffers& buffers) const {
      const T* x = input<T>(buffers, 0);
      const T* target = input<T>(buffers, 1);
      float* loss = output<float>(buffers, 0);
      launcher.template reduce<Total>(
          1, 1, elements,
          [=] EMPLACE_BODY(std::int64_t, std::int64_t, std::int64_t i) {
            return Total{Function::of(float(x[i]), float(target[i]))};
          },
          [=, *this] EMPLACE_BODY(std::int64_t, const Total& sum) {
            loss[0] = sum.value / float(elements);
          },
          buffers.workspace);
    }
  };
};

template <class Function>
struct MeanLossBackward {
  template <class T>
  struct Op {
    std::int64_t elements;

    explicit Op(SiteReader& site) : elements(site.output_elements(0)) {
      site.expect_input<T>(0, elements);
      site.expect_input<T>(1, elements);
      site.expect_output<T>(0, elements);
    }

    template <class Launcher>
    void operator()(Launcher& launcher, const OpBuffers& buffers) const {
      const T* x = input<T>(buffers, 0);
      const T* target = input<T>(buffers, 1);
      T* dx = output<T>(buffers, 0);
      const float share = 1 / float(elements);
      launcher.map(elements, [=] EMPLACE_BODY(std::int64_t i) {
        dx[i] = T(Function::of(float(x[i]), float(target[i])) * share);
      });
    }
  };
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> loss_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"mean_squared_error", make<Launcher, MeanLoss<SquaredErrorOf>::template Op>},
      {"mean_squared_error_backward",
       make<Launcher, MeanLossBackward<SquaredErrorGradientOf>::template Op>},
      {"sigmoid_cross_entropy", make<Launcher, MeanLoss<CrossEntropyOf>::template Op>},
      {"sigmoid_cross_entropy_backward",
       make<Launcher, MeanLossBackward<CrossEntropyGradientOf>::template Op>},
      {"softmax", make<Launcher, Softmax>},
      {"softmax_backward", make<Launcher, SoftmaxBackward>},
      {"softmax_cross_entropy", make<Launcher, SoftmaxCrossEntropy>},
      {"softmax_cross_entropy_backward", make<Launcher, SoftmaxCrossEntropyBackward>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
