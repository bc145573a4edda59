#pragma once

// A library that pretends to be CUPTI, as far as emplace uses it, and does as a test tells it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace emplace::test {

/// Holds what the library is to do, and what it was asked to do.
struct FakeCupti {
  // To be set by tests.
  std::uint32_t version = 130001;
  std::map<std::uint32_t, std::size_t> record_bytes{};  ///< by kind
  std::map<std::uint32_t, int> refusals{};              ///< codes of cuptiActivityEnable, by kind
  int push_result = 0;
  std::vector<std::uint8_t> pending{};  ///< records that the next flush hands out
  bool held_back = false;               ///< only a forced flush hands them out
  std::size_t dropped = 0;              ///< records, since last asked

  // To be seen by tests.
  std::set<std::uint32_t> enabled{};  ///< kinds
  std::vector<std::uint64_t> ids{};   ///< external ids that are pushed
  int forced_flushes = 0;
};

}  // namespace emplace::test

/// Returns the state of the library.
extern "C" emplace::test::FakeCupti* fake_cupti();
