#pragma once

// The loops of attention (kernels.hpp) for vectors of `kBytes` bytes; see kernel_loops.hpp for what
// may be included here. Lanes are rows of the memory, so that all are in use even for one query.
// tanh(m + q) = 1 - 2 / (1 + e^2m e^2q), with one exponential for each number of the memory and of
// the query.

#include "kernels.hpp"
#include "matrix.hpp"
#include "vector_math.hpp"

#include <cstddef>

namespace emplace::agents::nn {
namespace {

template <class Scalar, std::size_t kBytes>
struct AttentionLoops {
  using Math = VectorMath<Scalar, kBytes>;
  using Vector = typename Math::Vector;

  static constexpr std::size_t kWidth = kBytes / sizeof(Scalar);
  static constexpr std::size_t kParts = kLanes / kWidth;  // vectors for the 16 rows of a panel

  static const Vector* vectors(const Scalar* numbers) {
    return reinterpret_cast<const Vector*>(numbers);
  }
  static Vector* vectors(Scalar* numbers) { return reinterpret_cast<Vector*>(numbers); }

  static void tanh(std::size_t panels, Scalar* numbers) {
    Vector* const all = vectors(numbers);
    for (std::size_t i = 0; i < panels * kParts; ++i) {
      all[i] = Math::tanh(all[i]);
    }
  }

  static void exp_twice(std::size_t panels, const Scalar* numbers, Scalar* exponentials) {
    for (std::size_t i = 0; i < panels * kParts; ++i) {
      vectors(exponentials)[i] = Math::exp_twice(vectors(numbers)[i]);
    }
  }

  static void scores(const AttentionArguments<Scalar>& a, const Scalar* query, Scalar* scores) {
    for (std::size_t panel = 0; panel < a.panels; ++panel) {
      const Vector* const memory = vectors(a.exponentials + panel * kLanes * a.columns);
      Vector sums[kParts] = {};
      for (std::size_t c = 0; c < a.columns; ++c) {
        const Scalar q = query[c * kLanes];
        const Scalar weight = a.weights[c];
#pragma GCC unroll 8
        for (std::size_t part = 0; part < kParts; ++part) {
          sums[part] += tanh_of_sum(memory[c * kParts + part], q) * weight;
        }
      }
      for (std::size_t part = 0; part < kParts; ++part) {
        vectors(scores + panel * kLanes)[part] = sums[part];
      }
    }
  }

  static void weighted_sum(const AttentionArguments<Scalar>& a, const Scalar* attention_weights,
                           Scalar* context) {
    for (std::size_t c = 0; c < a.columns; ++c) {
      Vector sums[kParts] = {};
      for (std::size_t panel = 0; panel < a.panels; ++panel) {
        const Vector* const memory = vectors(a.memory + (panel * a.columns + c) * kLanes);
        for (std::size_t part = 0; part < kParts; ++part) {
          sums[part] += memory[part] * vectors(attention_weights + panel * kLanes)[part];
        }
      }
      context[c * kLanes] = sum_of_lanes(sums);
    }
  }

  static void gradient(const AttentionArguments<Scalar>& a, const Scalar* query,
                       const Scalar* attention_weights, const Scalar* d_context,
                       const AttentionGradients<Scalar>& to) {
    score_gradient(a, attention_weights, d_context, to.scores);
    for (std::size_t c = 0; c < a.columns; ++c) {
      const Scalar q = query[c * kLanes];
      const Scalar weight = a.weights[c];
      const Scalar mixed = d_context[c * kLanes];
      Vector query_sums[kParts] = {};
      Vector weight_sums[kParts] = {};
      for (std::size_t panel = 0; panel < a.panels; ++panel) {
        const std::size_t at = (panel * a.columns + c) * kLanes;
        for (std::size_t part = 0; part < kParts; ++part) {
          const Vector d = vectors(to.scores + panel * kLanes)[part];
          const Vector y = tanh_of_sum(vectors(a.exponentials + at)[part], q);
          const Vector through = d * weight * (Scalar{1} - y * y);
          weight_sums[part] += d * y;
          query_sums[part] += through;
          vectors(to.memory + at)[part] +=
              through + vectors(attention_weights + panel * kLanes)[part] * mixed;
        }
      }
      to.query[c * kLanes] += sum_of_lanes(query_sums);
      to.weights[c] += sum_of_lanes(weight_sums);
    }
  }

  // Adds up the 16 lanes, each with its neighbour 8, 4, 2 and 1 further.
  static Scalar sum_of_lanes(const Vector (&vectors)[kParts]) {
    Scalar lanes[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = vectors[lane / kWidth][lane % kWidth];
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        lanes[lane] += lanes[lane + half];
      }
    }
    return lanes[0];
  }

 private:
  // Returns tanh(m + q), given e^2m and e^2q.
  [[gnu::always_inline]] static Vector tanh_of_sum(Vector memory, Scalar query) {
    return Scalar{1} - Scalar{2} / (Scalar{1} + memory * query);
  }

  // Sets d loss / d scores, through the softmax that gave the attention weights.
  static void score_gradient(const AttentionArguments<Scalar>& a, const Scalar* attention_weights,
                             const Scalar* d_context, Scalar* d_scores) {
    Vector mean[kParts] = {};
    for (std::size_t panel = 0; panel < a.panels; ++panel) {
      const Vector* const memory = vectors(a.memory + panel * kLanes * a.columns);
      Vector sums[kParts] = {};
      for (std::size_t c = 0; c < a.columns; ++c) {
        for (std::size_t part = 0; part < kParts; ++part) {
          sums[part] += memory[c * kParts + part] * d_context[c * kLanes];
        }
      }
      for (std::size_t part = 0; part < kParts; ++part) {
        vectors(d_scores + panel * kLanes)[part] = sums[part];
        mean[part] += sums[part] * vectors(attention_weights + panel * kLanes)[part];
      }
    }
    const Scalar off = sum_of_lanes(mean);
    for (std::size_t i = 0; i < a.panels * kParts; ++i) {
      vectors(d_scores)[i] = vectors(attention_weights)[i] * (vectors(d_scores)[i] - off);
    }
  }
};

}  // namespace
}  // namespace emplace::agents::nn
