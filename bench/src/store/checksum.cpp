
#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/checksum.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

namespace emplace::bench {
namespace {

constexpr std::string_view kKey = ",\"crc32\":\"";
constexpr std::string_view kEnd = "\"}";
constexpr std::size_t kDigits = 8;
constexpr std::size_t kTail = kKey.size() + kDigits + kEnd.size();
constexpr std::string_view kSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::string crc32_of(std::string_view text) {
  const uLong sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  return fmt::format("{:08x}", sum);
}

}  // namespace

std::string with_checksum(std::string_view text) {
  const std::string_view object = trimmed(text);
  EMPLACE_CHECK(object.ends_with('}'), "no object: {}", excerpt(object));
  const std::string_view body = trimmed(object.substr(0, object.size() - 1));
  return fmt::format("{}{}{}{}{}", body, kKey, crc32_of(body), kEnd, text.substr(object.size()));
}

bool has_checksum(std::string_view text) {
  // Near the end, spaces aside; elsewhere the word may be a part of some text.
  const std::string_view object = trimmed(text);
  const std::size_t key = object.rfind("\"crc32\"");
  return key != std::string_view::npos && key + 2 * kTail >= object.size();
}

void check_checksum(std::string_view text, const std::string& source) {
  if (!has_checksum(text)) {
    return;
  }
  const std::string_view object = trimmed(text);
  const std::string_view body = object.substr(0, object.size() - std::min(kTail, object.size()));
  if (object.substr(body.size()) != fmt::format("{}{}{}", kKey, crc32_of(body), kEnd)) {
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: the checksum does not match: the text is damaged (or was changed "
                            "by hand; then remove its last member, crc32)",
                            source));
  }
}

}  // namespace emplace::bench
