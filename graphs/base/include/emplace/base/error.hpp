#pragma once

// User errors, reported so that they can be fixed. Every message names the file and the place in
// it, or the name that was not found with the nearest names that exist. Outcomes such as an
// out-of-memory placement are values, not errors; bugs in emplace itself are in check.hpp.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// What kind of mistake an Error reports.
enum class ErrorCode {
  kUsage,        ///< a wrong flag, argument or parameter
  kIo,           ///< a file that cannot be read or written
  kFormat,       ///< a file with invalid content
  kUnknownName,  ///< a graph, cluster, agent, suite or device that does not exist
  kUnsupported,  ///< a valid request that this build or version cannot serve
};

/// Reports a user's mistake. The text is complete: it needs no context from the catcher.
class Error : public std::runtime_error {
 public:
  /// Makes an error of kind `code` whose whole text is `message`.
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  /// Returns the kind of mistake.
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Returns an excerpt of a user's text for an error message: at most about `max_bytes` long, and
/// with control characters and bytes that are not UTF-8 written as \xNN.
std::string excerpt(std::string_view text, std::size_t max_bytes = 60);

/// Returns at most `count` of `names`, nearest first: by the number of letters to insert, delete,
/// replace or swap (case ignored), then by name. Names are left out if more than half of the
/// longer one would have to change and neither contains the other.
std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> names,
                                       std::size_t count = 3);

/// Returns `text` with the letters A to Z in lower case.
std::string to_lower(std::string_view text);

/// Returns the end of a message about an unknown name: "; did you mean 'a' or 'b'?", or the first
/// names if none is near.
std::string suggest_names(std::string_view name, std::span<const std::string> names);

/// Throws kUnknownName: "unknown <what> '<name>'; did you mean 'a' or 'b'?".
[[noreturn]] void throw_unknown_name(std::string_view what, std::string_view name,
                                     std::span<const std::string> names);

}  // namespace emplace
