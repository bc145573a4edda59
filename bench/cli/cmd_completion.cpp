#include "command.hpp"
#include "completion/scripts.hpp"
#include "help_text.hpp"
#include "terminal.hpp"

#include <CLI/Validators.hpp>

#include <memory>
#include <string>

namespace emplace::cli {

void add_completion(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("completion", "Print a script that lets a shell complete command lines");
  command->group("Help");
  set_examples(*command, {"source <(emplace completion bash)", "source <(emplace completion zsh)",
                          "emplace completion fish | source"});
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("");
  command->callback([shell, &app, &action] {
    action = [shell, &app](const Invocation&) {
      print(*shell == "bash"  ? bash_completion(app)
            : *shell == "zsh" ? zsh_completion(app)
                              : fish_completion(app));
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
