#pragma once

// Runs our own ops (kernels/skeleton.hpp) on the cores of a CPU. How work is cut in parts follows
// from sizes alone, never from the number of cores, so that results have the same bits on any.

#include "core_team.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace emplace::calibrate {

/// Runs kernels at once; what it is asked for is done when its members return.
class CpuLauncher {
 public:
  explicit CpuLauncher(const CoreTeam& team) : team_(team) {}

  template <class Body>
  void map(std::int64_t n, Body body) {
    team_.share(parts_of(n, kPart), [&](std::int64_t part) {
      const Body own = body;  // not shared, so that what it captured may stay in registers
      const std::int64_t end = std::min(n, (part + 1) * kPart);
#pragma GCC ivdep
      for (std::int64_t i = part * kPart; i < end; ++i) {
        own(i);
      }
    });
  }

  template <class Body>
  void map(std::int64_t rows, std::int64_t columns, Body body) {
    const std::int64_t rows_of_part = std::max(std::int64_t{1}, kPart / columns);
    const std::int64_t columns_of_part = std::min(columns, kPart);
    const std::int64_t across = parts_of(columns, columns_of_part);
    team_.share(parts_of(rows, rows_of_part) * across, [&](std::int64_t part) {
      const Body own = body;
      const std::int64_t first_row = part / across * rows_of_part;
      const std::int64_t end_row = std::min(rows, first_row + rows_of_part);
      const std::int64_t first = part % across * columns_of_part;
      const std::int64_t end = std::min(columns, first + columns_of_part);
      for (std::int64_t row = first_row; row < end_row; ++row) {
#pragma GCC ivdep
        for (std::int64_t column = first; column < end; ++column) {
          own(row, column);
        }
      }
    });
  }

  template <class Sum>
  static std::int64_t reduce_bytes(std::int64_t segments, std::int64_t length) {
    const std::int64_t pieces = parts_of(length, kPart);
    return pieces > 1 ? segments * pieces * std::int64_t{sizeof(Sum)} : 0;
  }

  template <class Sum, class Term, class Finish>
  void reduce(std::int64_t segments, std::int64_t outer, std::int64_t inner, Term term,
              Finish finish, void* workspace) {
    const std::int64_t length = outer * inner;
    const std::int64_t pieces = parts_of(length, kPart);
    if (pieces == 1) {
      const std::int64_t segments_of_part = std::max(std::int64_t{1}, kPart / length);
      team_.share(parts_of(segments, segments_of_part), [&](std::int64_t part) {
        const std::int64_t end = std::min(segments, (part + 1) * segments_of_part);
        for (std::int64_t segment = part * segments_of_part; segment < end; ++segment) {
          finish(segment, sum_of<Sum>(segment, 0, length, inner, term));
        }
      });
      return;
    }
    Sum* sums = static_cast<Sum*>(workspace);
    team_.share(segments * pieces, [&](std::int64_t part) {
      const std::int64_t begin = part % pieces * kPart;
      sums[part] = sum_of<Sum>(part / pieces, begin, std::min(length, begin + kPart), inner, term);
    });
    for (std::int64_t segment = 0; segment < segments; ++segment) {
      Sum sum{};
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        sum += sums[segment * pieces + piece];
      }
      finish(segment, sum);
    }
  }

  template <class Sum>
  static std::int64_t reduce_columns_bytes(std::int64_t rows, std::int64_t columns) {
    const std::int64_t pieces = parts_of(rows, rows_of_piece(columns));
    return pieces > 1 ? pieces * columns * std::int64_t{sizeof(Sum)} : 0;
  }

  template <class Sum, class Term, class Finish>
  void reduce_columns(std::int64_t rows, std::int64_t columns, Term term, Finish finish,
                      void* workspace) {
    const std::int64_t rows_of_part = rows_of_piece(columns);
    const std::int64_t pieces = parts_of(rows, rows_of_part);
    const std::int64_t across = parts_of(columns, kColumns);
    Sum* sums = static_cast<Sum*>(workspace);
    team_.share(pieces * across, [&](std::int64_t part) {
      const Term own = term;
      const std::int64_t first_row = part / across * rows_of_part;
      const std::int64_t end_row = std::min(rows, first_row + rows_of_part);
      const std::int64_t first = part % across * kColumns;
      const std::int64_t count = std::min(columns - first, kColumns);
      std::array<Sum, kColumns> block{};
      for (std::int64_t row = first_row; row < end_row; ++row) {
        for (std::int64_t i = 0; i < count; ++i) {
          block[static_cast<std::size_t>(i)] += own(row, first + i);
        }
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const Sum& sum = block[static_cast<std::size_t>(i)];
        if (pieces == 1) {
          finish(first + i, sum);
        } else {
          sums[part / across * columns + first + i] = sum;
        }
      }
    });
    if (pieces > 1) {
      map(columns, [=](std::int64_t column) {
        Sum sum{};
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
          sum += sums[piece * columns + column];
        }
        finish(column, sum);
      });
    }
  }

  template <class Sum, class Term, class Finish, class Body>
  void map_rows(std::int64_t rows, std::int64_t columns, Term term, Finish finish, Body body) {
    const std::int64_t rows_of_part = std::max(std::int64_t{1}, kPart / columns);
    team_.share(parts_of(rows, rows_of_part), [&](std::int64_t part) {
      const Body own = body;
      const std::int64_t end = std::min(rows, (part + 1) * rows_of_part);
      const auto in_row = [&](std::int64_t row, std::int64_t, std::int64_t column) {
        return term(row, column);
      };
      for (std::int64_t row = part * rows_of_part; row < end; ++row) {
        Sum sum = sum_of<Sum>(row, 0, columns, columns, in_row);
        finish(row, sum);
        const Sum finished = sum;
#pragma GCC ivdep
        for (std::int64_t column = 0; column < columns; ++column) {
          own(row, column, finished);
        }
      }
    });
  }

  // Each part adds to a range of columns, for all slots in their order, so that no two parts write
  // to one place.
  template <class T, class RowOf, class Value>
  void scatter_add(std::int64_t slots, std::int64_t width, T* table, RowOf row_of, Value value) {
    team_.share(parts_of(width, kScatteredColumns), [&](std::int64_t part) {
      const Value own = value;
      const std::int64_t first = part * kScatteredColumns;
      const std::int64_t end = std::min(width, first + kScatteredColumns);
      for (std::int64_t slot = 0; slot < slots; ++slot) {
        T* row = table + row_of(slot) * width;
#pragma GCC ivdep
        for (std::int64_t column = first; column < end; ++column) {
          row[column] = T(float(row[column]) + own(slot, column));
        }
      }
    });
  }

 private:
  // Elements of one part: some microseconds of work.
  static constexpr std::int64_t kPart = 16384;
  static constexpr std::int64_t kColumns = 64;
  static constexpr std::int64_t kScatteredColumns = 64;
  static constexpr std::int64_t kLanes = 16;

  static constexpr std::int64_t parts_of(std::int64_t n, std::int64_t size) {
    return (n + size - 1) / size;
  }

  // Few columns: many rows, so that a part is worth its start.
  static constexpr std::int64_t rows_of_piece(std::int64_t columns) {
    return std::max(std::int64_t{256}, kPart / columns);
  }

  // Adds up terms begin to end of a segment, in lanes that a processor adds at once.
  template <class Sum, class Term>
  static Sum sum_of(std::int64_t segment, std::int64_t begin, std::int64_t end, std::int64_t inner,
                    const Term& term) {
    const Term own = term;
    std::array<Sum, kLanes> lanes{};
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t o = at / inner;
      std::int64_t i = at % inner;
      const std::int64_t last = std::min(inner, i + end - at);
      at += last - i;
      for (; i + kLanes <= last; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          lanes[static_cast<std::size_t>(lane)] += own(segment, o, i + lane);
        }
      }
      for (; i < last; ++i) {
        lanes[0] += own(segment, o, i);
      }
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        lanes[lane] += lanes[lane + half];
      }
    }
    return lanes[0];
  }

  const CoreTeam& team_;
};

}  // namespace emplace::calibrate
