#pragma once

// The columns of a report's tables. What a figure is called, what it means and how it is rounded is
// said here only; the forms of a report choose columns and lay them out.

#include <emplace/base/check.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/bench/result_tables.hpp>
#include <emplace/bench/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// What tables show of a figure that a row does not have.
inline const std::string kNone = "-";

/// Returns a value of CSV as tables show it.
std::string number_text(const FieldValue& value, std::string_view unit, int decimals);

/// The decimals of a column of text, which is aligned to the left.
inline constexpr int kTextColumn = -1;

/// Describes one figure of the rows of a table.
template <class TableType, class RowType>
struct Column {
  using Table = TableType;
  using Row = RowType;

  std::string_view id{};    ///< its name in CSV, and in JSON where rows have it
  std::string title{};      ///< empty: for programs only
  std::string_view unit{};  ///< in which tables show it: "ms", "s", "GB", "%" or empty
  int decimals = 0;
  int importance = 0;     ///< see TextTable::Column
  std::string meaning{};  ///< for the legend; empty if the title says it
  /// Returns what CSV has of a row, in the unit of `id`; absent if only people read the column.
  FieldValue (*value)(const Table&, const Row&) = nullptr;
  /// Returns what tables show instead of `value`.
  std::function<std::string(const Table&, const Row&)> text{};

  /// Returns the title with the unit.
  std::string heading() const { return title + (unit.empty() ? "" : fmt::format(" [{}]", unit)); }

  /// Returns its line of the legend; empty if it needs none.
  std::string legend() const {
    return meaning.empty() ? "" : fmt::format("{}: {}", title.empty() ? "*" : title, meaning);
  }

  /// Returns what tables show of a row; kNone or nothing for no value.
  std::string text_of(const Table& table, const Row& row) const {
    return text ? text(table, row) : number_text(value(table, row), unit, decimals);
  }
};

using ReportColumn = Column<ReportTable, ReportRow>;
using FamilyColumn = Column<FamilyTable, FamilyRow>;

/// Returns the columns of the tables by graph, in the order of CSV.
std::vector<ReportColumn> report_columns(const Report& report);

/// Returns the columns of a table over graphs.
std::vector<FamilyColumn> family_columns(const Report& report, const FamilyTable& table);

/// Returns whether any row of a table has an interval.
bool any_interval(const ReportTable& table);

/// Returns whether a row has the least step time of its table, or the least mean slowdown.
bool is_best(const ReportTable& table, const ReportRow& row);
bool is_best(const FamilyTable& table, const FamilyRow& row);

/// Returns what else tables show of a row: which repetitions failed, and so on.
std::string notes_of(const ReportTable& table, const ReportRow& row);

/// Returns the columns of these ids, in this order. Requires: they exist.
template <class AnyColumn>
std::vector<AnyColumn> pick(const std::vector<AnyColumn>& columns,
                            std::initializer_list<std::string_view> ids) {
  std::vector<AnyColumn> picked;
  for (const std::string_view id : ids) {
    const auto column = std::ranges::find(columns, id, &AnyColumn::id);
    EMPLACE_CHECK(column != columns.end(), "no column {}", id);
    picked.push_back(*column);
  }
  return picked;
}

/// Returns the columns of which any row of the table has something.
template <class AnyColumn>
std::vector<AnyColumn> with_content(std::vector<AnyColumn> columns,
                                    const typename AnyColumn::Table& table) {
  std::erase_if(columns, [&](const AnyColumn& column) {
    return std::ranges::all_of(table.rows, [&](const auto& row) {
      const std::string text = column.text_of(table, row);
      return text.empty() || (text == kNone && column.decimals != kTextColumn);
    });
  });
  return columns;
}

}  // namespace emplace::bench
