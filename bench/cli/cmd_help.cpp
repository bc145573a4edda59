#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "program.hpp"
#include "terminal.hpp"

#include <memory>
#include <string>
#include <vector>

namespace emplace::cli {

void add_help(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("help", "Show the help of the program or of a command");
  command->group("Help");
  set_examples(*command, {"emplace help place", "emplace help profile show"});
  const auto names = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *names, "The command; if omitted, the program")->type_name("");
  command->callback([names, &app, &action] {
    action = [names, &app](const Invocation&) {
      print(help_of(find_command(app, *names)));
      return Outcome::kOk;
    };
  });
}

void add_version(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("version", "Show the version and how the program was built");
  command->group("Help");
  set_examples(*command, {"emplace version"});
  command->callback([&action] {
    action = [](const Invocation&) {
      print(version_text() + "\n");
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
