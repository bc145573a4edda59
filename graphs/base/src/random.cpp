#include <emplace/base/check.hpp>
#include <emplace/base/elementary.hpp>
#include <emplace/base/random.hpp>

#include <bit>
#include <cmath>

namespace emplace {
namespace {

__extension__ using Wide = unsigned __int128;

// The output function of SplitMix64 (Steele, Lea, Flood 2014; constants of Stafford's variant 13).
std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

}  // namespace

std::uint64_t stable_hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325U ^ mix(seed);
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  }
  return mix(hash);
}

RandomStream::RandomStream(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15U;
    word = mix(seed);
  }
}

std::uint64_t RandomStream::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// Lemire, "Fast Random Integer Generation in an Interval", 2019: the high word of bits * bound is
// in range, and refusing the few low words below 2^64 mod bound makes every value equally frequent.
std::uint64_t RandomStream::below(std::uint64_t bound) {
  EMPLACE_DCHECK(bound > 0, "no integer lies below 0");
  Wide product = Wide{next()} * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t refused = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < refused) {
      product = Wide{next()} * bound;
    }
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

double RandomStream::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

std::pair<double, double> RandomStream::normal_pair() {
  double x = 0;
  double y = 0;
  double square = 0;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * log_of(square) / square);
  return {x * factor, y * factor};
}

}  // namespace emplace
