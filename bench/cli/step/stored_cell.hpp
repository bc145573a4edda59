#pragma once

// A cell of a run, found by what the user says of it.

#include "options.hpp"

#include <emplace/bench/result_store.hpp>

namespace emplace::cli {

/// Returns the chosen cell, which has a placement. Throws Error: kUsage if the choice is not of one
/// problem, kUnknownName if there is no such cell or more than one, kUnsupported if it has no
/// placement.
const bench::CellResult& find_cell(const bench::StoredRun& run, const CellChoice& choice);

}  // namespace emplace::cli
