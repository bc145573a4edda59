#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "picture_file.hpp"
#include "terminal.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/bench/fidelity.hpp>
#include <emplace/bench/published_steps.hpp>

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>

namespace emplace::cli {
namespace {

constexpr auto kFidelityFormats = std::to_array<AnswerFormat>({{"markdown", ".md"},
                                                               {"csv", ".csv"},
                                                               {"html", ".html"},
                                                               {"svg", ".svg"},
                                                               {"png", ".png", true},
                                                               {"pdf", ".pdf", true}});

struct ValidateOptions {
  std::string steps;
  std::string format;
  std::string output;
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
  return format == "json"   ? bench::write_json(fidelity)
         : format == "csv"  ? bench::write_csv(fidelity)
         : format == "html" ? bench::write_html(fidelity)
         : names_picture("." + format)
             ? encode_picture(bench::draw_fidelity(fidelity), "." + format)
         : format == "markdown" ? bench::write_markdown(fidelity)
                                : bench::write_terminal(fidelity, color, width);
}

void validate_published(const ValidateOptions& options, const Invocation& invocation) {
  const std::string format =
      choose_format(invocation.json, options.format, options.output, kFidelityFormats);
  const bool color = options.output.empty() && use_color(invocation.color);
  const std::string text =
      report_of(predict(options.steps), format, color, table_width(options.output));
  if (options.output.empty()) {
    print_as(format, text, color);
  } else {
    write_answer(options.output, text);
  }
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("validate", "Compare simulated steps with measured and published ones");
  command->group("Measure");
  set_examples(*command, {"emplace validate", "emplace validate -o steps.html"});
  const auto options = std::make_shared<ValidateOptions>();
  command
      ->add_option("--steps", options->steps, "File of published steps instead of the shipped ones")
      ->type_name("FILE")
      ->group("Published steps");
  add_format(*command, options->format, kFidelityFormats);
  add_output(*command, options->output,
             "Write the report here: .md, .csv, .json, .html, or a picture: .svg, .png, .pdf")
      ->default_str("standard output");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      validate_published(*options, invocation);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
