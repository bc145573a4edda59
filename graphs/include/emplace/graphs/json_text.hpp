#pragma once

// Text as JSON writes it, for writers that need nothing else of a JSON library: nlohmann's headers
// and its serializer cost each file that uses them several seconds of compile time.

#include <string>

namespace emplace {

/// Returns `text` as a JSON string, quoted and escaped; what is no UTF-8 becomes U+FFFD.
std::string json_text(const std::string& text);

}  // namespace emplace
