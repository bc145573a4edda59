#pragma once

// Training steps that others measured on real machines and published; the simulator is judged by
// them (fidelity.hpp). A file lists tables of steps with their sources
// (bench/schema/published_steps.schema.json); that of bench/published is compiled into the library.
//
// Published figures are samples per second or milliseconds. A step on one device takes
// samples / rate. A speed-up is the step on one device over the step placed on several.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Names where figures were published.
struct PublishedSource {
  std::string name{};        ///< short, unique in its file
  std::string repository{};  ///< owner/name on GitHub
  std::string path{};
  std::string commit{};
  std::string licence{};

  bool operator==(const PublishedSource&) const = default;
};

/// Names a network as it was trained.
struct PublishedGraph {
  std::string name{};      ///< of the catalog
  std::int64_t batch = 1;  ///< samples in one step
  std::string options{};   ///< other parameters, "key=value,..."; may be empty

  /// Returns the text for load_graph().
  std::string spec() const;

  bool operator==(const PublishedGraph&) const = default;
};

/// How a device multiplies numbers of float32: in float32, or rounded to TF32.
inline constexpr std::string_view kFloat32Math = "float32";
inline constexpr std::string_view kTf32Math = "tf32";

/// One step on one device.
struct PublishedStep {
  std::size_t source = 0;  ///< index into PublishedSteps::sources
  std::string software{};  ///< framework and libraries with their versions
  std::string device{};    ///< as published
  std::string profile{};   ///< device profile used for it
  std::string math{};      ///< kFloat32Math or kTf32Math
  std::string note{};      ///< remarks; may be empty
  PublishedGraph graph{};
  std::optional<double> samples_per_s{};  ///< as published, or
  std::optional<double> ms{};             ///< as published
  bool used_for_fit =
      false;  ///< a shipped profile was fitted to it, so it does not count in errors

  /// Returns the time of the step.
  double measured_us() const;

  bool operator==(const PublishedStep&) const = default;
};

/// How much faster a placed step was than the step on one device.
struct PublishedSpeedup {
  std::size_t source = 0;  ///< index into PublishedSteps::sources
  std::string software{};
  std::string device{};      ///< as published
  std::string cluster{};     ///< cluster used for the machine
  std::int64_t devices = 1;  ///< the first devices of the cluster that agents may choose, this many
  std::string agent{};       ///< the agent that places in the same way: NAME[:key=value,...]
  std::string note{};
  PublishedGraph graph{};
  double one_ms = 0;     ///< on one device
  double placed_ms = 0;  ///< on all

  /// Returns the step on one device over the placed step.
  double measured() const { return one_ms / placed_ms; }

  bool operator==(const PublishedSpeedup&) const = default;
};

/// A file.
struct PublishedSteps {
  std::vector<PublishedSource> sources{};  ///< sorted by name
  std::vector<PublishedStep> steps{};      ///< in the order of the file
  std::vector<PublishedSpeedup> speedups{};

  bool operator==(const PublishedSteps&) const = default;
};

/// Reads such a file; `source` names it in errors. Throws kFormat. Whether graphs, profiles,
/// clusters and agents exist is not checked.
PublishedSteps read_published_steps(std::string_view text, const std::string& source);

/// Returns the steps that this program was built with.
PublishedSteps shipped_published_steps();

}  // namespace emplace::bench
