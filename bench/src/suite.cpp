#include "suite_json.hpp"
#include "suite_names.hpp"

#include <emplace/bench/suite.hpp>
#include <emplace/graphs/embedded.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

namespace emplace::embedded {
std::span<const Document> suites();
}  // namespace emplace::embedded

namespace emplace::bench {

Suite read_suite(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  return suite_from_json(document.root(), KnownNames::kRequired);
}

std::string write_suite(const Suite& suite) { return suite_to_json(suite).dump(2) + "\n"; }

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const embedded::Document& document : embedded::suites()) {
    names.emplace_back(document.name);
  }
  std::ranges::sort(names);
  return names;
}

Suite load_suite(std::string_view name_or_path) {
  if (names_file(name_or_path)) {
    const std::string path(name_or_path);
    return read_suite(read_text_file(path), path);
  }
  for (const embedded::Document& document : embedded::suites()) {
    if (name_or_path == document.name) {
      return read_suite(document.text, "suite " + std::string(document.name));
    }
  }
  throw_unknown_name("suite", name_or_path, suite_names());
}

}  // namespace emplace::bench
