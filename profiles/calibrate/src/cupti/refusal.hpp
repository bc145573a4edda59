#pragma once

// Says in plain words why CUPTI refused, and what can be done about it.

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace::calibrate {

/// Returns "<call>: <text> (<code>)" and, for codes (CUptiResult) whose cause is known, the cause
/// and its cure. `text` is CUPTI's own name of the code.
std::string explain_refusal(std::string_view call, std::uint32_t code, std::string_view text);

}  // namespace emplace::calibrate
