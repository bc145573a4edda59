#pragma once

// Arithmetic on each number of a matrix by itself. The padding rows of the last panel take part,
// since they cost nothing and nothing reads them.

#include <cstddef>

namespace emplace::agents::nn {

/// Sets out[i] = f(in[i]...) for each i below `count`; `out` may be one of the inputs.
template <class Scalar, class Function, class... In>
void map(std::size_t count, Scalar* out, const Function& f, const In*... in) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = f(in[i]...);
  }
}

/// Adds f(in[i]...) to out[i] for each i below `count`.
template <class Scalar, class Function, class... In>
void add_map(std::size_t count, Scalar* out, const Function& f, const In*... in) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] += f(in[i]...);
  }
}

}  // namespace emplace::agents::nn
