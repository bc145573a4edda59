#include "command.hpp"
#include "facts/profile_report.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/calibrate/sample_fit.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

struct FitOptions {
  std::vector<std::string> samples;
  std::vector<std::string> proxies;
  std::string device;
  std::string output;
};

std::vector<calibrate::SampleTable> read_tables(const std::vector<std::string>& paths) {
  std::vector<calibrate::SampleTable> tables;
  tables.reserve(paths.size());
  for (const std::string& path : paths) {
    tables.push_back(calibrate::read_sample_table(path));
  }
  return tables;
}

bench::TextTable report_table(const std::vector<calibrate::FitReport>& reports) {
  using Align = bench::TextTable::Align;
  bench::TextTable table({{"op class"},
                          {"case", Align::kLeft, 1},
                          {"proxy", Align::kLeft, 7},
                          {"form", Align::kLeft, 5},
                          {"fixed [us]", Align::kRight, 4},
                          {"compute", Align::kRight, 3},
                          {"memory", Align::kRight, 3},
                          {"samples", Align::kRight, 5},
                          {"median", Align::kRight, 4},
                          {"mean", Align::kRight, 2},
                          {"left out: median", Align::kRight, 6},
                          {"mean", Align::kRight, 2}});
  for (const calibrate::FitReport& report : reports) {
    const Roofline& roofline = report.which.roofline;
    table.add_row({std::string(to_string(report.op_class)), calibrate::describe(report.which),
                   report.which.proxy, std::string(to_string(roofline.form)),
                   fmt::format("{:.2f}", roofline.fixed_us), percent(roofline.compute_efficiency),
                   percent(roofline.memory_efficiency), fmt::format("{}", report.errors.predicted),
                   percent(report.errors.median), percent(report.errors.mean),
                   percent(report.held_out.median), percent(report.held_out.mean)});
  }
  return table;
}

Json to_json(const calibrate::FitReport& report) {
  return {{"op_class", to_string(report.op_class)},
          {"case", calibrate::describe(report.which)},
          {"proxy", report.which.proxy},
          {"form", to_string(report.which.roofline.form)},
          {"samples", report.errors.predicted},
          {"median_error", report.errors.median},
          {"mean_error", report.errors.mean},
          {"median_error_left_out", report.held_out.median},
          {"mean_error_left_out", report.held_out.mean}};
}

void fit(const FitOptions& options, bool json) {
  if (options.samples.empty() && options.proxies.empty()) {
    throw Error(ErrorCode::kUsage, "give --samples, or --proxies, or both");
  }
  const std::vector<DeviceProfile> bases = load_device_profiles(options.device);
  if (bases.size() != 1) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--device: '{}' has {} device profiles, expected one",
                            excerpt(options.device), bases.size()));
  }
  const std::string today = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  const calibrate::SampleFit fitted = calibrate::fit_to_samples(
      bases.front(), read_tables(options.samples), read_tables(options.proxies), today);
  for (const std::string& unused : fitted.unused) {
    note(escape_terminal(fmt::format("emplace: warning: not fitted to {}", unused)));
  }
  write_answer(options.output, write_device_profile_json(fitted.profile));
  if (json) {
    Json cases = Json::array();
    for (const calibrate::FitReport& report : fitted.reports) {
      cases.push_back(to_json(report));
    }
    print_json(Json{{"schema_version", 1},
                    {"profile", fitted.profile.name},
                    {"output", options.output},
                    {"cases", std::move(cases)},
                    {"unused", fitted.unused}});
    return;
  }
  print_text(
      fmt::format("{}\nerrors are |ln(predicted / measured)|, of the samples and of shapes "
                  "left out\nwrote {}\n",
                  report_table(fitted.reports).to_terminal(false, table_width()), options.output));
}

}  // namespace

void add_fit(CLI::App& dev, Action& action) {
  CLI::App* command = dev.add_subcommand("fit", "Fit a device profile to tables of op samples");
  command->group("Commands");
  set_examples(*command, {"emplace dev fit --samples v100.csv.gz --device v100 -o v100.json"});
  const auto options = std::make_shared<FitOptions>();
  command
      ->add_option("--samples", options->samples, "Tables of op times on the device, CSV or CSV.gz")
      ->type_name("FILE");
  command
      ->add_option("--proxies", options->proxies,
                   "Tables of other devices, for what is missing in the samples")
      ->type_name("FILE");
  command
      ->add_option("--device", options->device,
                   "Device profile with the peaks: a name (emplace list profiles), or a file")
      ->required()
      ->type_name("PROFILE");
  add_output(*command, options->output, "Write the fitted profile here", "FILE.json")->required();
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      fit(*options, invocation.json);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
