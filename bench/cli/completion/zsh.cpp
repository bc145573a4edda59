#include "completion/scripts.hpp"
#include "completion/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace::cli {
namespace {

// Text between single quotes, where `marks` have a meaning for _arguments or _describe.
std::string escaped(std::string_view text, std::string_view marks) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (marks.find(c) != std::string_view::npos) {
      result += '\\';
    }
    result += c;
  }
  return result;
}

// What offers the values: "(fifo fair)", "_files", or a blank for nothing.
std::string action_of(const Values& values) {
  const std::string words = fmt::format("{}", fmt::join(values.words, " "));
  if (values.folders) {
    return "_files -/";
  }
  if (values.files) {
    return words.empty()
               ? "_files"
               : fmt::format("_alternative \"names:name:({})\" \"files:file:_files\"", words);
  }
  return words.empty() ? " " : fmt::format("({})", words);
}

std::string function_of(const std::string& path) {
  std::string name = "_emplace";
  for (const char c : path) {
    name += c == ' ' || c == '-' ? '_' : c;
  }
  return name;
}

class ZshScript {
 public:
  explicit ZshScript(const CLI::App& program) : program_(program) { add_command(program, ""); }

  std::string text() const {
    return fmt::format(
        R"script(#compdef emplace
# Completes command lines of emplace in zsh: source <(emplace completion zsh), or a file _emplace in $fpath
{}
if [[ $funcstack[1] == _emplace ]]; then
  _emplace "$@"
else
  compdef _emplace emplace
fi
)script",
        functions_);
  }

 private:
  // The lines of _arguments for an option or argument.
  std::vector<std::string> specs_of(const CLI::Option& option) const {
    const Values values = values_of(option, program_);
    const std::string description = escaped(option.get_description(), "[]:\\");
    const std::string action =
        values.name.empty() ? ""
                            : fmt::format(":{}:{}", values.name, escaped(action_of(values), ":"));
    std::vector<std::string> specs;
    for (const std::string& name : names_of(option)) {
      specs.push_back(fmt::format("'{}{}[{}]{}'", option.get_items_expected_max() > 1 ? "*" : "",
                                  name, description, action));
    }
    if (option.get_positional()) {
      specs.push_back(
          fmt::format("'{}{}'", option.get_items_expected_max() > 1 ? "*" : "", action));
    }
    return specs;
  }

  void add_command(const CLI::App& command, const std::string& path) {
    std::vector<std::string> specs;
    for (const CLI::Option* option : own_options_of(command)) {
      std::ranges::move(specs_of(*option), std::back_inserter(specs));
    }
    if (command.get_parent() != nullptr) {
      for (const CLI::Option* option : own_options_of(program_)) {
        std::ranges::move(specs_of(*option), std::back_inserter(specs));
      }
    }
    const std::vector<const CLI::App*> commands = command.get_subcommands({});
    if (commands.empty()) {
      functions_ += fmt::format("\n{}() {{\n  _arguments -s \\\n    {}\n}}\n", function_of(path),
                                fmt::join(specs, " \\\n    "));
      return;
    }
    std::string descriptions;
    std::string cases;
    for (const CLI::App* each : commands) {
      const std::string inner = path + " " + each->get_name();
      add_command(*each, inner);
      descriptions += fmt::format("      '{}:{}'\n", escaped(each->get_name(), ":"),
                                  escaped(each->get_description(), ":"));
      cases += fmt::format("    {}) {} ;;\n", each->get_name(), function_of(inner));
    }
    functions_ +=
        fmt::format(R"script(
{}() {{
  local context state state_descr line
  typeset -A opt_args
  _arguments -s -C \
    {} \
    '1:command:->command' \
    '*::argument:->arguments'
  case $state in
  command)
    local -a commands=(
{}    )
    _describe command commands
    ;;
  arguments)
    case $line[1] in
{}    esac
    ;;
  esac
}}
)script",
                    function_of(path), fmt::join(specs, " \\\n    "), descriptions, cases);
  }

  const CLI::App& program_;
  std::string functions_;
};

}  // namespace

std::string zsh_completion(const CLI::App& program) { return ZshScript(program).text(); }

}  // namespace emplace::cli
