#pragma once

// Rows of CSV (RFC 4180). Numbers are the same bits when read back.

#include <emplace/bench/result_tables.hpp>

#include <span>
#include <string>
#include <string_view>

namespace emplace::bench {

/// Appends a line with a field for each column.
void add_csv_row(std::string& csv, std::span<const FieldValue> row);

}  // namespace emplace::bench
