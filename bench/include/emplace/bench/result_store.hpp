#pragma once

// Results are kept in a folder with `manifest.json` (what was run, on which machine) and
// `cells.jsonl`, which has one line for each finished cell, appended as it finishes. A run that is
// killed loses at most the cells that were running: a last line without its newline is dropped when
// the store is opened again. Each line ends with a checksum, so damage is detected. Lines are
// synced to the disk once a second, so a power cut loses at most those of the last second.

#include <emplace/bench/cell.hpp>
#include <emplace/bench/manifest.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Returns whether the folder `path` has a store, complete or not.
bool holds_store(const std::string& path);

/// Returns the manifest of the store in `folder`. Throws kIo or kFormat.
Manifest read_store_manifest(const std::string& folder);

/// Throws kUsage unless the store in `folder`, whose manifest is `stored`, can be resumed by a run
/// whose manifest is `wanted`: of the same suite, seed, problems and shard.
void check_same_run(const Manifest& stored, const Manifest& wanted, const std::string& folder);

/// Writes results as they arrive. append() may be called from any thread. One process at a time may
/// have a store open for writing.
class ResultStore {
 public:
  /// Starts a store in the folder `path`, which is made if it does not exist. An existing store is
  /// continued if `resume` is true and its suite, seed and problems are those of `manifest`. Throws
  /// kUsage, kIo or kFormat.
  static ResultStore open(const std::string& path, const Manifest& manifest, bool resume);

  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) noexcept;
  ~ResultStore();

  /// Returns the manifest with all starts, this one last.
  const Manifest& manifest() const;

  /// Returns the cells whose results were there when the store was opened, in the order of
  /// cells_of().
  const std::vector<Cell>& finished() const;

  /// Appends one result with a single write; throws kIo and leaves the file as it was if it fails.
  void append(const CellResult& result);

 private:
  struct Impl;
  explicit ResultStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The content of a store.
struct StoredRun {
  Manifest manifest{};
  std::vector<CellResult> results{};  ///< in the order of cells_of(); unfinished cells are absent
};

/// Reads the store in the folder `path`; throws kIo or kFormat. A run in progress may be read.
StoredRun read_store(const std::string& path);

/// Does the same, but hands each result to `sink`, in the order in which they finished, and keeps
/// none.
StoredRun read_store(const std::string& path, const std::function<void(CellResult)>& sink);

/// Returns one result as a line of JSON without its newline; `wall_s` is separate from the
/// deterministic fields, under "measured", and a checksum ends the line.
std::string write_cell_result(const CellResult& result);

/// Reads such a line; `source` names it in errors. Throws kFormat, also if the id is not the hash
/// of the coordinates, or the checksum, if there is one, not that of the line.
CellResult read_cell_result(std::string_view line, const std::string& source);

}  // namespace emplace::bench
