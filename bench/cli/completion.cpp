#include "completion.hpp"

#include "facts/listings.hpp"
#include "help_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

// The types of values, and the listings that have their names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kListedTypes = {{
    {"AGENT", "agents"},
    {"ANYTHING", "agents"},
    {"ANYTHING", "clusters"},
    {"ANYTHING", "graphs"},
    {"ANYTHING", "profiles"},
    {"ANYTHING", "suites"},
    {"CLUSTER", "clusters"},
    {"FORMAT", "formats"},
    {"GRAPH", "graphs"},
    {"GROUPING", "groupings"},
    {"OUTPUT_FORMAT", "formats"},
    {"OUTPUT_FORMAT", "placement-formats"},
    {"PROFILE", "clusters"},
    {"PROFILE", "profiles"},
    {"SUITE", "suites"},
}};
constexpr std::array<std::string_view, 6> kFileTypes = {"ANYTHING", "CLUSTER", "FILE",
                                                        "GRAPH",    "PROFILE", "SUITE"};

// "GRAPH" of "GRAPH...", "N" of "N:INT in [0 - 5]"; of an argument without a type its name.
std::string value_type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string name = type.substr(0, type.find_first_of(":,. "));
  return name.empty() ? option.get_name(true) : name;
}

// The words of an option that takes one of a set, which CLI11 describes as "{auto,always,never}".
std::vector<std::string> set_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::istringstream set(type.substr(std::min(type.find('{'), type.size())));
  set.get();
  std::vector<std::string> words;
  for (std::string word; std::getline(set, word, ',');) {
    words.push_back(word.substr(0, word.find('}')));
  }
  return words;
}

bool has_names(std::string_view type, std::string_view listing) {
  return std::ranges::find(kListedTypes, std::pair(type, listing)) != kListedTypes.end();
}

class Completion {
 public:
  explicit Completion(const CLI::App& program) : program_(program), command_(&program) {}

  // Reads a word before the one to complete.
  void read(const std::string& word) {
    previous_ = word;
    if (word.starts_with('-')) {
      const std::size_t equals = word.find('=');
      option_ = find_option(word.substr(0, equals));
      given_.insert(option_);
      may_end_ = false;
      if (equals != std::string::npos || option_ == nullptr ||
          option_->get_items_expected_max() == 0) {
        option_ = nullptr;
      }
    } else if (option_ != nullptr) {
      may_end_ = true;
      if (option_->get_items_expected_max() == 1 || !option_->get_allow_extra_args()) {
        option_ = nullptr;
      }
    } else if (const CLI::App* inner = find_inner(word)) {
      command_ = inner;
    } else {
      ++num_arguments_;
    }
  }

  std::string answer(const std::string& word) {
    word_ = word;
    if (word.starts_with('-')) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        add_options();
      } else if (const CLI::Option* option = find_option(word.substr(0, equals))) {
        add_values(*option, equals + 1);
      }
    } else if (!command_->get_subcommands({}).empty() && option_ == nullptr) {
      add_commands(*command_);
    } else {
      const CLI::Option* argument = find_argument();
      if (option_ != nullptr) {
        add_values(*option_, 0);
      }
      if (argument != nullptr && (option_ == nullptr || may_end_)) {
        add_values(*argument, 0);
      }
    }
    return fmt::format("{}{}\n", candidates_, paths_);
  }

 private:
  const CLI::Option* find_option(const std::string& name) const {
    const CLI::Option* option = command_->get_option_no_throw(name);
    return option != nullptr ? option : program_.get_option_no_throw(name);
  }

  const CLI::App* find_inner(const std::string& name) const {
    for (const CLI::App* inner : command_->get_subcommands({})) {
      if (inner->get_name() == name) {
        return inner;
      }
    }
    return nullptr;
  }

  // The next argument; the last may repeat.
  const CLI::Option* find_argument() const {
    std::size_t left = num_arguments_;
    for (const CLI::Option* option : command_->get_options()) {
      if (option->get_positional() && (left-- == 0 || option->get_items_expected_max() > 1)) {
        return option;
      }
    }
    return nullptr;
  }

  void add(const std::string& candidate, std::string_view description) {
    if (candidate.starts_with(word_)) {
      candidates_ +=
          description.empty() ? candidate : fmt::format("{}\t{}", candidate, description);
      candidates_ += '\n';
    }
  }

  void add_commands(const CLI::App& command) {
    for (const CLI::App* inner : command.get_subcommands({})) {
      add(inner->get_name(), inner->get_description());
    }
  }

  void add_options() {
    const auto is_given = [this](const CLI::Option* option) { return given_.contains(option); };
    for (const OptionGroup& group : option_groups_of(*command_)) {
      for (const CLI::Option* option : group.options) {
        if ((is_given(option) && option->get_items_expected_max() <= 1) ||
            std::ranges::any_of(option->get_excludes(), is_given)) {
          continue;
        }
        for (const std::string& name : option->get_snames()) {
          add('-' + name, option->get_description());
        }
        for (const std::string& name : option->get_lnames()) {
          add("--" + name, option->get_description());
        }
      }
    }
  }

  // The value begins in the word at `begin`.
  void add_values(const CLI::Option& option, std::size_t begin) {
    const std::vector<std::string> set = set_of(option);
    for (const std::string& value : set) {
      add(word_.substr(0, begin) + value, "");
    }
    if (!set.empty()) {
      return;
    }
    const std::string type = value_type_of(option);
    for (const Listing& listing : listings()) {
      if (type == "WHAT") {
        add(word_.substr(0, begin) + std::string(listing.what), "");
      } else if (has_names(type, listing.what) || (type == "NAME" && listing.what == previous_)) {
        add_names(listing, begin);
      }
    }
    if (type == "COMMAND") {
      add_commands(program_);
    } else if (std::ranges::find(kFileTypes, type) != kFileTypes.end()) {
      paths_ = ":files";
    } else if (type == "DIR") {
      paths_ = ":folders";
    }
  }

  // The names of a listing; after "NAME:" the parameters of that one.
  void add_names(const Listing& listing, std::size_t begin) {
    const std::string value = word_.substr(begin);
    const std::size_t colon = value.find(':');
    for (const std::string& name : listing.names()) {
      if (colon == std::string::npos && name.starts_with(value)) {
        add(word_.substr(0, begin) + name, listing.entry(name).summary);
      } else if (colon != std::string::npos && name == value.substr(0, colon)) {
        const std::string before = word_.substr(0, word_.find_last_of(":,") + 1);
        for (const ParamSpec& parameter : listing.entry(name).parameters) {
          add_parameter(parameter, before + parameter.name + '=');
        }
      }
    }
  }

  void add_parameter(const ParamSpec& parameter, const std::string& assignment) {
    if (!word_.starts_with(assignment)) {
      add(assignment, parameter.summary);
    } else if (std::holds_alternative<bool>(parameter.default_value)) {
      add(assignment + "true", "");
      add(assignment + "false", "");
    } else {
      for (const std::string& choice : parameter.choices) {
        add(assignment + choice, "");
      }
    }
  }

  const CLI::App& program_;
  const CLI::App* command_;
  const CLI::Option* option_ = nullptr;  // whose value comes next
  bool may_end_ = false;                 // it has a value, but takes more
  std::set<const CLI::Option*> given_;
  std::size_t num_arguments_ = 0;
  std::string previous_;
  std::string word_;
  std::string candidates_;
  std::string_view paths_ = ":none";
};

}  // namespace

std::string completions(const CLI::App& program, std::span<const std::string> words) {
  const std::string last = words.empty() ? "" : words.back();
  if (last.find_first_of("\t\n") != std::string::npos) {
    return ":none\n";
  }
  Completion completion(program);
  for (const std::string& word : words.first(words.empty() ? 0 : words.size() - 1)) {
    completion.read(word);
  }
  return completion.answer(last);
}

}  // namespace emplace::cli
