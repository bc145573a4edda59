#include "sqlite_tables.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/utf8.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace emplace::nsight {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr int kMaxValue = 16 << 20;     // bytes of a value or row
constexpr std::size_t kMaxText = 1000;  // bytes of a text that is kept
constexpr std::size_t kLeastRow = 4;    // bytes: pages that refer to each other make rows
constexpr std::string_view kEveryTable = "the list of its tables";

}  // namespace

bool is_sqlite(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::optional<int> Row::position_of(std::string_view column) const {
  const auto found = positions_.find(column);
  return found != positions_.end() && sqlite3_column_type(statement_, found->second) != SQLITE_NULL
             ? std::optional(found->second)
             : std::nullopt;
}

std::optional<std::int64_t> Row::find_integer(std::string_view column) const {
  const auto position = position_of(column);
  if (!position) {
    return std::nullopt;
  }
  if (sqlite3_column_type(statement_, *position) != SQLITE_INTEGER) {
    fail(fmt::format("expected a whole number in column '{}'", column));
  }
  return sqlite3_column_int64(statement_, *position);
}

std::int64_t Row::integer(std::string_view column, std::int64_t min) const {
  const auto value = find_integer(column);
  if (!value) {
    fail(fmt::format("expected a whole number in column '{}', found {}", column,
                     positions_.contains(column) ? "NULL" : "no such column"));
  }
  if (*value < min) {
    fail(fmt::format("expected a whole number of at least {} in column '{}', found {}", min, column,
                     *value));
  }
  return *value;
}

std::optional<std::string> Row::find_text(std::string_view column) const {
  const auto position = position_of(column);
  if (!position) {
    return std::nullopt;
  }
  if (sqlite3_column_type(statement_, *position) != SQLITE_TEXT) {
    fail(fmt::format("expected a text in column '{}'", column));
  }
  const unsigned char* text = sqlite3_column_text(statement_, *position);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, *position));
  std::string result(text, text + size);
  if (!is_utf8(result)) {
    fail(fmt::format("expected text in UTF-8 in column '{}', found '{}'", column, excerpt(result)));
  }
  while (result.size() > kMaxText || !is_utf8(result)) {
    result.resize(std::min(result.size() - 1, kMaxText));
  }
  return result;
}

void Row::fail(std::string_view message) const {
  throw Error(ErrorCode::kFormat, fmt::format("{}, row {}: {}", table_, number_, message));
}

void SqliteTables::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

void SqliteTables::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

// What https://www.sqlite.org/security.html says of databases from others.
SqliteTables::SqliteTables(std::string_view bytes, std::string source)
    : source_(std::move(source)), max_rows_(bytes.size() / kLeastRow) {
  if (!is_sqlite(bytes)) {
    throw Error(ErrorCode::kFormat, fmt::format("{}: expected an SQLite database", source_));
  }
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, nullptr);
  database_.reset(database);
  check(code, kEveryTable);
  for (const int off : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_VIEW,
                        SQLITE_DBCONFIG_ENABLE_TRIGGER}) {
    check(sqlite3_db_config(database, off, 0, nullptr), kEveryTable);
  }
  check(sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr), kEveryTable);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMaxValue);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  check(sqlite3_exec(database, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr),
        kEveryTable);
  // Read only, so the bytes are never written.
  auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  check(sqlite3_deserialize(database, "main", data, size, size, SQLITE_DESERIALIZE_READONLY),
        kEveryTable);
}

void SqliteTables::check(int code, std::string_view place) const {
  if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
    throw Error(ErrorCode::kFormat, fmt::format("{}: {}: SQLite cannot read it: {}", source_, place,
                                                excerpt(sqlite3_errmsg(database_.get()))));
  }
}

SqliteTables::Statement SqliteTables::prepare(const std::string& query,
                                              std::string_view place) const {
  sqlite3_stmt* prepared = nullptr;
  check(sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &prepared, nullptr), place);
  return Statement(prepared);
}

// Views and virtual tables have no page of their own.
bool SqliteTables::has(std::string_view name) const {
  const Statement statement = prepare(
      fmt::format("SELECT type, rootpage FROM sqlite_schema WHERE name = '{}'", name), kEveryTable);
  const int code = sqlite3_step(statement.get());
  check(code, kEveryTable);
  if (code != SQLITE_ROW) {
    return false;
  }
  const unsigned char* type = sqlite3_column_text(statement.get(), 0);
  if (type == nullptr ||
      std::string(type, type + sqlite3_column_bytes(statement.get(), 0)) != "table" ||
      sqlite3_column_int64(statement.get(), 1) <= 0) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("{}: {}: expected a table, found a view or a virtual table", source_, name));
  }
  return true;
}

void SqliteTables::read_rows(std::string_view table,
                             const std::function<void(const Row&)>& read) const {
  if (!has(table)) {
    return;
  }
  const Statement statement = prepare(fmt::format("SELECT * FROM \"{}\"", table), table);
  Row row;
  row.statement_ = statement.get();
  row.table_ = fmt::format("{}: {}", source_, table);
  for (int i = 0; i < sqlite3_column_count(statement.get()); ++i) {
    row.positions_.emplace(sqlite3_column_name(statement.get(), i), i);
  }
  while (true) {
    const int code = sqlite3_step(statement.get());
    check(code, table);
    if (code != SQLITE_ROW) {
      return;
    }
    if (++row.number_ > max_rows_) {
      row.fail("the file has no room for so many rows");
    }
    read(row);
  }
}

}  // namespace emplace::nsight
