#pragma once

// The loops of attention (kernels.hpp) for vectors of `kBytes` bytes; see kernel_loops.hpp for what
// may be included here. Lanes are rows of the memory, so that all are in use even for one query.
// tanh(m + q) = 1 - 2 / (1 + e^2m e^2q), with one exponential for each number of the memory and of
// the query.

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

  static constexpr std::size_t kParts = Sums::kParts;

  // Columns at a time. In most networks panels are a power of two apart, so that all numbers of one
  // column fall into the same set of the cache.
  static constexpr std::size_t kColumns = 8;
  static_assert(kLanes % kQueries == 0);

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
    for (std::size_t first = 0; first < a.columns; first += kColumns) {
      const std::size_t count = columns_from(first, a.columns);
      Vector sums[kColumns][kParts] = {};
      for (std::size_t panel = 0; panel < a.panels; ++panel) {
        const Vector* const memory = vectors(a.memory + (panel * a.columns + first) * kLanes);
        const Vector* const weights = vectors(attention_weights + panel * kLanes);
        for (std::size_t c = 0; c < count; ++c) {
          for (std::size_t part = 0; part < kParts; ++part) {
            sums[c][part] += memory[c * kParts + part] * weights[part];
          }
        }
      }
      for (std::size_t c = 0; c < count; ++c) {
        context[(first + c) * kLanes] = Sums::sum_of_lanes(sums[c]);
      }
    }
  }

  static void gradient(const AttentionArguments<Scalar>& a, std::size_t queries,
                       const Scalar* query, const Scalar* attention_weights,
                       const Scalar* d_context, const AttentionGradients<Scalar>& to) {
    const std::size_t lanes = a.panels * kLanes;
    for (std::size_t first = 0; first < queries; first += kQueries) {
      const std::size_t count = queries - first < kQueries ? queries - first : kQueries;
      // Queries of a block are in one panel, in lanes that follow one another.
      const std::size_t at = first / kLanes * kLanes * a.columns + first % kLanes;
      gradient_of_block(a, count, query + at, attention_weights + first * lanes, d_context + at,
                        {to.memory, to.weights, to.query + at, to.scores});
    }
  }

 private:
  // Returns tanh(m + q), given e^2m and e^2q.
  [[gnu::always_inline]] static Vector tanh_of_sum(Vector memory, Scalar query) {
    return Scalar{1} - Scalar{2} / (Scalar{1} + memory * query);
  }

  static std::size_t columns_from(std::size_t first, std::size_t columns) {
    return columns - first < kColumns ? columns - first : kColumns;
  }

  // Sets d loss / d scores of some queries, through the softmax that gave the attention weights.
  static void score_gradient(const AttentionArguments<Scalar>& a, std::size_t queries,
                             const Scalar* attention_weights, const Scalar* d_context,
                             Scalar* d_scores) {
    const std::size_t lanes = a.panels * kLanes;
    Vector means[kQueries][kParts] = {};
    for (std::size_t panel = 0; panel < a.panels; ++panel) {
      const Vector* const memory = vectors(a.memory + panel * kLanes * a.columns);
      for (std::size_t q = 0; q < queries; ++q) {
        const std::size_t at = q * lanes + panel * kLanes;
        Vector sums[kParts] = {};
        for (std::size_t c = 0; c < a.columns; ++c) {
          for (std::size_t part = 0; part < kParts; ++part) {
            sums[part] += memory[c * kParts + part] * d_context[c * kLanes + q];
          }
        }
        for (std::size_t part = 0; part < kParts; ++part) {
          vectors(d_scores + at)[part] = sums[part];
          means[q][part] += sums[part] * vectors(attention_weights + at)[part];
        }
      }
    }
    for (std::size_t q = 0; q < queries; ++q) {
      const Scalar off = Sums::sum_of_lanes(means[q]);
      Vector* const scores = vectors(d_scores + q * lanes);
      for (std::size_t i = 0; i < a.panels * kParts; ++i) {
        scores[i] = vectors(attention_weights + q * lanes)[i] * (scores[i] - off);
      }
    }
  }

  // Adds the gradients of kQueries queries at most. The numbers of a query are kLanes apart, and
  // those of the next query are in the next lane.
  static void gradient_of_block(const AttentionArguments<Scalar>& a, std::size_t queries,
                                const Scalar* query, const Scalar* attention_weights,
                                const Scalar* d_context, const AttentionGradients<Scalar>& to) {
    const std::size_t lanes = a.panels * kLanes;
    score_gradient(a, queries, attention_weights, d_context, to.scores);
    for (std::size_t first = 0; first < a.columns; first += kColumns) {
      const std::size_t count = columns_from(first, a.columns);
      Vector query_sums[kQueries][kColumns][kParts] = {};
      Vector weight_sums[kQueries][kColumns][kParts] = {};
      for (std::size_t panel = 0; panel < a.panels; ++panel) {
        const std::size_t at = (panel * a.columns + first) * kLanes;
        for (std::size_t q = 0; q < queries; ++q) {
          const Vector* const d_scores = vectors(to.scores + q * lanes + panel * kLanes);
          const Vector* const attention = vectors(attention_weights + q * lanes + panel * kLanes);
          for (std::size_t c = 0; c < count; ++c) {
            const std::size_t number = (first + c) * kLanes + q;
            for (std::size_t part = 0; part < kParts; ++part) {
              const std::size_t i = c * kParts + part;
              const Vector y = tanh_of_sum(vectors(a.exponentials + at)[i], query[number]);
              const Vector through = d_scores[part] * a.weights[first + c] * (Scalar{1} - y * y);
              weight_sums[q][c][part] += d_scores[part] * y;
              query_sums[q][c][part] += through;
              vectors(to.memory + at)[i] += through + attention[part] * d_context[number];
            }
          }
        }
      }
      for (std::size_t q = 0; q < queries; ++q) {
        for (std::size_t c = 0; c < count; ++c) {
          to.query[(first + c) * kLanes + q] += Sums::sum_of_lanes(query_sums[q][c]);
          to.weights[first + c] += Sums::sum_of_lanes(weight_sums[q][c]);
        }
      }
    }
  }
};

}  // namespace
}  // namespace emplace::agents::nn
