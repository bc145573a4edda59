#include "program.hpp"

#include "help_text.hpp"
#include "numbers.hpp"

#include <emplace/agents/plugin_loader.hpp>
#include <emplace/bench/manifest.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace emplace::cli {

std::string version_text() {
  const bench::BuildInfo build = bench::build_info();
  return fmt::format("emplace {} (git {}, {}, {})", build.version, build.git_revision,
                     build.build_type, build.compiler);
}

namespace {

// What only those need who work on emplace itself.
void add_dev(CLI::App& app, Action& action) {
  CLI::App* dev = app.add_subcommand("dev", "Commands for those who develop emplace");
  dev->group("Help");
  dev->require_subcommand(1);
  add_best_known(*dev, action);
  add_check_agent(*dev, action);
  add_docs(*dev, action);
  add_fit(*dev, action);
}

}  // namespace

std::unique_ptr<CLI::App> make_program(Invocation& invocation, Action& action) {
  auto app = std::make_unique<CLI::App>(
      "Decide on which device each operation of a neural network runs", "emplace");
  app->get_help_ptr()->description("Show this help");
  app->set_version_flag("-V,--version", version_text(), "Show the version and how it was built");
  app->add_flag("-q,--quiet", invocation.quiet, "Show no progress, notes or warnings, only errors");
  app->add_flag("--json", invocation.json, "Print the answer as JSON");
  app->add_option("-j,--threads", invocation.threads, "Number of threads; results are the same")
      ->transform(whole_number_from(1, 1024))
      ->type_name("N")
      ->default_str("all cores");
  app->add_flag("--wide", invocation.wide, "Show all columns of tables, however wide the terminal");
  app->add_option("--color", invocation.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->capture_default_str();
  app->add_option_function<std::vector<std::string>>(
         "--plugin",
         [](const std::vector<std::string>& paths) {
           for (const std::string& path : paths) {
             agents::load_plugin(path);
           }
         },
         "Shared library whose agents are added (see examples/plugin); may be given more than once")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app->fallthrough();
  app->require_subcommand(0, 1);

  add_run(*app, action);
  add_report(*app, action);
  add_compare(*app, action);
  add_merge(*app, action);
  add_place(*app, action);
  add_simulate(*app, action);
  add_convert(*app, action);
  add_train(*app, action);
  add_list(*app, action);
  add_show(*app, action);
  add_doctor(*app, action);
  add_calibrate(*app, action);
  add_validate(*app, action);
  add_dev(*app, action);
  // Last, for commands begin with the examples of their parent.
  set_examples(*app, {"emplace run quickstart",
                      "emplace place inception-v3 --cluster p2-8xlarge-2 --agent hill-climb",
                      "emplace place --help"});
  return app;
}

}  // namespace emplace::cli
