#pragma once

// The tables of an SQLite database in memory, which may be made to harm: nothing in it is run (no
// view, trigger or virtual table is read), and nothing is written. Errors name the file, the table,
// the row by its place and the column.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace emplace::nsight {

/// Says whether `bytes` begin as an SQLite database does.
bool is_sqlite(std::string_view bytes);

/// A row of a table.
class Row {
 public:
  /// Returns the whole number in `column`, or nothing if it is NULL or there is no such column.
  /// Throws kFormat for any other value.
  std::optional<std::int64_t> find_integer(std::string_view column) const;

  /// Returns the whole number in `column`. Throws kFormat if there is none or it is less than
  /// `min`.
  std::int64_t integer(std::string_view column, std::int64_t min) const;

  /// Returns the text in `column`, cut behind 1000 bytes: many rows may share one. Returns nothing
  /// if it is NULL or there is no such column. Throws kFormat for any other value.
  std::optional<std::string> find_text(std::string_view column) const;

  /// Throws kFormat with the file, the table and the row before `message`.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  friend class SqliteTables;

  std::optional<int> position_of(std::string_view column) const;

  sqlite3_stmt* statement_ = nullptr;
  std::map<std::string, int, std::less<>> positions_{};  // by column
  std::string table_{};                                  // "file: table"
  std::size_t number_ = 0;
};

/// A database.
class SqliteTables {
 public:
  /// Opens a database, whose bytes stay where they are. `source` is the name of the file in errors.
  /// Throws kFormat.
  SqliteTables(std::string_view bytes, std::string source);

  /// Says whether there is a table `name`. Throws kFormat if the name is that of something else.
  bool has(std::string_view name) const;

  /// Calls `read` with each row of the table, in their order; with none if there is no such table.
  /// Throws kFormat if the database is broken.
  void read_rows(std::string_view table, const std::function<void(const Row&)>& read) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  void check(int code, std::string_view place) const;
  Statement prepare(const std::string& query, std::string_view place) const;

  std::string source_;
  std::size_t max_rows_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace emplace::nsight
