#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/calibrate/sample_file.hpp>

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>

namespace emplace::calibrate {
namespace {

constexpr auto kNeeded = std::to_array<std::string_view>(
    {"device", "kind", "shape", "type", "flops", "bytes", "us", "source"});
constexpr auto kOptional =
    std::to_array<std::string_view>({"attributes", "runs", "deviation", "kernels", "host_us"});
constexpr auto kWritten = std::span(kOptional).first(3);
constexpr std::size_t kMaxDimensions = 16;
constexpr double kMinUs = 1e-6;
constexpr double kMaxUs = 1e9;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Reads a table line by line.
class SampleTableReader {
 public:
  explicit SampleTableReader(const std::string& source) : source_(source) {}

  SampleTable read(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view line = text.substr(begin, end - begin);
      begin = end + 1;
      ++line_;
      if (line.ends_with('\r')) {
        line.remove_suffix(1);
      }
      if (line.starts_with("#source,")) {
        read_source(line);
      } else if (line.empty() || line.starts_with('#')) {
        continue;
      } else if (columns_.empty()) {
        read_columns(line);
      } else {
        read_row(line);
      }
    }
    if (columns_.empty()) {
      fail(fmt::format("expected the columns '{}' before the end of the file",
                       fmt::join(kNeeded, ",")));
    }
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kFormat, fmt::format("{}:{}: {}", source_, line_, what));
  }

  void read_source(std::string_view line) {
    const std::vector<std::string_view> parts = split(line, ',');
    if (parts.size() != 6 || (parts[5] != "floor" && parts[5] != "none")) {
      fail("expected '#source,NAME,LOCATION,VERSION,LICENCE,FLOOR', FLOOR being 'floor' or 'none'");
    }
    if (std::ranges::any_of(parts, &std::string_view::empty)) {
      fail("no part of a source may be empty");
    }
    if (!columns_.empty()) {
      fail("sources must come before the first row");
    }
    SampleSource source{.name = std::string(parts[1]),
                        .location = std::string(parts[2]),
                        .version = std::string(parts[3]),
                        .licence = std::string(parts[4]),
                        .has_launch_floor = parts[5] == "floor"};
    if (std::ranges::find(table_.sources, source.name, &SampleSource::name) !=
        table_.sources.end()) {
      fail(fmt::format("another source is called '{}'", excerpt(source.name)));
    }
    table_.sources.push_back(std::move(source));
  }

  std::string text_of(std::string_view column, std::string_view field) const {
    if (field.empty()) {
      fail(fmt::format("'{}': expected a name", column));
    }
    return std::string(field);
  }

  template <class Number>
  Number number_of(std::string_view column, std::string_view field, Number least,
                   Number most = std::numeric_limits<Number>::max()) const {
    Number number{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (error != std::errc() || end != field.data() + field.size() ||
        !(number >= least && number <= most)) {
      const std::string range = most == std::numeric_limits<Number>::max()
                                    ? fmt::format("of at least {}", least)
                                    : fmt::format("from {} to {}", least, most);
      fail(fmt::format("'{}': expected a number {}, found '{}'", column, range, excerpt(field)));
    }
    return number;
  }

  DataType type_of(std::string_view field) const {
    const auto* found = std::ranges::find(kDataTypes, field);
    if (found == kDataTypes.end()) {
      const std::vector<std::string> names(kDataTypes.begin(), kDataTypes.end());
      fail(fmt::format("'type': unknown type '{}'{}", excerpt(field), suggest_names(field, names)));
    }
    return static_cast<DataType>(found - kDataTypes.begin());
  }

  void read_columns(std::string_view line) {
    for (const std::string_view column : split(line, ',')) {
      const bool is_known =
          std::ranges::count(kNeeded, column) + std::ranges::count(kOptional, column) > 0;
      if (!is_known || std::ranges::count(columns_, column) > 0) {
        fail(fmt::format("expected the columns '{}', and each of '{}' at most once; found '{}'",
                         fmt::join(kNeeded, ","), fmt::join(kOptional, ","), excerpt(line)));
      }
      columns_.emplace_back(column);
    }
    for (const std::string_view column : kNeeded) {
      if (std::ranges::count(columns_, column) == 0) {
        fail(fmt::format("expected the columns '{}': '{}' is missing", fmt::join(kNeeded, ","),
                         column));
      }
    }
  }

  // Returns the fields of a row, without their quotes.
  std::vector<std::string> fields_of(std::string_view line) const {
    std::vector<std::string> fields(1);
    bool is_quoted = false;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == '"' && is_quoted && at + 1 < line.size() && line[at + 1] == '"') {
        fields.back() += line[++at];
      } else if (line[at] == '"' && (is_quoted || fields.back().empty())) {
        is_quoted = !is_quoted;
      } else if (line[at] == ',' && !is_quoted) {
        fields.emplace_back();
      } else {
        fields.back() += line[at];
      }
    }
    if (is_quoted) {
      fail("a field in quotes does not end");
    }
    if (fields.size() != columns_.size()) {
      fail(fmt::format("expected {} fields, found {}", columns_.size(), fields.size()));
    }
    return fields;
  }

  std::size_t source_of(std::string_view field) const {
    const auto source = std::ranges::find(table_.sources, field, &SampleSource::name);
    if (source == table_.sources.end()) {
      std::vector<std::string> names;
      std::ranges::transform(table_.sources, std::back_inserter(names), &SampleSource::name);
      fail(fmt::format("'source': no line '#source,{0},...' above{1}", excerpt(field),
                       suggest_names(field, names)));
    }
    return static_cast<std::size_t>(source - table_.sources.begin());
  }

  std::vector<std::int64_t> shape_of(std::string_view field) const {
    std::vector<std::int64_t> shape;
    if (field.empty()) {
      return shape;
    }
    for (const std::string_view dimension : split(field, 'x')) {
      shape.push_back(number_of<std::int64_t>("shape", dimension, 0));
    }
    if (shape.size() > kMaxDimensions) {
      fail(fmt::format("'shape': expected at most {} dimensions, found {}", kMaxDimensions,
                       shape.size()));
    }
    return shape;
  }

  void read_row(std::string_view line) {
    const std::vector<std::string> fields = fields_of(line);
    TableSample sample;
    for (std::size_t at = 0; at < fields.size(); ++at) {
      const std::string_view column = columns_[at];
      const std::string& field = fields[at];
      if (column == "device") {
        sample.device = text_of(column, field);
      } else if (column == "kind") {
        sample.key.kind = text_of(column, field);
      } else if (column == "shape") {
        sample.key.shape = shape_of(field);
      } else if (column == "type") {
        sample.key.type = type_of(field);
      } else if (column == "attributes") {
        sample.key.attributes = field;
      } else if (column == "flops") {
        sample.flops = number_of<std::int64_t>(column, field, 0);
      } else if (column == "bytes") {
        sample.bytes = number_of<std::int64_t>(column, field, 0);
      } else if (column == "us") {
        sample.us = number_of(column, field, kMinUs, kMaxUs);
      } else if (column == "source") {
        sample.source = source_of(field);
      } else if (column == "runs") {
        sample.runs = number_of(column, field, 1);
      } else if (column == "deviation") {
        sample.relative_deviation = number_of(column, field, 0.0, kMaxRelativeDeviation);
      } else if (column == "kernels") {
        sample.kernels = number_of(column, field, 0);
      } else {
        sample.host_us = number_of(column, field, 0.0, kMaxUs);
      }
    }
    table_.samples.push_back(std::move(sample));
  }

  const std::string& source_;
  std::size_t line_ = 0;
  std::vector<std::string> columns_;  // empty before they were read
  SampleTable table_;
};

}  // namespace

SampleTable parse_sample_table(std::string_view text, const std::string& source) {
  return SampleTableReader(source).read(text);
}

std::string sample_table_head(const SampleSource& source) {
  return fmt::format("#source,{},{},{},{},{}\n{},{}\n", source.name, source.location,
                     source.version, source.licence, source.has_launch_floor ? "floor" : "none",
                     fmt::join(kNeeded, ","), fmt::join(kWritten, ","));
}

std::string sample_table_row(const std::string& device, const OpSample& sample,
                             const SampleSource& source) {
  const Op& op = sample.site.op;
  const OpKey key = key_of(op);
  const std::string attributes = boost::replace_all_copy(key.attributes, "\"", "\"\"");
  return fmt::format("{},{},{},{},{},{},{},{},\"{}\",{},{}\n", device, key.kind,
                     fmt::join(key.shape, "x"), to_string(key.type), op.flops,
                     op.bytes_read + op.bytes_written, sample.time.median_us, source.name,
                     attributes, sample.time.runs,
                     std::min(sample.time.relative_deviation, kMaxRelativeDeviation));
}

SampleTable read_sample_table(const std::string& path) {
  return parse_sample_table(read_text_file(path), path);
}

}  // namespace emplace::calibrate
