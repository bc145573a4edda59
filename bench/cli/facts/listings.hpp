#pragma once

// What `emplace list` tells: the names of a kind of thing, and the facts of each.

#include <emplace/agents/agent.hpp>
#include <emplace/base/json.hpp>
#include <emplace/base/params.hpp>
#include <emplace/bench/text_table.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::cli {

/// Holds the facts of one name.
struct ListingEntry {
  std::string name{};
  std::vector<std::string> cells{};  ///< one for each column of its Listing
  std::string summary{};
  std::string description{};
  std::string reference{};
  std::vector<ParamSpec> parameters{};
  std::vector<agents::Preset> presets{};
  Json json{};  ///< all facts
};

/// Describes a listing.
struct Listing {
  std::string_view what{};                          ///< "agents"
  std::string_view one{};                           ///< "agent"
  std::vector<bench::TextTable::Column> columns{};  ///< between the name and the summary
  std::vector<std::string> (*names)() = nullptr;
  ListingEntry (*entry)(const std::string& name) = nullptr;
};

/// Returns in words what the value of a parameter may be; `quote` is around each word to type.
std::string allowed_values(const ParamSpec& parameter, std::string_view quote = "");

/// Returns all listings, sorted by `what`.
std::span<const Listing> listings();

/// Returns the listing of `what`; throws kUsage with the nearest names.
const Listing& find_listing(const std::string& what);

}  // namespace emplace::cli
