// A folder of results: its manifest, on one line, and the lines of its cells. If they are those of
// a run, it is reported in all forms, exported, and compared with itself.

#include "fuzz_target.hpp"

#include <emplace/bench/report.hpp>
#include <emplace/bench/report_page.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/result_tables.hpp>
#include <emplace/bench/run_comparison.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace {

namespace bench = emplace::bench;
namespace fs = std::filesystem;

// A folder for as long as the program runs.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "emplace_fuzz_XXXXXX").string()) {
    EMPLACE_CHECK(mkdtemp(path_.data()) != nullptr, "no folder {}", path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
  }

 private:
  std::string path_;
};

void try_store(std::string_view input) {
  static const Folder folder;
  const std::size_t line = input.find('\n');
  if (line == std::string_view::npos) {
    return;
  }
  folder.write("manifest.json", input.substr(0, line));
  folder.write("cells.jsonl", input.substr(line + 1));
  const bench::StoredRun run = bench::read_store(folder.path());
  const bench::Report report = bench::make_report(run);
  bench::write_terminal(report, true);
  bench::write_markdown(report);
  bench::write_json(report);
  bench::write_latex(report);
  bench::write_csv(report);
  bench::write_html(report, run, {});
  for (const bench::ResultTable& table : bench::result_tables()) {
    bench::write_csv(table, run);
  }
  const bench::RunComparison comparison = bench::compare_runs(run, run, 0.02);
  EMPLACE_CHECK(comparison.count(bench::Verdict::kSlower) == 0, "it is slower than itself");
  bench::write_terminal(comparison, false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    try_store({reinterpret_cast<const char*>(data), size});
  } catch (const emplace::Error&) {  // the answer to bad input
  }
  return 0;
}
