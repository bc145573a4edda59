#include "csv_row.hpp"
#include "placement_text.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/result_tables.hpp>
#include <emplace/bench/suite_index.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

namespace emplace::bench {
namespace {

constexpr std::string_view kInteger = "INTEGER";
constexpr std::string_view kReal = "REAL";
constexpr std::string_view kText = "TEXT";

constexpr auto kCellColumns = std::to_array<ResultTable::Column>({
    {"id", kText},
    {"graph", kText},
    {"cluster", kText},
    {"agent", kText},
    {"label", kText},
    {"repetition", kInteger},
    {"max_evaluations", kInteger},
    {"groups", kInteger},
    {"grouping", kText},
    {"root_seed", kInteger},
    {"policy", kText},
    {"training", kText},
    {"learns", kInteger},
    {"status", kText},
    {"message", kText},
    {"step_time_us", kReal},
    {"bound_us", kReal},
    {"peak_bytes", kInteger},
    {"evaluations", kInteger},
    {"evaluations_to_best", kInteger},
    {"evaluations_to_near_best", kInteger},
    {"evaluations_per_episode", kInteger},
    {"problem_groups", kInteger},
    {"decision_groups", kInteger},
    {"placement_hash", kText},
    {"placement", kText},
    {"wall_s", kReal},
    {"is_fastest", kInteger},
});

constexpr auto kHistoryColumns = std::to_array<ResultTable::Column>({
    {"id", kText},
    {"evaluations", kInteger},
    {"seconds", kReal},
    {"objective_us", kReal},
    {"step_time_us", kReal},
    {"bytes_over", kInteger},
});

// A field that is there on a condition.
template <typename T>
FieldValue value_if(bool is_there, const T& value) {
  return is_there ? FieldValue(value) : FieldValue();
}

void write_cells(const StoredRun& run, const RowSink& sink) {
  const SuiteIndex index(run.manifest.suite, run.manifest.root_seed);
  const auto fastest = fastest_cells(run);
  for (const CellResult& result : run.results) {
    const Cell& cell = result.cell;
    const std::string id = cell.id();
    const std::string agent = cell.agent.text();
    const std::string placement = write_placement_text(result.placement);
    const bool has_policy = !cell.policy.empty();
    const bool has_step = result.status != CellStatus::kFailed;
    const std::int64_t peak_bytes =
        result.peak_bytes.empty() ? 0 : std::ranges::max(result.peak_bytes);
    const std::array<FieldValue, kCellColumns.size()> row = {
        id,
        cell.graph,
        cell.cluster,
        agent,
        index.label_of(cell),
        cell.repetition,
        cell.max_evaluations,
        cell.groups,
        cell.grouping,
        static_cast<std::int64_t>(cell.root_seed),
        value_if(has_policy, cell.policy),
        value_if(has_policy, cell.training),
        value_if(has_policy, std::int64_t{cell.learns}),
        to_string(result.status),
        value_if(!result.message.empty(), result.message),
        value_if(has_step, result.step_time_us),
        value_if(has_step, result.bound_us),
        value_if(has_step, peak_bytes),
        result.evaluations,
        result.evaluations_to_best,
        result.evaluations_to_near_best,
        result.evaluations_per_episode,
        value_if(has_step, result.problem_groups),
        value_if(has_step, result.decision_groups),
        value_if(has_step, result.placement_hash),
        value_if(!placement.empty(), placement),
        result.wall_s,
        std::int64_t{fastest.contains(&result)},
    };
    sink(row);
  }
}

void write_histories(const StoredRun& run, const RowSink& sink) {
  for (const CellResult& result : run.results) {
    const std::string id = result.cell.id();
    for (const Improvement& improvement : result.history) {
      const agents::Evaluation& evaluation = improvement.evaluation;
      const std::array<FieldValue, kHistoryColumns.size()> row = {
          id,
          improvement.evaluations,
          improvement.seconds,
          evaluation.objective_us(),
          evaluation.step_time_us,
          evaluation.bytes_over,
      };
      sink(row);
    }
  }
}

constexpr std::array kTables = {
    ResultTable{.name = "cells", .columns = kCellColumns, .key = "id", .write_rows = write_cells},
    ResultTable{.name = "histories",
                .columns = kHistoryColumns,
                .key = "id, evaluations",
                .write_rows = write_histories},
};

// A database in memory, and its statements. Its errors are ours: no input can cause one.
class Database {
 public:
  Database() {
    sqlite3* database = nullptr;
    const int code = sqlite3_open(":memory:", &database);
    database_.reset(database);
    check(code);
  }

  void execute(const std::string& sql) {
    check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }

  void insert_rows(const ResultTable& table, const StoredRun& run) {
    std::string sql = fmt::format("INSERT INTO {} VALUES (?", table.name);
    for (std::size_t i = 1; i < table.columns.size(); ++i) {
      sql += ", ?";
    }
    sqlite3_stmt* prepared = nullptr;
    check(sqlite3_prepare_v2(database_.get(), (sql + ")").c_str(), -1, &prepared, nullptr));
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(prepared,
                                                                               sqlite3_finalize);
    table.write_rows(run, [&](std::span<const FieldValue> row) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        bind(prepared, static_cast<int>(i) + 1, row[i]);
      }
      check(sqlite3_step(prepared));
      check(sqlite3_reset(prepared));
    });
  }

  std::string bytes() {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> data(
        sqlite3_serialize(database_.get(), "main", &size, 0), sqlite3_free);
    EMPLACE_CHECK(data != nullptr, "SQLite has no memory for its {} bytes", size);
    return {data.get(), data.get() + size};
  }

 private:
  void check(int code) const {
    EMPLACE_CHECK(code == SQLITE_OK || code == SQLITE_DONE, "SQLite: {}",
                  sqlite3_errmsg(database_.get()));
  }

  void bind(sqlite3_stmt* statement, int index, const FieldValue& field) const {
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::int64_t>) {
            check(sqlite3_bind_int64(statement, index, value));
          } else if constexpr (std::is_same_v<Value, double>) {
            check(sqlite3_bind_double(statement, index, value));
          } else if constexpr (std::is_same_v<Value, std::string_view>) {
            // Not copied: the row lives until the statement has run.
            check(sqlite3_bind_text(statement, index, value.data(), static_cast<int>(value.size()),
                                    nullptr));
          } else {
            check(sqlite3_bind_null(statement, index));
          }
        },
        field);
  }

  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database_{nullptr, sqlite3_close};
};

}  // namespace

std::set<const CellResult*> fastest_cells(const bench::StoredRun& run) {
  std::map<std::pair<std::string, std::string>, const CellResult*> fastest;
  for (const CellResult& result : run.results) {
    if (result.status != CellStatus::kOk) {
      continue;
    }
    const CellResult*& least =
        fastest.emplace(std::pair(result.cell.graph, result.cell.cluster), &result).first->second;
    if (result.step_time_us < least->step_time_us) {
      least = &result;
    }
  }
  std::set<const CellResult*> cells;
  for (const auto& [problem, result] : fastest) {
    cells.insert(result);
  }
  return cells;
}

std::span<const ResultTable> result_tables() { return kTables; }

std::string write_csv(const ResultTable& table, const StoredRun& run) {
  std::vector<FieldValue> titles;
  for (const ResultTable::Column& column : table.columns) {
    titles.emplace_back(column.name);
  }
  std::string csv;
  add_csv_row(csv, titles);
  table.write_rows(run, [&](std::span<const FieldValue> row) { add_csv_row(csv, row); });
  return csv;
}

std::string write_sqlite(const StoredRun& run) {
  Database database;
  database.execute("BEGIN");
  for (const ResultTable& table : result_tables()) {
    std::string columns;
    for (const ResultTable::Column& column : table.columns) {
      columns += fmt::format("{} {}, ", column.name, column.type);
    }
    database.execute(fmt::format("CREATE TABLE {} ({}PRIMARY KEY ({})) WITHOUT ROWID", table.name,
                                 columns, table.key));
    database.insert_rows(table, run);
  }
  database.execute("COMMIT");
  return database.bytes();
}

}  // namespace emplace::bench
