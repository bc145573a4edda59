#include "man_page.hpp"

#include "exit_codes.hpp"
#include "help_text.hpp"

#include <emplace/bench/manifest.hpp>

#include <fmt/format.h>

#include <cctype>

namespace emplace::cli {
namespace {

constexpr std::string_view kGeneralOptions = "General options";

// Text that shows as it is. A line that begins with a dot or a quote would be a request.
std::string shown(std::string_view text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// Text in one argument of a macro.
std::string argument(std::string_view text) {
  std::string result;
  for (const char c : shown(text)) {
    result += c == '"' ? std::string("\\(dq") : std::string(1, c);
  }
  return fmt::format("\"{}\"", result);
}

std::string options_of(const OptionGroup& group) {
  std::string page;
  for (const CLI::Option* option : group.options) {
    page += fmt::format(".TP\n.B {}\n{}\n", shown(signature_of(*option)),
                        shown(description_of(*option) + "."));
  }
  return page;
}

std::string general_options_of(const CLI::App& program) {
  for (const OptionGroup& group : option_groups_of(program)) {
    if (group.title == kGeneralOptions) {
      return options_of(group);
    }
  }
  return "";
}

std::string examples(const CLI::App& command) {
  std::string lines;
  for (const std::string& example : examples_of(command)) {
    lines += shown(example) + "\n";
  }
  return lines.empty() ? "" : fmt::format(".PP\n.EX\n.RS\n{}.RE\n.EE\n", lines);
}

std::string command_section(const CLI::App& command) {
  std::string page;
  for (const CommandGroup& group : command_groups_of(command)) {
    for (const CLI::App* each : group.commands) {
      page += command_section(*each);
    }
  }
  if (!page.empty()) {
    return page;
  }
  page =
      fmt::format(".SS {}\n{}.\n", argument(usage_of(command)), shown(command.get_description()));
  for (const OptionGroup& group : option_groups_of(command)) {
    if (group.title != kGeneralOptions) {
      page += options_of(group);
    }
  }
  return page + examples(command);
}

}  // namespace

std::string man_page(const CLI::App& program) {
  std::string page = fmt::format(".TH EMPLACE 1 \"\" \"emplace {}\" \"User Commands\"\n",
                                 bench::build_info().version);
  std::string summary = program.get_description();
  summary[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary[0])));
  page += fmt::format(".SH NAME\nemplace \\- {}\n", shown(summary));
  page += fmt::format(".SH SYNOPSIS\n.B {}\n", shown(usage_of(program)));
  page +=
      ".SH DESCRIPTION\n"
      "An agent places a graph of ops on a cluster of devices, and\n.B emplace\nsimulates the "
      "resulting step. Results go to standard output, notes and errors to standard error.\n";
  page += examples(program);
  page += ".SH COMMANDS\n" + command_section(program);
  page += ".SH GENERAL OPTIONS\n" + general_options_of(program);
  page += ".SH EXIT STATUS\n";
  for (const ExitCode& exit : kExitCodes) {
    page += fmt::format(".TP\n.B {}\n{}\n", exit.code, shown(exit.meaning));
  }
  page +=
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf it is set, output at a terminal has no colour "
      "unless\n.B \\-\\-color\nasks for it.\n";
  return page;
}

}  // namespace emplace::cli
