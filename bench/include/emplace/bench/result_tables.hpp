#pragma once

// The results of a run as two tables for other programs: `cells` has one row for each finished
// cell, `histories` one for each improvement that a cell kept; `id` joins them. Both are written as
// CSV (RFC 4180) or into one SQLite database. What a cell does not have is NULL, in CSV an empty
// field.
//
// Rows are made one at a time, so the only memory beyond the run is the text that is written.

#include <emplace/bench/result_store.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace emplace::bench {

/// One field: nothing, a number or a text. The text lives as long as the row is being written.
using FieldValue = std::variant<std::monostate, std::int64_t, double, std::string_view>;

/// Receives one row: a field for each column.
using RowSink = std::function<void(std::span<const FieldValue>)>;

/// Describes one of the tables.
struct ResultTable {
  /// Describes a column.
  struct Column {
    std::string_view name{};
    std::string_view type{};  ///< of SQL: "INTEGER", "REAL" or "TEXT"
  };

  std::string_view name{};
  std::span<const Column> columns{};
  std::string_view key{};  ///< the columns that distinguish rows, as SQL lists them
  /// Makes the rows of a run, in the order of its results.
  void (*write_rows)(const StoredRun& run, const RowSink& sink) = nullptr;
};

/// Returns the fastest cell of each graph and cluster, of those whose placements fit.
std::set<const CellResult*> fastest_cells(const StoredRun& run);

/// Returns the tables: cells, then histories.
std::span<const ResultTable> result_tables();

/// Returns a table as CSV, names of columns first; numbers are read back exactly.
std::string write_csv(const ResultTable& table, const StoredRun& run);

/// Returns the bytes of an SQLite database that holds all tables.
std::string write_sqlite(const StoredRun& run);

}  // namespace emplace::bench
