#include "completion/values.hpp"

#include "listings.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/placement_format.hpp>

#include <algorithm>
#include <sstream>

namespace emplace::cli {
namespace {

// "GRAPH" of "GRAPH..." and of "GRAPH,...", "N" of "N:INT in [0 - 5]".
std::string value_name(const CLI::Option& option) {
  const std::string name = option.get_positional() ? option.get_name(true) : option.get_type_name();
  return name.substr(0, name.find_first_of(":,. "));
}

// The words of an option that takes one of a set: CLI11 tells them as "{auto,always,never}".
std::vector<std::string> set_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}');
  std::vector<std::string> words;
  if (begin != std::string::npos && end != std::string::npos) {
    std::istringstream set(type.substr(begin + 1, end - begin - 1));
    for (std::string word; std::getline(set, word, ',');) {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<std::string> profile_and_cluster_names() {
  std::vector<std::string> names = device_profile_names();
  std::ranges::copy(cluster_names(), std::back_inserter(names));
  return names;
}

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> listing_names() {
  std::vector<std::string> names;
  for (const Listing& listing : listings()) {
    names.emplace_back(listing.what);
  }
  return names;
}

}  // namespace

Values values_of(const CLI::Option& option, const CLI::App& program) {
  if (option.get_items_expected_max() == 0) {
    return {};
  }
  Values values{.name = value_name(option), .words = set_of(option)};
  const auto set = [&](std::vector<std::string> words, bool files) {
    values.words = std::move(words);
    values.shared = true;
    values.files = files;
  };
  if (!values.words.empty()) {
    return values;
  }
  if (values.name == "AGENT") {
    set(agents::AgentRegistry::global().names(), false);
  } else if (values.name == "GRAPH") {
    set(GraphCatalog::global().names(), true);
  } else if (values.name == "CLUSTER") {
    set(cluster_names(), true);
  } else if (values.name == "SUITE") {
    set(bench::suite_names(), true);
  } else if (values.name == "PROFILE") {
    set(profile_and_cluster_names(), true);
  } else if (values.name == "FORMAT") {
    set(GraphFormats::global().names(), false);
  } else if (values.name == "OUTPUT_FORMAT") {
    std::vector<std::string> names = GraphFormats::global().names();
    std::ranges::copy(placement_format_names(), std::back_inserter(names));
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    set(std::move(names), false);
  } else if (values.name == "GROUPING") {
    set(grouping_names(), false);
  } else if (values.name == "COMMAND") {
    set(command_names(program), false);
  } else if (values.name == "WHAT") {
    set(listing_names(), false);
  } else if (values.name == "FILE") {
    values.files = true;
  } else if (values.name == "DIR" || values.name == "STORE") {
    values.folders = true;
  }
  return values;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

std::vector<const CLI::Option*> own_options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : command.get_options()) {
    if (option != command.get_help_ptr() || command.get_parent() == nullptr) {
      options.push_back(option);
    }
  }
  return options;
}

}  // namespace emplace::cli
