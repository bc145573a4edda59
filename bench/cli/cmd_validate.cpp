#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "terminal.hpp"

#include <emplace/bench/fidelity.hpp>
#include <emplace/bench/published_steps.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace emplace::cli {
namespace {

constexpr std::string_view kSvg = ".svg";
constexpr std::array<std::string_view, 2> kPictures = {kSvg, ".html"};

struct ValidateOptions {
  std::string steps;
  std::string format = "terminal";
  std::string output;
  std::string picture;
};

bench::Fidelity predict(const std::string& steps) {
  ProgressLine line;
  return bench::predict_published(steps.empty()
                                      ? bench::shipped_published_steps()
                                      : bench::read_published_steps(read_text_file(steps), steps),
                                  [&](std::size_t done, std::size_t all, const std::string& next) {
                                    line.show(fmt::format("[{}/{}] {}", done, all, next));
                                  });
}

std::string report_of(const bench::Fidelity& fidelity, const std::string& format, bool color,
                      std::size_t width) {
  if (format == "json") {
    return bench::write_json(fidelity);
  }
  if (format == "csv") {
    return bench::write_csv(fidelity);
  }
  return format == "markdown" ? bench::write_markdown(fidelity)
                              : bench::write_terminal(fidelity, color, width);
}

void validate_published(const ValidateOptions& options, const Invocation& invocation) {
  const std::array<std::pair<std::string_view, std::string>, 2> files = {
      {{"--output", options.output}, {"--picture", options.picture}}};
  refuse_same_files(files);
  if (!options.picture.empty()) {
    check_picture_path(options.picture, kPictures);
  }
  const bench::Fidelity fidelity = predict(options.steps);
  if (!options.picture.empty()) {
    write_text_file(options.picture, options.picture.ends_with(kSvg)
                                         ? bench::draw_fidelity(fidelity)
                                         : bench::write_html(fidelity));
  }
  const bool color = options.output.empty() && use_color(invocation.color);
  const std::string text =
      report_of(fidelity, options.format, color, options.output.empty() ? table_width() : 0);
  if (options.output.empty()) {
    print_as(options.format, text, color);
  } else {
    write_text_file(options.output, text);
  }
}

void add_published(CLI::App& parent, Action& action) {
  CLI::App* command = parent.add_subcommand(
      "published", "Simulate training steps that others measured and published, and compare");
  command->group("Commands");
  set_examples(*command, {"emplace validate published",
                          "emplace validate published --format csv -o steps.csv "
                          "--picture steps.html"});
  const auto options = std::make_shared<ValidateOptions>();
  command
      ->add_option("--steps", options->steps, "File of published steps instead of the shipped ones")
      ->type_name("FILE");
  add_format(*command, options->format, {"terminal", "markdown", "json", "csv"});
  add_output(*command, options->output, "Write the report here")->default_str("standard output");
  command
      ->add_option("--picture", options->picture,
                   "Draw predicted against measured steps: FILE.svg, or FILE.html with tables")
      ->type_name("FILE")
      ->group("Output");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      validate_published(*options, invocation);
      return Outcome::kOk;
    };
  });
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("validate", "Compare simulated steps with steps that were measured");
  command->group("Exchange and measure");
  command->require_subcommand(1);
  add_published(*command, action);
}

}  // namespace emplace::cli
