#include <emplace/base/error.hpp>
#include <emplace/base/random.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/checksum.hpp>
#include <emplace/bench/merge_stores.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_policies.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace emplace::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 3;  // conflicts in an error, which is one line

// The fingerprint of all that must agree.
std::uint64_t fingerprint(CellResult result) {
  result.wall_s = 0;
  for (Improvement& improvement : result.history) {
    improvement.seconds = 0;
  }
  return stable_hash(write_cell_result(result));
}

std::string describe(const Cell& cell) {
  return fmt::format("{} ({} on {}, {}, repetition {})", cell.id(), cell.graph, cell.cluster,
                     cell.agent.text(), cell.repetition);
}

// Where something was found first, and what it was.
struct Found {
  std::size_t store = 0;
  std::uint64_t fingerprint = 0;
};

// Collects what differs, to be told in one error.
class Conflicts {
 public:
  explicit Conflicts(const std::vector<std::string>& folders) : folders_(folders) {}

  void add(std::size_t first, std::size_t second, const std::string& what) {
    if (++count_ <= kMostNamed) {
      named_ += fmt::format("{}{} of {} and {}", named_.empty() ? "" : "; ", what, folders_[first],
                            folders_[second]);
    }
  }

  void refuse_any(std::string_view kind) const {
    if (count_ > 0) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format(
              "cannot merge: {} differ: {}{}", kind, named_,
              count_ > kMostNamed ? fmt::format("; and {} more", count_ - kMostNamed) : ""));
    }
  }

 private:
  const std::vector<std::string>& folders_;
  std::string named_;
  std::size_t count_ = 0;
};

// Returns the names of the files in the policies of a store, without temporary ones.
std::vector<std::string> policy_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder + "/policies", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

std::string policy_path(const std::string& folder, const std::string& name) {
  return folder + "/policies/" + name;
}

// Returns the first store that has each policy file. Throws kFormat if two are not the same.
std::map<std::string, Found> find_policies(const std::vector<std::string>& folders) {
  std::map<std::string, Found> policies;
  Conflicts conflicts(folders);
  for (std::size_t store = 0; store < folders.size(); ++store) {
    for (const std::string& name : policy_files(folders[store])) {
      const std::string path = policy_path(folders[store], name);
      const std::string text = read_plain_file(path);
      check_checksum(text, path);
      const std::uint64_t hash = stable_hash(text);
      const auto [found, is_new] = policies.emplace(name, Found{store, hash});
      if (!is_new && found->second.fingerprint != hash) {
        conflicts.add(found->second.store, store, name);
      }
    }
  }
  conflicts.refuse_any("policies");
  return policies;
}

// The manifest of the united store; the stores must be of one run.
class UnitedManifest {
 public:
  void add(const Manifest& manifest, const std::string& folder) {
    if (!first_folder_.empty()) {
      if (const std::optional<std::string> other = difference(manifest, united_)) {
        throw Error(ErrorCode::kFormat,
                    fmt::format("{}: cannot merge with {}: {}", folder, first_folder_, *other));
      }
      united_.starts.insert(united_.starts.end(), manifest.starts.begin(), manifest.starts.end());
    } else {
      first_folder_ = folder;
      united_ = manifest;
      united_.shard = {};
      united_.num_shard_cells = 0;
    }
    shards_.push_back(manifest.shard);
  }

  Manifest manifest() const {
    Manifest united = united_;
    std::ranges::stable_sort(united.starts, {}, &Start::time);
    return united;
  }

  bool has_several_builds() const {
    return std::ranges::any_of(united_.starts, [&](const Start& start) {
      return start.build != united_.starts.front().build;
    });
  }

  // Returns the shards that are not there, if all stores are shards of one count.
  std::vector<Shard> absent() const {
    std::set<std::int64_t> given;
    for (const Shard& shard : shards_) {
      if (shard.is_whole() || shard.count != shards_.front().count) {
        return {};
      }
      given.insert(shard.index);
    }
    std::vector<Shard> absent;
    for (Shard shard{.index = 1, .count = shards_.front().count}; shard.index <= shard.count;
         ++shard.index) {
      if (!given.contains(shard.index)) {
        absent.push_back(shard);
      }
    }
    return absent;
  }

 private:
  std::string first_folder_;
  Manifest united_;
  std::vector<Shard> shards_;
};

using FoundById = std::unordered_map<std::string, Found>;

// Returns the cells of the suite whose ids are not in `found`.
std::vector<Cell> missing_cells(const Manifest& manifest, const FoundById& found) {
  std::vector<Cell> missing;
  if (std::cmp_equal(found.size(), manifest.num_cells)) {
    return missing;
  }
  for (Cell& cell : cells_of(manifest.suite, manifest.root_seed)) {
    if (!found.contains(cell.id())) {
      missing.push_back(std::move(cell));
    }
  }
  return missing;
}

}  // namespace

Merge merge_stores(const std::vector<std::string>& folders, const std::string& output) {
  UnitedManifest united;
  FoundById found;
  Merge merge;
  std::set<std::string> used;  // by cells: the hashes of plans
  Conflicts conflicts(folders);
  for (std::size_t store = 0; store < folders.size(); ++store) {
    const StoredRun read = read_store(folders[store], [&](CellResult result) {
      const std::string id = result.cell.id();
      const std::string name = describe(result.cell);
      used.insert(result.cell.training);
      const std::uint64_t print = fingerprint(std::move(result));
      const auto [first, is_new] = found.emplace(id, Found{store, print});
      merge.num_duplicates += is_new ? 0 : 1;
      if (!is_new && first->second.fingerprint != print) {
        conflicts.add(first->second.store, store, name);
      }
    });
    united.add(read.manifest, folders[store]);
  }
  conflicts.refuse_any("results");
  const std::map<std::string, Found> policies = find_policies(folders);
  merge.manifest = united.manifest();
  merge.has_several_builds = united.has_several_builds();
  merge.absent = united.absent();
  merge.num_cells = static_cast<std::int64_t>(found.size());
  merge.missing = missing_cells(merge.manifest, found);
  for (const SuiteTraining& training :
       trainings_of(merge.manifest.suite, merge.manifest.root_seed)) {
    if (used.contains(hash_of(training.plan)) && !policies.contains(training.file_name())) {
      merge.missing_policies.push_back(training.file_name());
    }
  }

  ResultStore merged = ResultStore::open(output, merge.manifest, false);
  std::error_code ignored;  // writing tells why it could not
  if (!policies.empty()) {
    fs::create_directories(output + "/policies", ignored);
  }
  for (const auto& [name, where] : policies) {
    write_text_file(policy_path(output, name),
                    read_plain_file(policy_path(folders[where.store], name)));
    merge.num_policies += name.ends_with(".curve.json") ? 0 : 1;
  }
  for (std::size_t store = 0; store < folders.size(); ++store) {
    read_store(folders[store], [&](const CellResult& result) {
      const auto first = found.find(result.cell.id());
      // A run that is still writing may have more by now; those are left for another merge.
      if (first != found.end() && first->second.store == store) {
        merged.append(result);
      }
    });
  }
  return merge;
}

}  // namespace emplace::bench
