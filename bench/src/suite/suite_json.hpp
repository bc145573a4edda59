#pragma once

// A suite as part of a JSON document: a file of its own, or the manifest of a run.

#include <emplace/base/json.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/bench/suite.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace emplace::bench {

/// What a suite calls its format, and the latest version of it.
inline constexpr std::string_view kSuiteSchema = "emplace-suite";
inline constexpr std::int64_t kSuiteVersion = 1;

/// Says whether the names in a suite must be known to this program. A run that was made elsewhere
/// can be read and reported without its agents.
enum class KnownNames { kRequired, kAny };

/// Reads the suite at `json`. `extended` holds the suite that it extends, the one which that one
/// extends, and so on. A member that is missing is inherited from the first of them that has it.
/// What an inherited member says of graphs, clusters or agents that are no longer there is left
/// out. Throws kFormat.
Suite suite_from_json(const JsonCursor& json, KnownNames known_names,
                      std::span<const JsonCursor> extended = {});

/// Returns the suite as JSON.
Json suite_to_json(const Suite& suite);

/// Says whether a name of a suite or cluster is the path of a file.
bool names_file(std::string_view name_or_path);

}  // namespace emplace::bench
