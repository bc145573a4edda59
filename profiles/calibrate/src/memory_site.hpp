#pragma once

// What ops that no library runs do to memory. Whatever they compute, they access it in one of four
// patterns, and memory is what bounds them. So one program for each pattern runs all of them: it
// combines words by XOR or adds them, and the results mean nothing.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/op_site.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace emplace::calibrate {

/// How an op accesses memory.
enum class AccessPattern : std::uint8_t {
  kMap,      ///< reads and writes all tensors once, in order
  kRows,     ///< the same, but a row is written once all of it was read and reduced
  kGather,   ///< copies rows of a table, its first input, from pseudo-random places
  kScatter,  ///< adds rows to zeros at pseudo-random places
};

/// Returns the pattern of ops of `kind`; none for products, convolutions, recurrent cells,
/// attention and unknown kinds, which memory does not bound, and for kinds that do not launch.
std::optional<AccessPattern> access_pattern_of(std::string_view kind);

/// The most bytes of one tensor in one part of the work: they fit the registers of a block of a GPU
/// and the nearest cache of a core.
inline constexpr std::int64_t kPartBytes = 16384;

/// The most tensors that a program reads and writes: the addresses of more do not fit the arguments
/// of a kernel.
inline constexpr std::size_t kMaxStreams = 128;

/// A tensor cut in parts of one size. Its end is within a part, and the parts after that are empty.
struct Stream {
  std::uint32_t tensor = 0;  ///< which of an op's inputs, outputs and state, in this order
  std::int32_t part_bytes = 0;
  std::int64_t bytes = 0;
  char* data = nullptr;

  /// Returns where a part begins.
  constexpr char* begin_of(std::int64_t part) const { return data + part * part_bytes; }

  /// Returns how many bytes it has.
  constexpr std::int64_t bytes_of(std::int64_t part) const {
    const std::int64_t rest = bytes - part * part_bytes;
    return rest < 0 ? 0 : rest < part_bytes ? rest : part_bytes;
  }
};

/// Streams that are read, then those that are written.
struct Streams {
  std::array<Stream, kMaxStreams> all{};
  std::size_t num_read = 0;
  std::size_t count = 0;
};

/// How a site accesses memory.
///
/// Byte i of a part of what a map writes is the XOR of bytes i of that part of all that is read, as
/// far as they have one. In rows, each word of 16 bytes of that has the XOR of all these words on
/// top; a part is a row, cut where it is long, or some short ones.
///
/// Row r of what a gather writes is the XOR of rows row_at(l) of the first input for `lookups`
/// numbers l from r * lookups on. Row r of each input of a scatter is added, in words of 4 bytes,
/// to row row_at(r) of the first output.
struct MemorySite {
  AccessPattern pattern = AccessPattern::kMap;
  std::int64_t parts = 1;
  std::int64_t passes = 1;     ///< over what is read; only the last one writes
  std::int64_t row_bytes = 4;  ///< of gather and scatter: a multiple of 4, at most kPartBytes
  std::int64_t lookups = 1;    ///< of gather
  Streams streams{};           ///< without addresses
};

/// Returns how the op of a site accesses memory; none if its kind has no pattern, or it has too
/// many tensors.
std::optional<MemorySite> memory_site(const OpSite& site);

/// Returns the streams of a site with the addresses of their tensors.
Streams bound(const MemorySite& site, const OpBuffers& buffers);

/// Returns a pseudo-random number below `rows` for number `i`, by an integer hash (Mueller 2012).
constexpr std::int64_t row_at(std::int64_t i, std::int64_t rows) {
  auto hash = static_cast<std::uint32_t>(i);
  hash = ((hash >> 16U) ^ hash) * 0x45d9f3bU;
  hash = ((hash >> 16U) ^ hash) * 0x45d9f3bU;
  hash = (hash >> 16U) ^ hash;
  return static_cast<std::int64_t>((std::uint64_t{hash} * static_cast<std::uint64_t>(rows)) >> 32U);
}

}  // namespace emplace::calibrate
