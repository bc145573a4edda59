#pragma once

// Deterministic random numbers: equal on every machine, compiler and thread count
// (docs/concepts/determinism.md). The C++ standard defines its generators exactly, but not its
// distributions, so both are implemented here. Generator: xoshiro256** 1.0 (Blackman, Vigna 2018),
// seeded by SplitMix64. A stream belongs to one thread; independent streams come from `stable_hash`
// of their coordinates.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace emplace {

/// Returns a 64-bit hash of `text` (FNV-1a, then mixed) that never changes between versions.
std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0);

/// Produces a stream of random numbers from a seed.
class RandomStream {
 public:
  /// Starts the stream of `seed`; different seeds give unrelated streams.
  explicit RandomStream(std::uint64_t seed);

  /// The state of a stream.
  using State = std::array<std::uint64_t, 4>;

  /// Continues from the state of another stream. Requires: `state` comes from state(), so that not
  /// all of it is 0.
  explicit RandomStream(const State& state) : state_(state) {}

  /// Returns the state of the stream.
  const State& state() const { return state_; }

  /// Returns 64 random bits.
  std::uint64_t next();

  /// Returns an integer in [0, bound), without bias. Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound);

  /// Returns a number in [0, 1) with 53 random bits.
  double uniform();

  /// Returns two independent samples of the standard normal distribution (Marsaglia's polar
  /// method).
  std::pair<double, double> normal_pair();

  /// Shuffles `values` in place (Fisher-Yates).
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t left = values.size(); left > 1; --left) {
      std::swap(values[left - 1], values[below(left)]);
    }
  }

 private:
  State state_;
};

}  // namespace emplace
