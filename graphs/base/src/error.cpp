#include <emplace/base/error.hpp>
#include <emplace/base/name_kinds.hpp>
#include <emplace/base/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

// Number of names that a message lists where none is near.
constexpr std::size_t kMaxListed = 12;

std::vector<NameKind>& name_kinds() {
  static std::vector<NameKind> kinds;
  return kinds;
}

bool is_one_of(const NameKind& kind, std::string_view name) {
  const std::vector<std::string> names = kind.names();
  return std::ranges::find(names, name) != names.end();
}

std::string with_article(std::string_view noun) {
  constexpr std::string_view kVowels = "aeiou";
  const bool has_vowel = kVowels.find(noun.front()) != std::string_view::npos;
  return fmt::format("{} {}", has_vowel ? "an" : "a", noun);
}

bool contains(std::string_view text, std::string_view part) {
  return !part.empty() && text.find(part) != std::string_view::npos;
}

// Damerau-Levenshtein distance in its restricted form: no letter takes part in two edits.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') {
      letter = static_cast<char>(letter - 'A' + 'a');
    }
  }
  return lower;
}

std::string excerpt(std::string_view text, std::size_t max_bytes) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= max_bytes) {
      return shown + "...";
    }
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", first);
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> names,
                                       std::size_t count) {
  struct Candidate {
    std::size_t distance;
    std::string name;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 15 takes the 0 behind <=> for a pointer
    auto operator<=>(const Candidate&) const = default;
  };
  const std::string wanted = to_lower(name);
  std::vector<Candidate> candidates;
  for (const std::string& known : names) {
    const std::string offered = to_lower(known);
    const auto [shorter, longer] = std::minmax({wanted.size(), offered.size()});
    if (contains(wanted, offered) || contains(offered, wanted)) {
      candidates.push_back({longer - shorter, known});
    } else if (2 * (longer - shorter) <= longer) {
      const std::size_t distance = edit_distance(wanted, offered);
      if (2 * distance <= longer) {
        candidates.push_back({distance, known});
      }
    }
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.resize(std::min(candidates.size(), count));
  std::vector<std::string> nearest;
  nearest.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    nearest.push_back(std::move(candidate.name));
  }
  return nearest;
}

std::string suggest_names(std::string_view name, std::span<const std::string> names) {
  const std::vector<std::string> nearest = nearest_names(name, names);
  std::string text;
  if (!nearest.empty()) {
    for (std::size_t i = 0; i < nearest.size(); ++i) {
      text += i == 0 ? "; did you mean " : i + 1 == nearest.size() ? " or " : ", ";
      text += fmt::format("'{}'", nearest[i]);
    }
    return text + "?";
  }
  if (names.empty()) {
    return "; there are none";
  }
  for (std::size_t i = 0; i < std::min(names.size(), kMaxListed); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "; known: " : ", ", names[i]);
  }
  return text + (names.size() > kMaxListed ? ", ..." : "");
}

void tell_name_kinds(std::vector<NameKind> kinds) { name_kinds() = std::move(kinds); }

void throw_unknown_name(std::string_view what, std::string_view name,
                        std::span<const std::string> names) {
  for (const NameKind& kind : name_kinds()) {
    if (kind.what != what && is_one_of(kind, name)) {
      throw Error(ErrorCode::kUnknownName,
                  fmt::format("'{}' is {}, expected {}", name, with_article(kind.what),
                              with_article(what)));
    }
  }
  throw Error(ErrorCode::kUnknownName,
              fmt::format("unknown {} '{}'{}", what, excerpt(name), suggest_names(name, names)));
}

}  // namespace emplace
