#pragma once

// The protocol of programs that place, which the agent `exec` runs: its name, its version, and its
// limits. docs/reference/agent-protocol.md describes the messages.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace emplace::agents {

/// The name of the protocol, and the version that this program speaks.
inline constexpr std::string_view kExecProtocol = "emplace-agent";
inline constexpr std::int64_t kExecProtocolVersion = 1;

/// The most placements in one request.
inline constexpr std::size_t kMaxBatch = 65'536;

/// The most bytes of a line that a program writes, and of all that it writes to standard error.
inline constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxErrorBytes = std::size_t{64} << 20;

/// How long a program may continue after the user stopped the search, and after it gave its
/// placement, in seconds.
inline constexpr double kStopGraceS = 2;
inline constexpr double kEndGraceS = 1;

}  // namespace emplace::agents
