// The report as CSV: a line for each agent, graph and cluster.

#include "report_columns.hpp"
#include "store/csv_row.hpp"

#include <algorithm>
#include <vector>

namespace emplace::bench {

std::string write_csv(const Report& report) {
  std::vector<ReportColumn> columns = report_columns(report);
  std::erase_if(columns, [](const ReportColumn& column) { return column.value == nullptr; });
  std::vector<FieldValue> fields(columns.size());
  std::ranges::transform(columns, fields.begin(), &ReportColumn::id);
  std::string csv;
  add_csv_row(csv, fields);
  for (const ReportTable& table : report.tables) {
    for (const ReportRow& row : table.rows) {
      std::ranges::transform(columns, fields.begin(),
                             [&](const ReportColumn& column) { return column.value(table, row); });
      add_csv_row(csv, fields);
    }
  }
  return csv;
}

}  // namespace emplace::bench
