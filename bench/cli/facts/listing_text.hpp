#pragma once

// Listings as text for people.

#include "listings.hpp"

#include <emplace/bench/text_table.hpp>

#include <string>
#include <vector>

namespace emplace::cli {

/// Returns a table whose last column goes on in the next line where the terminal is full.
std::string fitted_table(std::vector<bench::TextTable::Column> columns,
                         const std::vector<std::vector<std::string>>& rows);

/// Returns all that is known of an entry: its summary, facts, parameters and presets.
std::string details_of(const Listing& listing, const std::string& name);

/// Returns a table of parameters, or "" if there are none.
std::string parameters_of(const ListingEntry& entry);

}  // namespace emplace::cli
