#include "command.hpp"
#include "help_text.hpp"
#include "man_page.hpp"
#include "terminal.hpp"

namespace emplace::cli {

void add_man(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("man", "Print the man page, for man to show");
  command->group("Help");
  set_examples(*command, {"emplace man | man -l -"});
  command->callback([&app, &action] {
    action = [&app](const Invocation&) {
      print(man_page(app));
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
