#pragma once

// Ops that treat each number by itself, and their gradients.

#include "skeleton.hpp"

#include <cmath>
#include <span>

namespace emplace::calibrate::kernels {

// What a graph does not know, since it changes no cost: the constant of `scale`. This one also
// makes the op what the gradient of a difference needs, a change of sign, and its own gradient.
inline constexpr float kScale = -1;

EMPLACE_DEVICE inline float logistic(float x) { return 1 / (1 + expf(-x)); }

// The normal distribution of x, and its density.
EMPLACE_DEVICE inline float normal(float x) { return 0.5F * (1 + erff(x * 0.70710678F)); }
EMPLACE_DEVICE inline float normal_density(float x) { return 0.39894228F * expf(-0.5F * x * x); }

struct ReluOf {
  EMPLACE_DEVICE static float of(float x) { return x > 0 ? x : 0; }
};
struct TanhOf {
  EMPLACE_DEVICE static float of(float x) { return tanhf(x); }
};
struct SigmoidOf {
  EMPLACE_DEVICE static float of(float x) { return logistic(x); }
};
struct GeluOf {
  EMPLACE_DEVICE static float of(float x) { return x * normal(x); }
};
struct SiluOf {
  EMPLACE_DEVICE static float of(float x) { return x * logistic(x); }
};
struct ScaleOf {
  EMPLACE_DEVICE static float of(float x) { return kScale * x; }
};
struct SumOf {
  EMPLACE_DEVICE static float of(float a, float b) { return a + b; }
};
struct DifferenceOf {
  EMPLACE_DEVICE static float of(float a, float b) { return a - b; }
};
struct ProductOf {
  EMPLACE_DEVICE static float of(float a, float b) { return a * b; }
};

// Gradients, of the result's gradient and of what the forward op read or made.
struct ReluGradientOf {
  EMPLACE_DEVICE static float of(float dy, float y) { return y > 0 ? dy : 0; }
};
struct TanhGradientOf {
  EMPLACE_DEVICE static float of(float dy, float y) { return dy * (1 - y * y); }
};
struct SigmoidGradientOf {
  EMPLACE_DEVICE static float of(float dy, float y) { return dy * y * (1 - y); }
};
struct GeluGradientOf {
  EMPLACE_DEVICE static float of(float dy, float x) {
    return dy * (normal(x) + x * normal_density(x));
  }
};
struct SiluGradientOf {
  EMPLACE_DEVICE static float of(float dy, float x) {
    const float s = logistic(x);
    return dy * s * (1 + x * (1 - s));
  }
};

/// Applies a function of one number.
template <class Function>
struct Unary {
  template <class T>
  struct Op {
    std::int64_t elements;

    explicit Op(SiteReader& site) : elements(site.output_elements(0)) {
      site.expect_input<T>(0, elements);
      site.expect_output<T>(0, elements);
    }

    template <class Launcher>
    void operator()(Launcher& launcher, const OpBuffers& buffers) const {
      const T* x = input<T>(buffers, 0);
      T* y = output<T>(buffers, 0);
      launcher.map(elements,
                   [=] EMPLACE_BODY(std::int64_t i) { y[i] = T(Function::of(float(x[i]))); });
    }
  };
};

/// Applies a function of two numbers.
template <class Function>
struct Binary {
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
      const T* a = input<T>(buffers, 0);
      const T* b = input<T>(buffers, 1);
      T* y = output<T>(buffers, 0);
      launcher.map(elements, [=] EMPLACE_BODY(std::int64_t i) {
        y[i] = T(Function::of(float(a[i]), float(b[i])));
      });
    }
  };
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> elementwise_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"add", make<Launcher, Binary<SumOf>::template Op>},
      {"gelu", make<Launcher, Unary<GeluOf>::template Op>},
      {"gelu_backward", make<Launcher, Binary<GeluGradientOf>::template Op>},
      {"multiply", make<Launcher, Binary<ProductOf>::template Op>},
      {"relu", make<Launcher, Unary<ReluOf>::template Op>},
      {"relu_backward", make<Launcher, Binary<ReluGradientOf>::template Op>},
      {"scale", make<Launcher, Unary<ScaleOf>::template Op>},
      {"sigmoid", make<Launcher, Unary<SigmoidOf>::template Op>},
      {"sigmoid_backward", make<Launcher, Binary<SigmoidGradientOf>::template Op>},
      {"silu", make<Launcher, Unary<SiluOf>::template Op>},
      {"silu_backward", make<Launcher, Binary<SiluGradientOf>::template Op>},
      {"subtract", make<Launcher, Binary<DifferenceOf>::template Op>},
      {"tanh", make<Launcher, Unary<TanhOf>::template Op>},
      {"tanh_backward", make<Launcher, Binary<TanhGradientOf>::template Op>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
