// cli.md, from the tree of commands.

#include "exit_codes.hpp"
#include "help_text.hpp"
#include "reference/pages.hpp"

#include <fmt/format.h>

namespace emplace::cli {
namespace {

constexpr std::string_view kGeneralOptions = "General options";

void add_options(MarkdownPage& page, const OptionGroup& group) {
  for (const CLI::Option* option : group.options) {
    page.item(fmt::format("**`{}`**: {}", signature_of(*option), plain(description_of(*option))));
  }
}

// The commands that do something, with those that other commands have.
std::vector<const CLI::App*> actions_of(const CLI::App& command) {
  std::vector<const CLI::App*> actions;
  for (const CommandGroup& group : command_groups_of(command)) {
    for (const CLI::App* each : group.commands) {
      const std::vector<const CLI::App*> inner = actions_of(*each);
      actions.insert(actions.end(), inner.begin(), inner.end());
      if (inner.empty()) {
        actions.push_back(each);
      }
    }
  }
  return actions;
}

void add_command(MarkdownPage& page, const CLI::App& command) {
  page.heading(2, full_name(command));
  page.paragraph(sentence(command.get_description()));
  page.paragraph(fmt::format("Usage: `{}`", usage_of(command)));
  for (const OptionGroup& group : option_groups_of(command)) {
    if (group.title != kGeneralOptions) {
      page.paragraph(group.title + ":");
      add_options(page, group);
    }
  }
  if (const std::vector<std::string> examples = examples_of(command); !examples.empty()) {
    page.commands(examples);
  }
}

}  // namespace

std::string command_page(const CLI::App& program) {
  MarkdownPage page("The command line");
  page.paragraph(sentence(program.get_description()));
  page.paragraph(
      fmt::format("Usage: `{}`. Results go to standard output, notes and errors to standard error. "
                  "`emplace help COMMAND` prints the text below.",
                  usage_of(program)));
  std::vector<std::vector<std::string>> rows;
  const std::vector<const CLI::App*> commands = actions_of(program);
  for (const CLI::App* command : commands) {
    rows.push_back({link(code(full_name(*command)), anchor(full_name(*command))),
                    plain(command->get_description())});
  }
  page.table({"command", "what it does"}, rows);
  page.heading(2, "General options").paragraph("Every command takes them.");
  for (const OptionGroup& group : option_groups_of(program)) {
    if (group.title == kGeneralOptions) {
      add_options(page, group);
    }
  }
  page.heading(2, "Exit codes");
  for (const ExitCode& exit : kExitCodes) {
    page.item(fmt::format("**{}**: {}", exit.code, exit.meaning));
  }
  for (const CLI::App* command : commands) {
    add_command(page, *command);
  }
  return page.text();
}

}  // namespace emplace::cli
