#pragma once

// Mixtures of experts: choosing experts, sending tokens to them and back, balancing.

#include "skeleton.hpp"

#include <span>

namespace emplace::calibrate::kernels {

/// Chooses the k most probable experts of each token, the first of equals.
template <class T>
struct TopK {
  std::int64_t tokens;
  std::int64_t experts;
  std::int64_t k;

  explicit TopK(SiteReader& site)
      : tokens(site.dimension(0)), experts(site.dimension(1)), k(site.dimension(2)) {
    site.expect(k <= experts);
    site.expect_input<T>(0, tokens * experts);
    site.expect_output<T>(0, tokens * k);
    site.expect_output(1, DataType::kInt32, tokens * k);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* probabilities = input<T>(buffers, 0);
    T* weights = output<T>(buffers, 0);
    std::int32_t* chosen = output<std::int32_t>(buffers, 1);
    launcher.map(tokens, [=, *this] EMPLACE_BODY(std::int64_t token) {
      const T* of_token = probabilities + token * experts;
      std::int64_t last = -1;
      for (std::int64_t place = 0; place < k; ++place) {
        std::int64_t best = -1;
        for (std::int64_t expert = 0; expert < experts; ++expert) {
          const float p = float(of_token[expert]);
          const bool is_left = last < 0 || p < float(of_token[last]) ||
                               (p == float(of_token[last]) && expert > last);
          if (is_left && (best < 0 || p > float(of_token[best]))) {
            best = expert;
          }
        }
        last = best < 0 ? 0 : best;  // none is left where probabilities are NaN
        weights[token * k + place] = of_token[last];
        chosen[token * k + place] = static_cast<std::int32_t>(last);
      }
    });
  }
};

/// Reads the weights' gradients and the choice.
template <class T>
struct TopKBackward {
  std::int64_t tokens;
  std::int64_t experts;
  std::int64_t k;
  bool has_wide_ids;

  explicit TopKBackward(SiteReader& site)
      : tokens(site.dimension(0)),
        experts(site.dimension(1)),
        k(site.dimension(2)),
        has_wide_ids(site.expect_ids(1, tokens * k)) {
    site.expect_input<T>(0, tokens * k);
    site.expect_output<T>(0, tokens * experts);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dweights = input<T>(buffers, 0);
    const Ids chosen{input<void>(buffers, 1), has_wide_ids, experts};
    T* dx = output<T>(buffers, 0);
    launcher.map(tokens, experts, [=, *this] EMPLACE_BODY(std::int64_t token, std::int64_t expert) {
      float sum = 0;
      for (std::int64_t i = token * k; i < (token + 1) * k; ++i) {
        sum += chosen[i] == expert ? float(dweights[i]) : 0;
      }
      dx[token * experts + expert] = T(sum);
    });
  }
};

/// Finds the place of each token among those of each of its experts, in the order of tokens; who
/// finds no place within the capacity is dropped.
struct Places {
  static constexpr std::int64_t kBlock = 128;

  std::int64_t tokens;
  std::int64_t width;
  std::int64_t k;
  std::int64_t experts;
  std::int64_t capacity;

  explicit Places(SiteReader& site)
      : tokens(site.dimension(0)),
        width(site.dimension(1)),
        k(site.dimension(2)),
        experts(site.dimension(3)),
        capacity(site.dimension(4)) {}

  std::int64_t slots() const { return tokens * k; }
  std::int64_t blocks() const { return (slots() + kBlock - 1) / kBlock; }
  std::int64_t place_bytes() const { return aligned(slots() * std::int64_t{sizeof(std::int32_t)}); }
  std::int64_t count_bytes() const {
    return aligned(blocks() * experts * std::int64_t{sizeof(std::int32_t)});
  }
  std::int64_t bytes() const { return place_bytes() + count_bytes(); }

  // Counts each expert's tokens in each block of slots, sums the blocks before, then counts within
  // the block.
  template <class Launcher>
  const std::int32_t* find(Launcher& launcher, const OpBuffers& buffers, const Ids& chosen) const {
    std::int32_t* places = workspace<std::int32_t>(buffers);
    std::int32_t* counts = workspace<std::int32_t>(buffers, place_bytes());
    const std::int64_t all = slots();
    const std::int64_t num_blocks = blocks();
    launcher.map(num_blocks, experts,
                 [=, *this] EMPLACE_BODY(std::int64_t block, std::int64_t expert) {
                   const std::int64_t end = (block + 1) * kBlock < all ? (block + 1) * kBlock : all;
                   std::int32_t count = 0;
                   for (std::int64_t slot = block * kBlock; slot < end; ++slot) {
                     count += chosen[slot] == expert ? 1 : 0;
                   }
                   counts[block * experts + expert] = count;
                 });
    launcher.map(experts, [=, *this] EMPLACE_BODY(std::int64_t expert) {
      std::int32_t before = 0;
      for (std::int64_t block = 0; block < num_blocks; ++block) {
        const std::int32_t count = counts[block * experts + expert];
        counts[block * experts + expert] = before;
        before += count;
      }
    });
    launcher.map(all, [=, *this] EMPLACE_BODY(std::int64_t slot) {
      const std::int64_t block = slot / kBlock;
      const std::int64_t expert = chosen[slot];
      std::int32_t place = counts[block * experts + expert];
      for (std::int64_t other = block * kBlock; other < slot; ++other) {
        place += chosen[other] == expert ? 1 : 0;
      }
      places[slot] = place < capacity ? place : -1;
    });
    return places;
  }
};

/// Holds where each expert's tensor lies.
template <class T>
struct PerExpert {
  static constexpr std::int64_t kMost = 256;

  T* at[kMost];
};

/// Writes rows to experts: each row that a token takes is made by a function of slot and column,
/// the others are zeros.
struct Dispatching : Places {
  explicit Dispatching(SiteReader& site) : Places(site) {
    site.expect(experts <= PerExpert<void>::kMost);
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return bytes() + experts * capacity * std::int64_t{sizeof(std::int32_t)};
  }

  template <class T>
  static PerExpert<T> outputs_of(const OpBuffers& buffers, std::int64_t count) {
    PerExpert<T> result{};
    for (std::int64_t expert = 0; expert < count; ++expert) {
      result.at[expert] = output<T>(buffers, expert);
    }
    return result;
  }

  template <class T>
  static PerExpert<const T> inputs_of(const OpBuffers& buffers, std::int64_t first,
                                      std::int64_t count) {
    PerExpert<const T> result{};
    for (std::int64_t expert = 0; expert < count; ++expert) {
      result.at[expert] = input<T>(buffers, first + expert);
    }
    return result;
  }

  // Returns for each row of each expert the slot that takes it, or -1.
  template <class Launcher>
  const std::int32_t* find_slots(Launcher& launcher, const OpBuffers& buffers,
                                 const Ids& chosen) const {
    const std::int32_t* places = find(launcher, buffers, chosen);
    std::int32_t* slot_of = workspace<std::int32_t>(buffers, bytes());
    launcher.map(experts * capacity, [=] EMPLACE_BODY(std::int64_t row) { slot_of[row] = -1; });
    launcher.map(slots(), [=, *this] EMPLACE_BODY(std::int64_t slot) {
      if (places[slot] >= 0) {
        slot_of[chosen[slot] * capacity + places[slot]] = static_cast<std::int32_t>(slot);
      }
    });
    return slot_of;
  }
};

/// Reads tokens and their experts.
template <class T>
struct MoeDispatch : Dispatching {
  bool has_wide_ids;

  explicit MoeDispatch(SiteReader& site)
      : Dispatching(site), has_wide_ids(site.expect_ids(1, slots())) {
    site.expect_input<T>(0, tokens * width);
    for (std::int64_t expert = 0; site.fits() && expert < experts; ++expert) {
      site.expect_output<T>(expert, capacity * width);
    }
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const Ids chosen{input<void>(buffers, 1), has_wide_ids, experts};
    const std::int32_t* slot_of = find_slots(launcher, buffers, chosen);
    const PerExpert<T> parts = outputs_of<T>(buffers, experts);
    const T* x = input<T>(buffers, 0);
    launcher.map(experts * capacity, width,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
                   const std::int32_t slot = slot_of[row];
                   parts.at[row / capacity][row % capacity * width + column] =
                       slot >= 0 ? x[slot / k * width + column] : T(0.0F);
                 });
  }
};

/// Reads the gradients of all parts, and the experts.
template <class T>
struct MoeDispatchBackward : Dispatching {
  bool has_wide_ids;

  explicit MoeDispatchBackward(SiteReader& site)
      : Dispatching(site), has_wide_ids(site.expect_ids(experts, slots())) {
    for (std::int64_t expert = 0; site.fits() && expert < experts; ++expert) {
      site.expect_input<T>(expert, capacity * width);
    }
    site.expect_output<T>(0, tokens * width);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const Ids chosen{input<void>(buffers, experts), has_wide_ids, experts};
    const std::int32_t* places = find(launcher, buffers, chosen);
    const PerExpert<const T> parts = inputs_of<T>(buffers, 0, experts);
    T* dx = output<T>(buffers, 0);
    launcher.map(tokens, width, [=, *this] EMPLACE_BODY(std::int64_t token, std::int64_t column) {
      float sum = 0;
      for (std::int64_t slot = token * k; slot < (token + 1) * k; ++slot) {
        if (places[slot] >= 0) {
          sum += float(parts.at[chosen[slot]][places[slot] * width + column]);
        }
      }
      dx[token * width + column] = T(sum);
    });
  }
};

/// Reads the experts' results, the weights and the experts.
template <class T>
struct MoeCombine : Dispatching {
  bool has_wide_ids;

  explicit MoeCombine(SiteReader& site)
      : Dispatching(site), has_wide_ids(site.expect_ids(experts + 1, slots())) {
    for (std::int64_t expert = 0; site.fits() && expert < experts; ++expert) {
      site.expect_input<T>(expert, capacity * width);
    }
    site.expect_input<T>(experts, slots());
    site.expect_output<T>(0, tokens * width);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const Ids chosen{input<void>(buffers, experts + 1), has_wide_ids, experts};
    const std::int32_t* places = find(launcher, buffers, chosen);
    const PerExpert<const T> results = inputs_of<T>(buffers, 0, experts);
    const T* weights = input<T>(buffers, experts);
    T* y = output<T>(buffers, 0);
    launcher.map(tokens, width, [=, *this] EMPLACE_BODY(std::int64_t token, std::int64_t column) {
      float sum = 0;
      for (std::int64_t slot = token * k; slot < (token + 1) * k; ++slot) {
        if (places[slot] >= 0) {
          sum +=
              float(weights[slot]) * float(results.at[chosen[slot]][places[slot] * width + column]);
        }
      }
      y[token * width + column] = T(sum);
    });
  }
};

/// Reads the result's gradient and all that moe_combine read; makes the gradients of the experts'
/// results and of the weights.
template <class T>
struct MoeCombineBackward : Dispatching {
  bool has_wide_ids;

  explicit MoeCombineBackward(SiteReader& site)
      : Dispatching(site), has_wide_ids(site.expect_ids(experts + 2, slots())) {
    site.expect_input<T>(0, tokens * width);
    for (std::int64_t expert = 0; site.fits() && expert < experts; ++expert) {
      site.expect_input<T>(1 + expert, capacity * width);
      site.expect_output<T>(expert, capacity * width);
    }
    site.expect_input<T>(experts + 1, slots());
    site.expect_output<T>(experts, slots());
  }

  std::int64_t slot_bytes() const {
    return aligned(bytes() + experts * capacity * std::int64_t{sizeof(std::int32_t)});
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return slot_bytes() + Launcher::template reduce_bytes<Total>(slots(), width);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const Ids chosen{input<void>(buffers, experts + 2), has_wide_ids, experts};
    const std::int32_t* slot_of = find_slots(launcher, buffers, chosen);
    const std::int32_t* places = workspace<std::int32_t>(buffers);
    const T* dy = input<T>(buffers, 0);
    const PerExpert<const T> results = inputs_of<T>(buffers, 1, experts);
    const T* weights = input<T>(buffers, experts + 1);
    const PerExpert<T> dresults = outputs_of<T>(buffers, experts);
    T* dweights = output<T>(buffers, experts);
    launcher.map(
        experts * capacity, width, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          const std::int32_t slot = slot_of[row];
          dresults.at[row / capacity][row % capacity * width + column] =
              slot >= 0 ? T(float(weights[slot]) * float(dy[slot / k * width + column])) : T(0.0F);
        });
    launcher.template reduce<Total>(
        slots(), 1, width,
        [=, *this] EMPLACE_BODY(std::int64_t slot, std::int64_t, std::int64_t column) {
          return places[slot] < 0
                     ? Total{}
                     : Total{float(dy[slot / k * width + column]) *
                             float(results.at[chosen[slot]][places[slot] * width + column])};
        },
        [=] EMPLACE_BODY(std::int64_t slot, const Total& sum) { dweights[slot] = T(sum.value); },
        workspace<void>(buffers, slot_bytes()));
  }
};

/// Takes experts times the sum over experts of the share of the choices that fall on one times its
/// mean probability: 1 where both are even.
template <class T>
struct BalanceLoss {
  std::int64_t tokens;
  std::int64_t experts;
  std::int64_t k;
  bool has_wide_ids;

  explicit BalanceLoss(SiteReader& site)
      : tokens(site.dimension(0)),
        experts(site.dimension(1)),
        k(site.input_elements(1) / tokens),
        has_wide_ids(site.expect_ids(1, tokens * k)) {
    site.expect_input<T>(0, tokens * experts);
    site.expect_output<float>(0, 1);
  }

  std::int64_t term_bytes() const { return aligned(experts * std::int64_t{sizeof(float)}); }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return term_bytes() + std::max(Launcher::template reduce_columns_bytes<Pair>(tokens, experts),
                                   Launcher::template reduce_bytes<Total>(1, experts));
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* probabilities = input<T>(buffers, 0);
    const Ids chosen{input<void>(buffers, 1), has_wide_ids, experts};
    float* loss = output<float>(buffers, 0);
    float* terms = workspace<float>(buffers);
    launcher.template reduce_columns<Pair>(
        tokens, experts,
        [=, *this] EMPLACE_BODY(std::int64_t token, std::int64_t expert) {
          float hits = 0;
          for (std::int64_t i = token * k; i < (token + 1) * k; ++i) {
            hits += chosen[i] == expert ? 1.0F : 0.0F;
          }
          return Pair{float(probabilities[token * experts + expert]), hits};
        },
        [=, *this] EMPLACE_BODY(std::int64_t expert, const Pair& sum) {
          terms[expert] = sum.first / float(tokens) * (sum.second / float(tokens * k));
        },
        workspace<void>(buffers, term_bytes()));
    launcher.template reduce<Total>(
        1, 1, experts,
        [=] EMPLACE_BODY(std::int64_t, std::int64_t, std::int64_t i) { return Total{terms[i]}; },
        [=, *this] EMPLACE_BODY(std::int64_t, const Total& sum) {
          loss[0] = sum.value * float(experts);
        },
        workspace<void>(buffers, term_bytes()));
  }
};

/// Reads the choices: every probability's gradient is its expert's share of them, scaled.
template <class T>
struct BalanceLossBackward {
  std::int64_t tokens;
  std::int64_t experts;
  std::int64_t choices;
  bool has_wide_ids;

  explicit BalanceLossBackward(SiteReader& site)
      : tokens(site.dimension(0)),
        experts(site.dimension(1)),
        choices(site.input_elements(0)),
        has_wide_ids(site.expect_ids(0, choices)) {
    site.expect_output<T>(0, tokens * experts);
  }

  std::int64_t share_bytes() const { return aligned(experts * std::int64_t{sizeof(float)}); }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return share_bytes() + Launcher::template reduce_bytes<Total>(experts, choices);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const Ids chosen{input<void>(buffers, 0), has_wide_ids, experts};
    T* dx = output<T>(buffers, 0);
    float* shares = workspace<float>(buffers);
    launcher.template reduce<Total>(
        experts, 1, choices,
        [=] EMPLACE_BODY(std::int64_t expert, std::int64_t, std::int64_t i) {
          return Total{chosen[i] == expert ? 1.0F : 0.0F};
        },
        [=, *this] EMPLACE_BODY(std::int64_t expert, const Total& sum) {
          shares[expert] = sum.value / float(choices) * float(experts) / float(tokens);
        },
        workspace<void>(buffers, share_bytes()));
    launcher.map(tokens, experts, [=, *this] EMPLACE_BODY(std::int64_t token, std::int64_t expert) {
      dx[token * experts + expert] = T(shares[expert]);
    });
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> routing_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"balance_loss", make<Launcher, BalanceLoss>},
      {"balance_loss_backward", make<Launcher, BalanceLossBackward>},
      {"moe_combine", make<Launcher, MoeCombine>},
      {"moe_combine_backward", make<Launcher, MoeCombineBackward>},
      {"moe_dispatch", make<Launcher, MoeDispatch>},
      {"moe_dispatch_backward", make<Launcher, MoeDispatchBackward>},
      {"top_k", make<Launcher, TopK>},
      {"top_k_backward", make<Launcher, TopKBackward>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
