#include "csv_row.hpp"

#include <emplace/base/escape.hpp>

#include <fmt/format.h>

#include <iterator>
#include <type_traits>

namespace emplace::bench {
namespace {

void add_field(std::string& csv, const FieldValue& field) {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string_view>) {
          csv += escape_csv(value);
        } else if constexpr (!std::is_same_v<Value, std::monostate>) {
          fmt::format_to(std::back_inserter(csv), "{}", value);
        }
      },
      field);
}

}  // namespace

void add_csv_row(std::string& csv, std::span<const FieldValue> row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    csv += i == 0 ? "" : ",";
    add_field(csv, row[i]);
  }
  csv += "\r\n";
}

}  // namespace emplace::bench
