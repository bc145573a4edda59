#pragma once

// Reads tables of op times, from any source: CSV, plain or gzipped.
//
//     #source,NAME,LOCATION,VERSION,LICENCE,FLOOR       any number of these, before the first row
//     # any other comment
//     device,kind,shape,type,flops,bytes,us,source      exactly this line
//     v100-pcie,matmul,512x1024x768,float32,805306368,8912896,78.2,neusight
//
// `device` is the name of a device profile, whose peaks scale the row; `kind`, `shape` and `type`
// are as of an op in a graph (graphs/op_kind.hpp), a gradient's kind telling the phase; `flops` and
// `bytes` are counted as in graphs; `us` is the time in microseconds. A source says where its rows
// come from, in which version, under which licence, and whether its times contain a launch floor:
// `floor` if each includes the host's time to launch the op, otherwise `none`.

#include <emplace/profiles/op_key.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::calibrate {

/// Where rows come from.
struct SampleSource {
  std::string name{};
  std::string location{};  ///< a repository and a path in it, a paper, a machine
  std::string version{};   ///< a commit or a date
  std::string licence{};
  bool has_launch_floor = false;

  bool operator==(const SampleSource&) const = default;
};

/// A row.
struct TableSample {
  std::string device{};
  OpKey key{};
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
  double us = 0;           ///< positive
  std::size_t source = 0;  ///< index into SampleTable::sources
};

/// A table, with its rows in the order of the file.
struct SampleTable {
  std::vector<SampleSource> sources{};
  std::vector<TableSample> samples{};
};

/// Reads a table; `source` names it in errors. Throws kFormat, naming line and column.
SampleTable parse_sample_table(std::string_view text, const std::string& source);

/// Reads the table in a file, as read_text_file() does. Throws kIo or kFormat.
SampleTable read_sample_table(const std::string& path);

}  // namespace emplace::calibrate
