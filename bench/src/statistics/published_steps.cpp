#include "suite/units.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/embedded.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/bench/published_steps.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace emplace::embedded {
// From bench/published, by emplace_embed() in CMakeLists.txt.
std::span<const Document> published();
}  // namespace emplace::embedded

namespace emplace::bench {
namespace {

constexpr std::string_view kStepsSchema = "emplace-published-steps";
constexpr std::int64_t kStepsVersion = 1;
constexpr std::int64_t kMaxBatch = 1'000'000;
constexpr std::int64_t kMaxDevices = 10'000;
constexpr double kMaxFigure = 1e12;
constexpr double kLeastFigure = 1e-6;
constexpr std::array kMaths = {kFloat32Math, kTf32Math};

std::string text_if_any(const JsonCursor& json, std::string_view key) {
  const auto found = json.find(key);
  return found ? found->non_empty_text() : "";
}

double figure_from_json(const JsonCursor& json) { return json.number(kLeastFigure, kMaxFigure); }

PublishedSource source_from_json(std::string name, const JsonCursor& json) {
  json.expect_only({"repository", "path", "commit", "licence"});
  return {.name = std::move(name),
          .repository = json.at("repository").non_empty_text(),
          .path = json.at("path").non_empty_text(),
          .commit = json.at("commit").non_empty_text(),
          .licence = json.at("licence").non_empty_text()};
}

std::size_t find_source(const JsonCursor& json, const std::vector<PublishedSource>& sources) {
  const std::string name = json.non_empty_text();
  const auto found = std::ranges::find(sources, name, &PublishedSource::name);
  if (found == sources.end()) {
    json.fail("expected a name of /sources");
  }
  return static_cast<std::size_t>(found - sources.begin());
}

PublishedGraph graph_from_json(const JsonCursor& json) {
  return {.name = json.at("graph").non_empty_text(),
          .batch = json.at("batch").integer(1, kMaxBatch),
          .options = text_if_any(json, "options")};
}

// The figure of a step: one of two units.
void read_figure(const JsonCursor& json, PublishedStep& step) {
  const auto rate = json.find("samples_per_s");
  const auto time = json.find("ms");
  if (rate.has_value() == time.has_value()) {
    json.fail("expected one of 'samples_per_s' and 'ms'");
  }
  if (rate) {
    step.samples_per_s = figure_from_json(*rate);
  } else {
    step.ms = figure_from_json(*time);
  }
}

void read_table(const JsonCursor& json, PublishedSteps& published) {
  json.expect_only({"source", "software", "device", "profile", "math", "note", "steps"});
  const PublishedStep head{.source = find_source(json.at("source"), published.sources),
                           .software = json.at("software").non_empty_text(),
                           .device = json.at("device").non_empty_text(),
                           .profile = json.at("profile").non_empty_text(),
                           .math = std::string(kMaths[json.at("math").one_of(kMaths)]),
                           .note = text_if_any(json, "note")};
  for (const JsonCursor& element : json.at("steps").elements()) {
    element.expect_only({"graph", "batch", "options", "samples_per_s", "ms", "used_for_fit"});
    PublishedStep& step = published.steps.emplace_back(head);
    step.graph = graph_from_json(element);
    read_figure(element, step);
    const auto used = element.find("used_for_fit");
    step.used_for_fit = used && used->boolean();
  }
}

PublishedSpeedup speedup_from_json(const JsonCursor& json,
                                   const std::vector<PublishedSource>& sources) {
  json.expect_only({"source", "software", "device", "cluster", "devices", "agent", "graph", "batch",
                    "options", "one_ms", "placed_ms", "note"});
  return {.source = find_source(json.at("source"), sources),
          .software = json.at("software").non_empty_text(),
          .device = json.at("device").non_empty_text(),
          .cluster = json.at("cluster").non_empty_text(),
          .devices = json.at("devices").integer(1, kMaxDevices),
          .agent = json.at("agent").non_empty_text(),
          .note = text_if_any(json, "note"),
          .graph = graph_from_json(json),
          .one_ms = figure_from_json(json.at("one_ms")),
          .placed_ms = figure_from_json(json.at("placed_ms"))};
}

}  // namespace

std::string PublishedGraph::spec() const {
  return fmt::format("{}:batch={}{}{}", name, batch, options.empty() ? "" : ",", options);
}

double PublishedStep::measured_us() const {
  EMPLACE_CHECK(samples_per_s.has_value() != ms.has_value(), "a step of {} without one figure",
                graph.spec());
  return kUsPerMs * (ms ? *ms : kMsPerS * static_cast<double>(graph.batch) / *samples_per_s);
}

PublishedSteps read_published_steps(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor json = document.root();
  json.expect_schema(kStepsSchema, kStepsVersion);
  json.expect_only({"schema", "version", "sources", "tables", "speedups"});
  PublishedSteps published;
  for (auto& [name, cursor] : json.at("sources").members()) {
    published.sources.push_back(source_from_json(std::move(name), cursor));
  }
  for (const JsonCursor& element : json.at("tables").elements()) {
    read_table(element, published);
  }
  if (const auto speedups = json.find("speedups")) {
    for (const JsonCursor& element : speedups->elements()) {
      published.speedups.push_back(speedup_from_json(element, published.sources));
    }
  }
  return published;
}

PublishedSteps shipped_published_steps() {
  const std::span<const embedded::Document> documents = embedded::published();
  EMPLACE_CHECK(documents.size() == 1, "{} files of published steps", documents.size());
  return read_published_steps(documents.front().text, documents.front().name);
}

}  // namespace emplace::bench
