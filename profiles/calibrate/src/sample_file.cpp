#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/calibrate/sample_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>

namespace emplace::calibrate {
namespace {

constexpr std::string_view kColumns = "device,kind,shape,type,flops,bytes,us,source";
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

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
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
      } else if (!has_columns_) {
        if (line != kColumns) {
          fail(fmt::format("expected the columns '{}', found '{}'", kColumns, excerpt(line)));
        }
        has_columns_ = true;
      } else {
        read_row(line);
      }
    }
    if (!has_columns_) {
      fail(fmt::format("expected the columns '{}' before the end of the file", kColumns));
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
    for (std::size_t at = 1; at < parts.size(); ++at) {
      if (parts[at].empty()) {
        fail("no part of a source may be empty");
      }
    }
    if (has_columns_) {
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

  std::int64_t count_of(std::string_view column, std::string_view field) const {
    const auto number = number_of<std::int64_t>(field);
    if (!number || *number < 0) {
      fail(
          fmt::format("'{}': expected a number of at least 0, found '{}'", column, excerpt(field)));
    }
    return *number;
  }

  DataType type_of(std::string_view field) const {
    const auto* found = std::ranges::find(kDataTypes, field);
    if (found == kDataTypes.end()) {
      const std::vector<std::string> names(kDataTypes.begin(), kDataTypes.end());
      fail(fmt::format("'type': unknown type '{}'{}", excerpt(field), suggest_names(field, names)));
    }
    return static_cast<DataType>(found - kDataTypes.begin());
  }

  void read_row(std::string_view line) {
    const std::vector<std::string_view> fields = split(line, ',');
    if (fields.size() != 8) {
      fail(fmt::format("expected 8 fields, found {}", fields.size()));
    }
    TableSample sample{.device = text_of("device", fields[0]),
                       .key = {.kind = text_of("kind", fields[1]), .type = type_of(fields[3])},
                       .flops = count_of("flops", fields[4]),
                       .bytes = count_of("bytes", fields[5])};
    for (const std::string_view dimension : split(fields[2], 'x')) {
      sample.key.shape.push_back(count_of("shape", dimension));
    }
    if (sample.key.shape.size() > kMaxDimensions) {
      fail(fmt::format("'shape': expected at most {} dimensions, found {}", kMaxDimensions,
                       sample.key.shape.size()));
    }
    const auto us = number_of<double>(fields[6]);
    if (!us || !(*us >= kMinUs && *us <= kMaxUs)) {
      fail(fmt::format("'us': expected a number from {} to {}, found '{}'", kMinUs, kMaxUs,
                       excerpt(fields[6])));
    }
    sample.us = *us;
    const auto source = std::ranges::find(table_.sources, fields[7], &SampleSource::name);
    if (source == table_.sources.end()) {
      std::vector<std::string> names;
      names.reserve(table_.sources.size());
      for (const SampleSource& known : table_.sources) {
        names.push_back(known.name);
      }
      fail(fmt::format("'source': no line '#source,{0},...' above{1}", excerpt(fields[7]),
                       suggest_names(fields[7], names)));
    }
    sample.source = static_cast<std::size_t>(source - table_.sources.begin());
    table_.samples.push_back(std::move(sample));
  }

  const std::string& source_;
  std::size_t line_ = 0;
  bool has_columns_ = false;
  SampleTable table_;
};

}  // namespace

SampleTable parse_sample_table(std::string_view text, const std::string& source) {
  return SampleTableReader(source).read(text);
}

SampleTable read_sample_table(const std::string& path) {
  return parse_sample_table(read_text_file(path), path);
}

}  // namespace emplace::calibrate
