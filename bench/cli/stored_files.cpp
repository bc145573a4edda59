#include "stored_files.hpp"

#include "terminal.hpp"

#include <emplace/bench/checksum.hpp>
#include <emplace/graphs/counted.hpp>
#include <emplace/graphs/escape.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>

namespace emplace::cli {
namespace {

void warn(const std::string& path, const std::string& what) {
  note(escape_terminal(fmt::format(
      "emplace: warning: {}: {} no checksum, as from an older emplace: damage would go unnoticed",
      path, what)));
}

}  // namespace

void warn_without_checksum(const std::string& folder, std::int64_t count) {
  if (count > 0) {
    warn(folder + "/cells.jsonl", counted(count, "cell has", "cells have"));
  }
}

bench::StoredRun read_run(const std::string& folder) {
  bench::StoredRun run = bench::read_store(folder);
  warn_without_checksum(folder, run.without_checksum);
  return run;
}

std::string read_trained(const std::string& path) {
  std::string text = read_text_file(path);
  if (!bench::has_checksum(text)) {
    warn(path, "it has");
  }
  return text;
}

}  // namespace emplace::cli
