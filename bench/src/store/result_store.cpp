#include "folders.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/checksum.hpp>
#include <emplace/bench/file_lock.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_index.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace emplace::bench {
namespace {

namespace fs = std::filesystem;

std::string manifest_path(const std::string& folder) { return folder + "/manifest.json"; }
std::string cells_path(const std::string& folder) { return folder + "/cells.jsonl"; }

// A sync for each line takes longer than the quickest cells; a power cut may undo the lines of so
// long, a killed program none.
constexpr std::chrono::seconds kSyncInterval{1};

// Returns the complete lines of `text`, the content of `path`: the last line of a run that was
// killed may be torn, and a power cut leaves zeros. What is neither is not ours to drop.
std::string_view whole_lines(std::string_view text, const std::string& path) {
  const std::size_t end = text.rfind('\n') + 1;
  const std::string_view torn = text.substr(end);
  constexpr std::string_view kBegin = "{\"id\":\"";
  const bool is_ours = torn.starts_with(kBegin.substr(0, torn.size()));
  if (!is_ours && torn.find_first_not_of('\0') != std::string_view::npos) {
    throw Error(ErrorCode::kFormat, path + ": the last line is not that of a cell");
  }
  // A whole object with its checksum, and then another byte.
  if (!torn.empty() && torn.back() != '\0' && torn.back() != '}' && has_checksum(torn) &&
      torn.substr(0, torn.size() - 1).ends_with("\"}")) {
    throw Error(ErrorCode::kFormat, path + ": the last line is damaged at its end");
  }
  return text.substr(0, end);
}

// Hands the result of each line to `sink`, with its position in the suite.
void read_lines(std::string_view text, const std::string& path, const Manifest& manifest,
                const std::function<void(const CellPosition&, CellResult)>& sink) {
  const SuiteIndex index(manifest.suite, manifest.root_seed);
  std::set<CellPosition> seen;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string source = fmt::format("{}:{}", path, number);
    const std::string_view line = text.substr(0, end);
    CellResult result = read_cell_result(line, source);
    const std::optional<CellPosition> position = index.find(result.cell);
    if (!position) {
      throw Error(ErrorCode::kFormat,
                  source + ": the cell is not one of the suite in manifest.json");
    }
    if (!seen.insert(*position).second) {
      throw Error(ErrorCode::kFormat, source + ": the cell is already in the file");
    }
    sink(*position, std::move(result));
    text.remove_prefix(end + 1);
  }
}

// Returns the values in the order of their positions.
template <class Value>
std::vector<Value> in_order(std::map<CellPosition, Value> values) {
  std::vector<Value> sorted;
  sorted.reserve(values.size());
  for (auto& [position, value] : values) {
    sorted.push_back(std::move(value));
  }
  return sorted;
}

std::string read_cells_text(const std::string& folder) {
  // A run that was killed before it made this file has no results yet.
  std::error_code error;
  expect_plain_file(cells_path(folder));
  return fs::exists(cells_path(folder), error) ? read_text_file(cells_path(folder)) : "";
}

[[noreturn]] void refuse(const std::string& folder, std::string_view what) {
  throw Error(
      ErrorCode::kUsage,
      fmt::format("{}: cannot resume: {}; choose another folder with --output", folder, what));
}

std::string text_of(const Shard& shard) {
  return shard.is_whole() ? "the whole suite" : "shard " + shard.text();
}

}  // namespace

Manifest read_store_manifest(const std::string& folder) {
  const std::string path = manifest_path(folder);
  return read_manifest(read_plain_file(path), path);
}

bool holds_store(const std::string& path) {
  // A run that was killed before it wrote its manifest leaves an empty cells.jsonl.
  std::error_code error;
  if (fs::exists(manifest_path(path), error)) {
    return true;
  }
  const std::uintmax_t bytes = fs::file_size(cells_path(path), error);
  return !error && bytes > 0;
}

void check_same_run(const Manifest& stored, const Manifest& wanted, const std::string& folder) {
  if (const std::optional<std::string> other = difference(stored, wanted)) {
    refuse(folder, *other);
  }
  if (stored.shard != wanted.shard) {
    refuse(folder,
           fmt::format("it is of {}, not of {}", text_of(stored.shard), text_of(wanted.shard)));
  }
  if (stored.num_own_cells() != wanted.num_own_cells()) {
    refuse(folder,
           fmt::format("the emplace that started it gave {} cells to shard {}, this one gives {}",
                       stored.num_own_cells(), stored.shard.text(), wanted.num_own_cells()));
  }
}

struct ResultStore::Impl {
  using Clock = std::chrono::steady_clock;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (file >= 0) {
      ::fdatasync(file);
      ::close(file);
    }
  }

  // Opens the file of cells and locks it against other writers.
  void open_cells(const std::string& folder) {
    path = cells_path(folder);
    expect_plain_file(path);
    file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) {
      fail_io(path, "cannot open", errno);
    }
    lock_file(file, folder, "run");
  }

  // Makes the lines written so far safe from a power cut.
  void sync() {
    if (::fdatasync(file) != 0 && errno != EINVAL && errno != ENOTSUP) {
      fail_io(path, "cannot write", errno);
    }
    synced = Clock::now();
  }

  std::string path;
  int file = -1;
  std::size_t size = 0;
  std::mutex mutex;
  Clock::time_point synced{};
  Manifest manifest;
  std::vector<Cell> finished;
};

ResultStore::ResultStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ResultStore::ResultStore(ResultStore&&) noexcept = default;
ResultStore& ResultStore::operator=(ResultStore&&) noexcept = default;
ResultStore::~ResultStore() = default;

ResultStore ResultStore::open(const std::string& path, const Manifest& manifest, bool resume) {
  make_folder(path);
  auto impl = std::make_unique<Impl>();
  impl->open_cells(path);
  const bool exists = holds_store(path);
  if (exists && !resume) {
    throw Error(ErrorCode::kUsage, path +
                                       ": the folder already contains a run; finish it with "
                                       "--resume, or choose another folder with --output");
  }
  impl->manifest = manifest;
  if (exists) {
    impl->manifest = read_store_manifest(path);
    check_same_run(impl->manifest, manifest, path);
    impl->manifest.starts.insert(impl->manifest.starts.end(), manifest.starts.begin(),
                                 manifest.starts.end());
  }
  const std::string text = read_cells_text(path);
  const std::string_view lines = whole_lines(text, impl->path);
  impl->size = lines.size();
  std::map<CellPosition, Cell> finished;
  read_lines(lines, impl->path, impl->manifest,
             [&](const CellPosition& position, CellResult result) {
               finished.emplace(position, std::move(result.cell));
             });
  impl->finished = in_order(std::move(finished));
  if (impl->size != text.size()) {
    if (::ftruncate(impl->file, static_cast<off_t>(impl->size)) != 0) {
      fail_io(impl->path, "cannot shorten", errno);
    }
  }
  write_text_file(manifest_path(path), write_manifest(impl->manifest));
  return ResultStore(std::move(impl));
}

const Manifest& ResultStore::manifest() const { return impl_->manifest; }

const std::vector<Cell>& ResultStore::finished() const { return impl_->finished; }

void ResultStore::append(const CellResult& result) {
  const std::string line = write_cell_result(result) + "\n";
  const std::lock_guard lock(impl_->mutex);
  for (std::string_view left = line; !left.empty();) {
    const ssize_t written = ::write(impl_->file, left.data(), left.size());
    if (written < 0 && errno != EINTR) {
      const int error = errno;
      // If this fails too, the torn line is dropped when the store is opened again.
      if (::ftruncate(impl_->file, static_cast<off_t>(impl_->size)) != 0) {
        fail_io(impl_->path, "cannot write, nor undo what was written", error);
      }
      fail_io(impl_->path, "cannot write", error);
    }
    left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  impl_->size += line.size();
  if (Impl::Clock::now() - impl_->synced >= kSyncInterval) {
    impl_->sync();
  }
}

namespace {

// Returns the manifest.
Manifest read_store_lines(const std::string& path,
                          const std::function<void(const CellPosition&, CellResult)>& sink) {
  if (!holds_store(path)) {
    throw Error(ErrorCode::kIo, path + ": no results here (expected manifest.json, cells.jsonl)");
  }
  Manifest manifest = read_store_manifest(path);
  const std::string text = read_cells_text(path);
  const std::string source = cells_path(path);
  read_lines(whole_lines(text, source), source, manifest, sink);
  return manifest;
}

}  // namespace

StoredRun read_store(const std::string& path) {
  StoredRun run;
  std::map<CellPosition, CellResult> results;
  run.manifest = read_store_lines(path, [&](const CellPosition& position, CellResult result) {
    results.emplace(position, std::move(result));
  });
  run.results = in_order(std::move(results));
  return run;
}

StoredRun read_store(const std::string& path, const std::function<void(CellResult)>& sink) {
  StoredRun run;
  run.manifest = read_store_lines(
      path, [&](const CellPosition&, CellResult result) { sink(std::move(result)); });
  return run;
}

}  // namespace emplace::bench
