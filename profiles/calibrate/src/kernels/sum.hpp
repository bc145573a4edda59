#pragma once

// Sums of tensors, biases, copies, and their gradients, which are sums, too.

#include "skeleton.hpp"

#include <span>

namespace emplace::calibrate::kernels {

/// Adds up tensors, eight at a time; from the second time on, the sum so far is one of them.
template <class T>
struct AddN {
  static constexpr std::int64_t kTerms = 8;

  template <int terms>
  struct Terms {
    const T* at[terms];
  };

  std::int64_t terms;
  std::int64_t elements;

  explicit AddN(SiteReader& site) : terms(site.num_inputs()), elements(site.output_elements(0)) {
    site.expect(terms >= 1);
    for (std::int64_t i = 0; i < terms; ++i) {
      site.expect_input<T>(i, elements);
    }
    site.expect_output<T>(0, elements);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* chosen[kTerms];
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < terms; ++i) {
      chosen[count++] = input<T>(buffers, i);
      if (count == kTerms || i + 1 == terms) {
        add<kTerms>(launcher, chosen, count, output<T>(buffers, 0));
        chosen[0] = output<T>(buffers, 0);
        count = 1;
      }
    }
  }

  // Adds up the first `count` of `chosen`, by code for just so many.
  template <int most, class Launcher>
  void add(Launcher& launcher, const T* const* chosen, std::int64_t count, T* sum) const {
    if constexpr (most > 1) {
      if (count < most) {
        return add<most - 1>(launcher, chosen, count, sum);
      }
    }
    Terms<most> x;
    std::copy_n(chosen, most, x.at);
    launcher.map(elements, [=] EMPLACE_BODY(std::int64_t i) {
      float total = float(x.at[0][i]);
      for (int term = 1; term < most; ++term) {
        total += float(x.at[term][i]);
      }
      sum[i] = T(total);
    });
  }
};

/// Tells what a bias is added to: [N, C, rest] with a number for each of C.
struct BiasExtents {
  std::int64_t n;
  std::int64_t channels;
  std::int64_t rest;

  explicit BiasExtents(SiteReader& site)
      : n(site.dimension(0)),
        channels(site.dimension(1)),
        rest(site.site().op.shape.size() > 2 ? site.dimension(2) : 1) {}
  std::int64_t elements() const { return n * channels * rest; }
};

template <class T>
struct BiasAdd : BiasExtents {
  explicit BiasAdd(SiteReader& site) : BiasExtents(site) {
    site.expect_input<T>(0, elements());
    site.expect_input<T>(1, channels);
    site.expect_output<T>(0, elements());
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    const T* bias = input<T>(buffers, 1);
    T* y = output<T>(buffers, 0);
    if (rest == 1) {
      launcher.map(n, channels, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
        const std::int64_t i = row * channels + column;
        y[i] = T(float(x[i]) + float(bias[column]));
      });
    } else {
      launcher.map(n * channels, rest,
                   [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
                     const std::int64_t i = row * rest + column;
                     y[i] = T(float(x[i]) + float(bias[row % channels]));
                   });
    }
  }
};

template <class T>
struct BiasAddBackward : BiasExtents {
  explicit BiasAddBackward(SiteReader& site) : BiasExtents(site) {
    site.expect_input<T>(0, elements());
    site.expect_output<T>(0, channels);
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return rest == 1 ? Launcher::template reduce_columns_bytes<Total>(n, channels)
                     : Launcher::template reduce_bytes<Total>(channels, n * rest);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    T* dbias = output<T>(buffers, 0);
    if (rest == 1) {
      launcher.template reduce_columns<Total>(
          n, channels,
          [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
            return Total{float(dy[row * channels + column])};
          },
          [=] EMPLACE_BODY(std::int64_t column, const Total& sum) { dbias[column] = T(sum.value); },
          buffers.workspace);
    } else {
      launcher.template reduce<Total>(
          channels, n, rest,
          [=, *this] EMPLACE_BODY(std::int64_t channel, std::int64_t o, std::int64_t i) {
            return Total{float(dy[(o * channels + channel) * rest + i])};
          },
          [=] EMPLACE_BODY(std::int64_t channel, const Total& sum) {
            dbias[channel] = T(sum.value);
          },
          buffers.workspace);
    }
  }
};

template <class T>
struct Broadcast {
  std::int64_t copies;
  std::int64_t elements;

  explicit Broadcast(SiteReader& site) : copies(site.dimension(0)), elements(site.dimension(1)) {
    site.expect_input<T>(0, elements);
    site.expect_output<T>(0, copies * elements);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    launcher.map(copies, elements, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
      y[row * elements + column] = x[column];
    });
  }
};

template <class T>
struct BroadcastBackward {
  std::int64_t copies;
  std::int64_t elements;

  explicit BroadcastBackward(SiteReader& site)
      : copies(site.dimension(0)), elements(site.dimension(1)) {
    site.expect_input<T>(0, copies * elements);
    site.expect_output<T>(0, elements);
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return Launcher::template reduce_columns_bytes<Total>(copies, elements);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    T* dx = output<T>(buffers, 0);
    launcher.template reduce_columns<Total>(
        copies, elements,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          return Total{float(dy[row * elements + column])};
        },
        [=] EMPLACE_BODY(std::int64_t column, const Total& sum) { dx[column] = T(sum.value); },
        buffers.workspace);
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> sum_kernels() {
  // Losses are added up with weights that a graph does not know, since they change no cost; ours
  // are 1, and so is the gradient of each loss.
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"add_losses", make<Launcher, AddN>},
      {"add_n", make<Launcher, AddN>},
      {"bias_add", make<Launcher, BiasAdd>},
      {"bias_add_backward", make<Launcher, BiasAddBackward>},
      {"broadcast", make<Launcher, Broadcast>},
      {"broadcast_backward", make<Launcher, BroadcastBackward>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
