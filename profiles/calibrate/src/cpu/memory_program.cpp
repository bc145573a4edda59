// Ops that memory bounds, on the cores of a CPU.

#include "../memory_site.hpp"
#include "cpu_program.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace emplace::calibrate {
namespace {

using StreamSpan = std::span<const Stream>;

void copy_bytes(char* to, const char* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void xor_bytes(char* to, const char* from, std::int64_t bytes) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < bytes; ++i) {
    to[i] = static_cast<char>(to[i] ^ from[i]);
  }
}

// Adds words of 4 bytes; what is missing of the last one counts as zeros.
void add_words(char* to, const char* from, std::int64_t bytes) {
  const auto add = [=](std::int64_t at, std::size_t size) {
    std::uint32_t sum = 0;
    std::uint32_t term = 0;
    std::memcpy(&sum, to + at, sizeof(sum));
    std::memcpy(&term, from + at, size);
    sum += term;
    std::memcpy(to + at, &sum, sizeof(sum));
  };
  const std::int64_t whole = bytes / 4 * 4;
#pragma GCC ivdep
  for (std::int64_t at = 0; at < whole; at += 4) {
    add(at, 4);
  }
  if (whole < bytes) {
    add(whole, static_cast<std::size_t>(bytes - whole));
  }
}

// XORs all words of 16 bytes with the XOR of them all.
void fold_words(std::span<std::uint64_t> halves) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (std::size_t i = 0; i < halves.size(); i += 2) {
    first ^= halves[i];
    second ^= halves[i + 1];
  }
  for (std::size_t i = 0; i < halves.size(); i += 2) {
    halves[i] ^= first;
    halves[i + 1] ^= second;
  }
}

class CpuMemoryProgram final : public CpuProgram {
 public:
  explicit CpuMemoryProgram(const MemorySite& site) : site_(site) {}

  std::string_view library() const override { return "generic"; }

  void run(const CoreTeam& team, const OpBuffers& buffers) override {
    const Streams streams = bound(site_, buffers);
    const auto all = std::span(streams.all).first(streams.count);
    const StreamSpan reads = all.first(streams.num_read);
    const StreamSpan writes = all.subspan(streams.num_read);
    switch (site_.pattern) {
      case AccessPattern::kMap:
      case AccessPattern::kRows:
        for (std::int64_t pass = 1; pass < site_.passes; ++pass) {
          walk(team, reads, {});
        }
        return walk(team, reads, writes);
      case AccessPattern::kGather:
        return gather(team, reads[0], writes);
      case AccessPattern::kScatter:
        walk(team, {}, writes);  // zeros
        return scatter(team, reads, writes[0]);
    }
  }

 private:
  void walk(const CoreTeam& team, StreamSpan reads, StreamSpan writes) const {
    std::int32_t longest = 0;
    for (const StreamSpan streams : {reads, writes}) {
      for (const Stream& stream : streams) {
        longest = std::max(longest, stream.part_bytes);
      }
    }
    team.share(site_.parts, [&](std::int64_t part) {
      alignas(64) std::array<std::uint64_t, kPartBytes / 8> buffer;
      const auto halves = std::span(buffer).first(static_cast<std::size_t>(longest + 7) / 8);
      std::ranges::fill(halves, 0);
      char* const bytes = reinterpret_cast<char*>(halves.data());
      for (const Stream& read : reads) {
        xor_bytes(bytes, read.begin_of(part), read.bytes_of(part));
      }
      if (site_.pattern == AccessPattern::kRows) {
        fold_words(halves);
      }
      for (const Stream& write : writes) {
        copy_bytes(write.begin_of(part), bytes, write.bytes_of(part));
      }
    });
  }

  // Calls body(row, begin, bytes) for the rows of a part of a stream.
  template <class Body>
  void for_rows(const Stream& stream, std::int64_t part, const Body& body) const {
    const std::int64_t bytes = stream.bytes_of(part);
    std::int64_t row = part * (stream.part_bytes / site_.row_bytes);
    for (std::int64_t at = 0; at < bytes; at += site_.row_bytes) {
      body(row++, stream.begin_of(part) + at, std::min(site_.row_bytes, bytes - at));
    }
  }

  void gather(const CoreTeam& team, const Stream& table, StreamSpan writes) const {
    const std::int64_t rows = table.bytes / site_.row_bytes;
    team.share(site_.parts, [&](std::int64_t part) {
      for (const Stream& write : writes) {
        for_rows(write, part, [&](std::int64_t row, char* to, std::int64_t bytes) {
          std::fill_n(to, bytes, char{});
          for (std::int64_t i = 0; i < site_.lookups && rows > 0; ++i) {
            const std::int64_t place = row_at(row * site_.lookups + i, rows);
            xor_bytes(to, table.data + place * site_.row_bytes, bytes);
          }
        });
      }
    });
  }

  // Each core adds to rows of its own, so that no two add to one at the same time.
  void scatter(const CoreTeam& team, StreamSpan reads, const Stream& write) const {
    const std::int64_t rows = write.bytes / site_.row_bytes;
    team.share(team.cores(), [&](std::int64_t core) {
      const std::int64_t begin = rows * core / team.cores();
      const std::int64_t end = rows * (core + 1) / team.cores();
      for (const Stream& read : reads) {
        for (std::int64_t part = 0; part < site_.parts; ++part) {
          for_rows(read, part, [&](std::int64_t row, const char* from, std::int64_t bytes) {
            const std::int64_t place = row_at(row, rows);
            if (begin <= place && place < end) {
              add_words(write.data + place * site_.row_bytes, from, bytes);
            }
          });
        }
      }
    });
  }

  MemorySite site_;
};

}  // namespace

std::unique_ptr<CpuProgram> compile_memory_for_cpu(const OpSite& site) {
  const auto found = memory_site(site);
  return found ? std::make_unique<CpuMemoryProgram>(*found) : nullptr;
}

}  // namespace emplace::calibrate
