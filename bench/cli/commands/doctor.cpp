#include "command.hpp"
#include "facts/optional_parts.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/manifest.hpp>
#include <emplace/calibrate/cuda_device.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>

#include <CLI/Version.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace emplace::cli {
namespace {

// The GPUs that calibrate can measure, by product, or why there are none.
struct Gpus {
  std::vector<std::string> products{};
  std::string missing{};
};

Gpus find_gpus() {
  try {
    const calibrate::CudaDevices found = calibrate::cuda_devices({});
    Gpus gpus{.missing = found.missing};
    std::ranges::transform(found.devices, std::back_inserter(gpus.products),
                           [](const auto& device) { return device->facts().product; });
    return gpus;
  } catch (const calibrate::DeviceFailure& failure) {
    return {.missing = failure.what()};
  }
}

struct Diagnosis {
  bench::BuildInfo build = bench::build_info();
  bench::MachineInfo machine = bench::machine_info();
  std::size_t agents = agents::AgentRegistry::global().names().size();
  std::size_t graphs = GraphCatalog::global().names().size();
  std::size_t clusters = cluster_names().size();
  std::size_t suites = bench::suite_names().size();
  Gpus gpus = find_gpus();
};

Diagnosis diagnose() {
  Diagnosis diagnosis;
  diagnosis.build.libraries.emplace_back("cli11", CLI11_VERSION);
  return diagnosis;
}

std::string parts_as_text() {
  std::string text = "\noptional parts\n";
  for (const OptionalPart& part : optional_parts()) {
    text += fmt::format("  {:<18}{:<9}{}\n", part.name, part.present ? "present" : "missing",
                        part.brings);
    if (!part.present) {
      text += fmt::format("{:<29}to get it: {}\n", "", part.how_to_get);
    }
  }
  return text;
}

std::string to_text(const Diagnosis& diagnosis) {
  std::string text;
  const auto line = [&](std::string_view what, const std::string& value) {
    text += fmt::format("{:<11}{}\n", what, value);
  };
  const bench::BuildInfo& build = diagnosis.build;
  line("emplace", fmt::format("{}, git {}", build.version, build.git_revision));
  line("build", fmt::format("{}, {}", build.build_type, build.compiler));
  line("cpu", fmt::format("{}, {} cores", diagnosis.machine.cpu, diagnosis.machine.cores));
  line("memory",
       fmt::format("{:.1f} GB", static_cast<double>(diagnosis.machine.memory_bytes) / 1e9));
  line("system", diagnosis.machine.system);
  line("contents", fmt::format("{} agents, {} graphs, {} clusters, {} suites", diagnosis.agents,
                               diagnosis.graphs, diagnosis.clusters, diagnosis.suites));
  std::string libraries;
  for (const auto& [name, version] : build.libraries) {
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", name, version);
  }
  line("libraries", libraries);
  line("GPUs", diagnosis.gpus.products.empty()
                   ? fmt::format("none to calibrate: {}", diagnosis.gpus.missing)
                   : fmt::format("{}", fmt::join(diagnosis.gpus.products, ", ")));
  return text + parts_as_text();
}

Json to_json(const Diagnosis& diagnosis) {
  Json libraries = Json::object();
  for (const auto& [name, version] : diagnosis.build.libraries) {
    libraries.add(name, version);
  }
  Json parts = Json::array();
  for (const OptionalPart& part : optional_parts()) {
    parts.push_back({{"name", part.name},
                     {"brings", part.brings},
                     {"present", part.present},
                     {"how_to_get", part.how_to_get}});
  }
  return {{"schema_version", 1},
          {"version", diagnosis.build.version},
          {"git_revision", diagnosis.build.git_revision},
          {"build_type", diagnosis.build.build_type},
          {"compiler", diagnosis.build.compiler},
          {"cpu", diagnosis.machine.cpu},
          {"cores", diagnosis.machine.cores},
          {"memory_bytes", diagnosis.machine.memory_bytes},
          {"system", diagnosis.machine.system},
          {"agents", diagnosis.agents},
          {"graphs", diagnosis.graphs},
          {"clusters", diagnosis.clusters},
          {"suites", diagnosis.suites},
          {"gpus", diagnosis.gpus.products},
          {"why_no_gpus", diagnosis.gpus.missing},
          {"libraries", std::move(libraries)},
          {"optional_parts", std::move(parts)}};
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Show what this program and machine offer, and how to get what is missing");
  set_examples(*command, {"emplace doctor"});
  command->group("Look up");
  command->callback([&action] {
    action = [](const Invocation& invocation) {
      const Diagnosis diagnosis = diagnose();
      if (invocation.json) {
        print_json(to_json(diagnosis));
      } else {
        print_text(to_text(diagnosis));
      }
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
