#include "completion/scripts.hpp"
#include "completion/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace::cli {
namespace {

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result + "'";
}

class FishScript {
 public:
  explicit FishScript(const CLI::App& program) : program_(program) {
    for (const CLI::Option* option : own_options_of(program)) {
      add_option(*option, "");
    }
    add_commands(program, "__fish_use_subcommand");
  }

  const std::string& text() const { return text_; }

 private:
  // `condition` says where on the line the commands may stand.
  void add_commands(const CLI::App& command, const std::string& condition) {
    for (const CLI::App* each : command.get_subcommands({})) {
      const std::string& name = each->get_name();
      text_ += fmt::format("complete -c emplace -n {} -a {} -d {}\n", shell_quoted(condition), name,
                           shell_quoted(each->get_description()));
      const std::string seen =
          command.get_parent() == nullptr
              ? "__fish_seen_subcommand_from " + name
              : fmt::format("__fish_seen_subcommand_from {}; and __fish_seen_subcommand_from {}",
                            command.get_name(), name);
      for (const CLI::Option* option : own_options_of(*each)) {
        add_option(*option, seen);
      }
      const std::vector<const CLI::App*> inner = each->get_subcommands({});
      if (!inner.empty()) {
        std::string condition_of_inner = seen;
        for (const CLI::App* other : inner) {
          condition_of_inner += "; and not __fish_seen_subcommand_from " + other->get_name();
        }
        add_commands(*each, condition_of_inner);
      }
    }
  }

  void add_option(const CLI::Option& option, const std::string& condition) {
    const Values values = values_of(option, program_);
    std::string line = "complete -c emplace";
    if (!condition.empty()) {
      line += " -n " + shell_quoted(condition);
    }
    std::string choices;
    if (!values.words.empty()) {
      choices = " -a " + shell_quoted(fmt::format("{}", fmt::join(values.words, " ")));
    } else if (values.folders) {
      choices = " -a '(__fish_complete_directories)'";
    }
    if (values.files) {
      choices += " -F";
    }
    if (option.get_positional() && !choices.empty()) {
      text_ += line + choices + "\n";
    }
    if (names_of(option).empty()) {
      return;
    }
    for (const std::string& name : option.get_snames()) {
      line += " -s " + name;
    }
    for (const std::string& name : option.get_lnames()) {
      line += " -l " + name;
    }
    if (!values.name.empty()) {
      line += values.files ? " -r" : " -x";
      line += choices;
    }
    text_ += fmt::format("{} -d {}\n", line, shell_quoted(option.get_description()));
  }

  const CLI::App& program_;
  std::string text_ =
      "# Completes command lines of emplace in fish: emplace completion fish | source\n"
      "complete -c emplace -f\n";
};

}  // namespace

std::string fish_completion(const CLI::App& program) { return FishScript(program).text(); }

}  // namespace emplace::cli
