#include "suite_index.hpp"

#include <emplace/bench/result_store.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>

namespace emplace::bench {
namespace {

namespace fs = std::filesystem;

std::string manifest_path(const std::string& folder) { return folder + "/manifest.json"; }
std::string cells_path(const std::string& folder) { return folder + "/cells.jsonl"; }

[[noreturn]] void fail_io(const std::string& path, std::string_view what, int error) {
  throw Error(ErrorCode::kIo, fmt::format("{}: {}: {}", path, what, std::strerror(error)));
}

// Returns the complete lines of `text`: the last line of a run that was killed may be torn.
std::string_view whole_lines(std::string_view text) { return text.substr(0, text.rfind('\n') + 1); }

std::vector<CellResult> read_lines(std::string_view text, const std::string& path,
                                   const Manifest& manifest) {
  const SuiteIndex index(manifest.suite, manifest.root_seed);
  std::map<CellPosition, CellResult> results;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string source = fmt::format("{}:{}", path, number);
    CellResult result = read_cell_result(text.substr(0, end), source);
    const std::optional<CellPosition> position = index.find(result.cell);
    if (!position) {
      throw Error(ErrorCode::kFormat,
                  source + ": the cell is not one of the suite in manifest.json");
    }
    if (!results.emplace(*position, std::move(result)).second) {
      throw Error(ErrorCode::kFormat, source + ": the cell is in the file already");
    }
    text.remove_prefix(end + 1);
  }
  std::vector<CellResult> sorted;
  for (auto& [position, result] : results) {
    sorted.push_back(std::move(result));
  }
  return sorted;
}

std::string read_cells_text(const std::string& folder) {
  // A run that was killed before it made this file has no results yet.
  std::error_code error;
  if (!fs::exists(cells_path(folder), error)) {
    return "";
  }
  if (!fs::is_regular_file(cells_path(folder), error)) {  // reading a pipe would wait for ever
    throw Error(ErrorCode::kIo, cells_path(folder) + ": expected a plain file");
  }
  return read_text_file(cells_path(folder));
}

Manifest read_manifest_file(const std::string& folder) {
  const std::string path = manifest_path(folder);
  return read_manifest(read_text_file(path), path);
}

[[noreturn]] void refuse(const std::string& folder, std::string_view what) {
  throw Error(ErrorCode::kUsage,
              fmt::format("{}: cannot resume: {}; choose another folder with --out", folder, what));
}

void check_same_run(const Manifest& stored, const Manifest& wanted, const std::string& folder) {
  if (stored.suite != wanted.suite || stored.num_cells != wanted.num_cells) {
    refuse(folder, fmt::format("its suite '{}' is not the same as this suite '{}'",
                               stored.suite.name, wanted.suite.name));
  }
  if (stored.root_seed != wanted.root_seed) {
    refuse(folder,
           fmt::format("it was run with seed {}, not {}", stored.root_seed, wanted.root_seed));
  }
  for (std::size_t i = 0; i < wanted.problems.size(); ++i) {
    if (i >= stored.problems.size() || stored.problems[i] != wanted.problems[i]) {
      refuse(folder, fmt::format("{} on {} has changed since", wanted.problems[i].graph,
                                 wanted.problems[i].cluster));
    }
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    fail_io(path, "cannot make the folder", error.value());
  }
}

}  // namespace

bool holds_store(const std::string& path) {
  // A run that was killed before it wrote its manifest leaves an empty cells.jsonl.
  std::error_code error;
  if (fs::exists(manifest_path(path), error)) {
    return true;
  }
  const std::uintmax_t bytes = fs::file_size(cells_path(path), error);
  return !error && bytes > 0;
}

struct ResultStore::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (file >= 0) {
      ::close(file);
    }
  }

  // Opens the file of cells and locks it against other writers.
  void open_cells(const std::string& folder) {
    path = cells_path(folder);
    file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) {
      fail_io(path, "cannot open", errno);
    }
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        throw Error(ErrorCode::kUsage, folder + ": another run is writing here");
      }
      fail_io(path, "cannot lock", errno);
    }
  }

  std::string path;
  int file = -1;
  std::size_t size = 0;
  std::mutex mutex;
  Manifest manifest;
  std::vector<CellResult> finished;
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
    throw Error(ErrorCode::kUsage,
                path +
                    ": the folder holds a run already; finish it with --resume, or choose "
                    "another folder with --out");
  }
  impl->manifest = manifest;
  if (exists) {
    impl->manifest = read_manifest_file(path);
    check_same_run(impl->manifest, manifest, path);
    impl->manifest.starts.insert(impl->manifest.starts.end(), manifest.starts.begin(),
                                 manifest.starts.end());
  }
  const std::string text = read_cells_text(path);
  impl->size = whole_lines(text).size();
  impl->finished = read_lines(whole_lines(text), impl->path, impl->manifest);
  if (impl->size != text.size()) {
    std::error_code error;
    fs::resize_file(impl->path, impl->size, error);
    if (error) {
      fail_io(impl->path, "cannot shorten", error.value());
    }
  }
  write_text_file(manifest_path(path), write_manifest(impl->manifest));
  return ResultStore(std::move(impl));
}

const Manifest& ResultStore::manifest() const { return impl_->manifest; }

const std::vector<CellResult>& ResultStore::finished() const { return impl_->finished; }

void ResultStore::append(const CellResult& result) {
  const std::string line = write_cell_result(result) + "\n";
  const std::lock_guard lock(impl_->mutex);
  for (std::string_view left = line; !left.empty();) {
    const ssize_t written = ::write(impl_->file, left.data(), left.size());
    if (written < 0 && errno != EINTR) {
      const int error = errno;
      // If this fails too, the torn line is dropped when the store is opened again.
      std::error_code ignored;
      fs::resize_file(impl_->path, impl_->size, ignored);
      fail_io(impl_->path, "cannot write", error);
    }
    left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  impl_->size += line.size();
}

StoredRun read_store(const std::string& path) {
  if (!holds_store(path)) {
    throw Error(ErrorCode::kIo, path + ": no results here (expected manifest.json, cells.jsonl)");
  }
  StoredRun run;
  run.manifest = read_manifest_file(path);
  const std::string text = read_cells_text(path);
  run.results = read_lines(whole_lines(text), cells_path(path), run.manifest);
  return run;
}

}  // namespace emplace::bench
