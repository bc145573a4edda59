#include "help_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

namespace emplace::cli {
namespace {

constexpr std::size_t kMaxNameColumns = 26;

// Adds words to a line that is `column` wide already; further lines begin with `indent` blanks.
void add_words(std::string& text, std::string_view words, std::size_t column, std::size_t indent) {
  std::istringstream stream{std::string(words)};
  bool is_first = true;
  for (std::string word; stream >> word; is_first = false) {
    const std::size_t blanks = is_first ? 0 : 1;
    if (column + blanks + word.size() > kColumns) {
      text += '\n' + std::string(indent, ' ');
      column = indent;
    } else {
      text.append(blanks, ' ');
      column += blanks;
    }
    text += word;
    column += word.size();
  }
  text += '\n';
}

// Adds a name and its description beside it, or below where the name is long.
void add_entry(std::string& text, std::string_view name, std::string_view description,
               std::size_t name_columns) {
  const std::size_t indent = name_columns + 4;
  const bool is_long = name.size() > name_columns;
  text += is_long ? fmt::format("  {}", name) : fmt::format("  {:<{}}  ", name, name_columns);
  add_words(text, description, is_long ? kColumns : indent, indent);
}

// Adds a command line to copy: where it goes on in the next line, a line ends with a backslash.
void add_example(std::string& text, const std::string& example) {
  std::istringstream words(example);
  std::string line = " ";
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() + 2 > kColumns) {
      text += line + " \\\n";
      line = "   ";
    }
    line += ' ' + word;
  }
  text += line + '\n';
}

struct Entry {
  std::string name{};
  std::string description{};
};

struct Section {
  std::string title{};
  std::vector<Entry> entries{};
};

std::vector<Section> sections_of(const CLI::App& command) {
  std::vector<Section> sections;
  for (const CommandGroup& group : command_groups_of(command)) {
    Section& section = sections.emplace_back(Section{.title = group.title});
    for (const CLI::App* each : group.commands) {
      section.entries.push_back({each->get_name(), each->get_description()});
    }
  }
  for (const OptionGroup& group : option_groups_of(command)) {
    Section& section = sections.emplace_back(Section{.title = group.title});
    for (const CLI::Option* option : group.options) {
      section.entries.push_back({signature_of(*option), description_of(*option)});
    }
  }
  return sections;
}

// CLI11 appends what an option's value must hold: "N:INT in [1 - 1024]".
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

// "GRAPH" or "GRAPH..."
std::string with_dots(const std::string& name, const CLI::Option& option) {
  return option.get_items_expected_max() > 1 ? name + "..." : name;
}

const CLI::App& root_of(const CLI::App& command) {
  return command.get_parent() == nullptr ? command : root_of(*command.get_parent());
}

// Adds an option to the group of this title; new groups come last.
void add_option(std::vector<OptionGroup>& groups, const std::string& title,
                const CLI::Option* option) {
  auto group = std::ranges::find(groups, title, &OptionGroup::title);
  if (group == groups.end()) {
    group = groups.insert(groups.end(), {.title = title});
  }
  group->options.push_back(option);
}

}  // namespace

void set_examples(CLI::App& command, const std::vector<std::string>& examples) {
  command.footer(fmt::format("{}", fmt::join(examples, "\n")));
}

std::vector<std::string> examples_of(const CLI::App& command) {
  std::vector<std::string> examples;
  std::istringstream lines(command.get_footer());
  for (std::string line; std::getline(lines, line);) {
    examples.push_back(std::move(line));
  }
  return examples;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + ' ' + command.get_name();
}

std::string usage_of(const CLI::App& command) {
  std::string usage = full_name(command);
  if (!command.get_subcommands({}).empty()) {
    return usage + " COMMAND [options]";
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      const std::string name = with_dots(option->get_name(true), *option);
      usage += option->get_required() ? ' ' + name : " [" + name + ']';
    }
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && !option->get_positional()) {
      usage += fmt::format(" {} {}", option->get_name(), with_dots(type_of(*option), *option));
    }
  }
  return usage + " [options]";
}

std::string signature_of(const CLI::Option& option) {
  if (option.get_positional()) {
    return with_dots(option.get_name(true), option);
  }
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back('-' + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (option.get_items_expected_max() > 0) {
    text += ' ' + with_dots(type_of(option), option);
  }
  return text;
}

std::string description_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_positional() && option.nonpositional()) {
    text += fmt::format(" (or --{} {})", option.get_lnames().front(), type_of(option));
  }
  std::vector<std::string> notes;
  if (option.get_required() && !option.get_positional()) {
    notes.emplace_back("required");
  }
  if (!option.get_needs().empty()) {
    std::vector<std::string> needed;
    std::ranges::transform(option.get_needs(), std::back_inserter(needed),
                           [](const CLI::Option* other) { return other->get_name(); });
    notes.push_back(fmt::format("needs {}", fmt::join(needed, ", ")));
  }
  if (!option.get_default_str().empty()) {
    notes.push_back("default: " + option.get_default_str());
  }
  return notes.empty() ? text : fmt::format("{} [{}]", text, fmt::join(notes, "; "));
}

std::vector<OptionGroup> option_groups_of(const CLI::App& command) {
  std::vector<OptionGroup> groups;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      add_option(groups, "Arguments", option);
    }
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() && option != command.get_help_ptr() &&
        command.get_parent() != nullptr) {
      add_option(groups, option->get_group(), option);
    }
  }
  const CLI::App& root = root_of(command);
  for (const CLI::Option* option : root.get_options()) {
    if (&command == &root || option != root.get_version_ptr()) {
      add_option(groups, "General options", option);
    }
  }
  return groups;
}

std::vector<CommandGroup> command_groups_of(const CLI::App& command) {
  std::vector<CommandGroup> groups;
  for (const CLI::App* each : command.get_subcommands({})) {
    auto group = std::ranges::find(groups, each->get_group(), &CommandGroup::title);
    if (group == groups.end()) {
      group = groups.insert(groups.end(), {.title = each->get_group()});
    }
    group->commands.push_back(each);
  }
  return groups;
}

std::string help_of(const CLI::App& command) {
  std::string text;
  add_words(text, command.get_description() + '.', 0, 0);
  text += "\nUsage: ";
  add_words(text, usage_of(command), 7, 7 + full_name(command).size() + 1);
  const std::vector<Section> sections = sections_of(command);
  std::size_t name_columns = 0;
  for (const Section& section : sections) {
    for (const Entry& entry : section.entries) {
      if (entry.name.size() <= kMaxNameColumns) {
        name_columns = std::max(name_columns, entry.name.size());
      }
    }
  }
  for (const Section& section : sections) {
    text += fmt::format("\n{}:\n", section.title);
    for (const Entry& entry : section.entries) {
      add_entry(text, entry.name, entry.description, name_columns);
    }
  }
  if (const std::vector<std::string> examples = examples_of(command); !examples.empty()) {
    text += "\nExamples:\n";
    for (const std::string& example : examples) {
      add_example(text, example);
    }
  }
  return text;
}

}  // namespace emplace::cli
