#pragma once

// The loops of attention (kernels.hpp) for vectors of `kBytes` bytes; see kernel_loops.hpp for what
// may be included here. Lanes are rows of the memory, so that all are in use even for one query.
// tanh(m + q) = 1 - 2 / (1 + e^2m e^2q), with one exponential for each number of the memory and of
// the query. Columns are taken in pairs, for which the registers suffice.

#include "kernels.hpp"
#include "lane_sums.hpp"
#include "matrix.hpp"
#include "vector_math.hpp"

#include <cstddef>

namespace emplace::agents::nn {
namespace {

template <class Scalar, std::size_t kBytes>
struct AttentionLoops {
  using Math = VectorMath<Scalar, kBytes>;
  using Vector = typename Math::Vector;
  using Sums = LaneSums<Scalar, kBytes>;

  static constexpr std::size_t kWidth = Sums::kWidth;
  static constexpr std::size_t kParts = Sums::kParts;

  static const Vector* vectors(const Scalar* numbers) {
    return reinterpret_cast<const Vector*>(numbers);
  }
  static Vector* vectors(Scalar* numbers) { return reinterpret_cast<Vector*>(numbers); }

  // Returns how many vectors hold `count` numbers, and those that fill the last 16.
  static std::size_t vectors_of(std::size_t count) {
    return (count + kLanes - 1) / kLanes * kParts;
  }

  static void tanh(std::size_t count, Scalar* numbers) {
    Vector* const all = vectors(numbers);
    for (std::size_t i = 0; i < vectors_of(count); ++i) {
      all[i] = Math::tanh(all[i]);
    }
  }

  static void exp_twice(std::size_t count, const Scalar* numbers, Scalar* exponentials) {
    for (std::size_t i = 0; i < vectors_of(count); ++i) {
      vectors(exponentials)[i] = Math::exp_twice(vectors(numbers)[i]);
    }
  }

  static void scores(const AttentionArguments<Scalar>& a, const Scalar* query, Scalar* scores) {
    Vector* const sums = vectors(scores);
    const std::size_t height = a.lanes / kWidth;
    for (std::size_t i = 0; i < height; ++i) {
      sums[i] = Vector{};
    }
    in_pairs(a.columns, [&]<std::size_t kCount>(std::size_t first) {
      const Columns<kCount> exponentials(a.exponentials, a.lanes, first);
      const Numbers<kCount> queries(query + first);
      const Numbers<kCount> weights(a.weights + first);
      for (std::size_t i = 0; i < height; ++i) {
        Vector sum = sums[i];
        for (std::size_t c = 0; c < kCount; ++c) {
          sum += tanh_of_sum(exponentials.of[c][i], queries.of[c]) * weights.of[c];
        }
        sums[i] = sum;
      }
    });
  }

  static void weighted_sum(const AttentionArguments<Scalar>& a, const Scalar* attention_weights,
                           Scalar* context) {
    in_pairs(a.columns, [&]<std::size_t kCount>(std::size_t first) {
      const Columns<kCount> memory(a.memory, a.lanes, first);
      const Vector* const weights = vectors(attention_weights);
      Vector sums[kCount][kParts] = {};
      for (std::size_t i = 0; i < a.lanes / kWidth; i += kParts) {
#pragma GCC unroll 8
        for (std::size_t part = 0; part < kParts; ++part) {
#pragma GCC unroll 2
          for (std::size_t c = 0; c < kCount; ++c) {
            sums[c][part] += memory.of[c][i + part] * weights[i + part];
          }
        }
      }
      Scalar added[kCount];
      Sums::sums_of_lanes(sums, added);
      for (std::size_t c = 0; c < kCount; ++c) {
        context[first + c] = added[c];
      }
    });
  }

  static void gradient(const AttentionArguments<Scalar>& a, std::size_t queries,
                       const Scalar* query, const Scalar* attention_weights,
                       const Scalar* d_context, const AttentionGradients<Scalar>& to) {
    for (std::size_t first = 0; first < queries; first += kQueries) {
      const std::size_t count = queries - first < kQueries ? queries - first : kQueries;
      const std::size_t at = first * a.columns;
      gradient_of_block(a, count, query + at, attention_weights + first * a.lanes, d_context + at,
                        {to.memory, to.weights, to.query + at, to.scores});
    }
  }

 private:
  // Columns that follow one another.
  template <std::size_t kCount>
  struct Columns {
    Columns(const Scalar* numbers, std::size_t lanes, std::size_t first) {
      for (std::size_t c = 0; c < kCount; ++c) {
        of[c] = vectors(numbers + (first + c) * lanes);
      }
    }
    const Vector* of[kCount];
  };

  // Numbers that follow one another, in registers while vectors are written.
  template <std::size_t kCount>
  struct Numbers {
    explicit Numbers(const Scalar* numbers) {
      for (std::size_t c = 0; c < kCount; ++c) {
        of[c] = numbers[c];
      }
    }
    Scalar of[kCount];
  };

  // Calls step.template operator()<2>(first) for pairs of columns, and <1> for one that is left.
  template <class Step>
  [[gnu::always_inline]] static void in_pairs(std::size_t columns, const Step& step) {
    std::size_t first = 0;
    for (; first + 2 <= columns; first += 2) {
      step.template operator()<2>(first);
    }
    if (first < columns) {
      step.template operator()<1>(first);
    }
  }

  // Returns tanh(m + q), given e^2m and e^2q.
  [[gnu::always_inline]] static Vector tanh_of_sum(Vector memory, Scalar query) {
    return Scalar{1} - Scalar{2} / (Scalar{1} + memory * query);
  }

  // Sets d loss / d scores of a query, through the softmax that gave the attention weights.
  static void score_gradient(const AttentionArguments<Scalar>& a, const Scalar* attention_weights,
                             const Scalar* d_context, Scalar* d_scores) {
    const std::size_t height = a.lanes / kWidth;
    Vector* const sums = vectors(d_scores);
    for (std::size_t i = 0; i < height; ++i) {
      sums[i] = Vector{};
    }
    in_pairs(a.columns, [&]<std::size_t kCount>(std::size_t first) {
      const Columns<kCount> memory(a.memory, a.lanes, first);
      const Numbers<kCount> d(d_context + first);
      for (std::size_t i = 0; i < height; ++i) {
        Vector sum = sums[i];
        for (std::size_t c = 0; c < kCount; ++c) {
          sum += memory.of[c][i] * d.of[c];
        }
        sums[i] = sum;
      }
    });
    const Vector* const weights = vectors(attention_weights);
    Vector means[kParts] = {};
    for (std::size_t i = 0; i < height; ++i) {
      means[i % kParts] += sums[i] * weights[i];
    }
    const Scalar mean = Sums::sum_of_lanes(means);
    for (std::size_t i = 0; i < height; ++i) {
      sums[i] = weights[i] * (sums[i] - mean);
    }
  }

  // Adds the gradients of kQueries queries at most, for which the caches hold what is read again.
  static void gradient_of_block(const AttentionArguments<Scalar>& a, std::size_t queries,
                                const Scalar* query, const Scalar* attention_weights,
                                const Scalar* d_context, const AttentionGradients<Scalar>& to) {
    for (std::size_t q = 0; q < queries; ++q) {
      score_gradient(a, attention_weights + q * a.lanes, d_context + q * a.columns,
                     to.scores + q * a.lanes);
    }
    in_pairs(a.columns, [&]<std::size_t kCount>(std::size_t first) {
      for (std::size_t q = 0; q < queries; ++q) {
        const std::size_t number = q * a.columns + first;
        add_gradient<kCount>(
            a, first, query + number, attention_weights + q * a.lanes, d_context + number,
            {to.memory, to.weights + first, to.query + number, to.scores + q * a.lanes});
      }
    });
  }

  // Adds the gradients of some columns of one query. All of `to` but the memory begin there.
  template <std::size_t kCount>
  [[gnu::always_inline]] static void add_gradient(const AttentionArguments<Scalar>& a,
                                                  std::size_t first, const Scalar* query,
                                                  const Scalar* attention_weights,
                                                  const Scalar* d_context,
                                                  const AttentionGradients<Scalar>& to) {
    const Columns<kCount> exponentials(a.exponentials, a.lanes, first);
    const Numbers<kCount> queries(query);
    const Numbers<kCount> layer_weights(a.weights + first);
    const Numbers<kCount> d_contexts(d_context);
    const Vector* const d_scores = vectors(static_cast<const Scalar*>(to.scores));
    const Vector* const weights = vectors(attention_weights);
    Vector* const d_memory = vectors(to.memory + first * a.lanes);
    const std::size_t height = a.lanes / kWidth;
    Vector sums[2 * kCount][kParts] = {};  // of the layer's weights, then of the query
    for (std::size_t i = 0; i < height; i += kParts) {
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kParts; ++part) {
        const Vector d_score = d_scores[i + part];
        const Vector weight = weights[i + part];
#pragma GCC unroll 2
        for (std::size_t c = 0; c < kCount; ++c) {
          const Vector y = tanh_of_sum(exponentials.of[c][i + part], queries.of[c]);
          const Vector through = d_score * layer_weights.of[c] * (Scalar{1} - y * y);
          sums[c][part] += d_score * y;
          sums[kCount + c][part] += through;
          d_memory[c * height + i + part] += through + weight * d_contexts.of[c];
        }
      }
    }
    Scalar added[2 * kCount];
    Sums::sums_of_lanes(sums, added);
    for (std::size_t c = 0; c < kCount; ++c) {
      to.weights[c] += added[c];
      to.query[c] += added[kCount + c];
    }
  }
};

}  // namespace
}  // namespace emplace::agents::nn
