#pragma once

// Reads tables of op times, from any source: CSV, plain or gzipped.
//
//     #source,NAME,LOCATION,VERSION,LICENCE,FLOOR       any number of these, before the first row
//     # any other comment
//     device,kind,shape,type,flops,bytes,us,source      these columns, in any order
//     v100-pcie,matmul,512x1024x768,float32,805306368,8912896,78.2,neusight
//
// `device` is the name of a device profile, whose peaks scale the row, or of a device of the
// machine that is calibrated; `kind`, `shape` and `type` are as of an op in a graph
// (graphs/op_kind.hpp), a gradient's kind telling the phase; `flops` and `bytes` are counted as in
// graphs; `us` is the time in microseconds. A source says where its rows come from, in which
// version, under which licence, and whether its times contain a launch floor: `floor` if each
// includes the host's time to launch the op, otherwise `none`.
//
// Further columns may be there: `attributes` of the op, as emplace writes them in JSON; the number
// of `runs`, and their relative `deviation`; the number of `kernels` of a GPU; and `host_us`, how
// long the host took to launch them. A field with a comma is in double quotes, and a quote in
// it is doubled (RFC 4180).

#include <emplace/calibrate/samples.hpp>
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
  double us = 0;                  ///< positive
  std::size_t source = 0;         ///< index into SampleTable::sources
  double relative_deviation = 0;  ///< of `runs`, 0 to kMaxRelativeDeviation
  std::int32_t runs = 1;
  std::int32_t kernels = 0;  ///< 0: unknown
  double host_us = 0;        ///< 0: unknown
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

/// Returns the lines with which a table of samples of `source` begins. Requires: no commas in it.
std::string sample_table_head(const SampleSource& source);

/// Returns the line of a sample of `source` in a table with that head.
std::string sample_table_row(const std::string& device, const OpSample& sample,
                             const SampleSource& source);

}  // namespace emplace::calibrate
