#pragma once

// Checksums in JSON that emplace stores: the last member of the object is "crc32", eight
// hexadecimal digits, the CRC-32 of all bytes before the comma in front of it. Any change of up to
// 32 neighbouring bits is found, so a damaged file is never taken for a result. In Python:
//     zlib.crc32(text[:text.rindex(b',"crc32":"')])

#include <string>
#include <string_view>

namespace emplace::bench {

/// Returns the JSON object `text` with its checksum as the last member. Requires: an object with
/// members.
std::string with_checksum(std::string_view text);

/// Says whether the JSON object `text` has a checksum; who changes a file by hand removes it.
bool has_checksum(std::string_view text);

/// Throws kFormat if the JSON object `text` has a checksum that does not match; `source` names it
/// in errors.
void check_checksum(std::string_view text, const std::string& source);

}  // namespace emplace::bench
