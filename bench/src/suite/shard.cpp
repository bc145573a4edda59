#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/shard.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <queue>
#include <system_error>
#include <utility>

namespace emplace::bench {
namespace {

// Reads all of `text` as a number from 1 to `most`; 0 if it is none.
std::int64_t number_of(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 1 && number <= most ? number : 0;
}

void append(std::vector<std::size_t>& all, const std::vector<std::size_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::string Shard::text() const { return fmt::format("{}/{}", index, count); }

std::string Shard::name_of_run(const std::string& suite) const {
  return is_whole() ? suite : fmt::format("{}-shard-{}-of-{}", suite, index, count);
}

Shard read_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::int64_t count = number_of(text.substr(slash + 1), kMaxShards);
    const std::int64_t index = number_of(text.substr(0, slash), count);
    if (index > 0) {
      return {.index = index, .count = count};
    }
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("--shard: expected I/N with I from 1 to N and N at most {}, such as 2/8, "
                          "found '{}'",
                          kMaxShards, excerpt(text)));
}

std::vector<ShardWork> divide(const std::vector<Piece>& pieces, std::int64_t count) {
  EMPLACE_CHECK(count >= 1 && count <= kMaxShards, "{} shards", count);
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t piece) { return pieces[piece].work; });
  using Load = std::pair<double, std::size_t>;  // work, shard: equal loads by their number
  std::vector<Load> loads;
  loads.reserve(static_cast<std::size_t>(count));
  for (std::size_t shard = 0; shard < static_cast<std::size_t>(count); ++shard) {
    loads.emplace_back(0, shard);
  }
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least(std::greater<>(),
                                                                     std::move(loads));
  std::vector<ShardWork> shards(static_cast<std::size_t>(count));
  for (const std::size_t at : order) {
    const std::size_t shard = least.top().second;
    least.pop();
    ShardWork& work = shards[shard];
    append(work.cells, pieces[at].cells);
    append(work.trainings, pieces[at].trainings);
    work.work += pieces[at].work;
    least.emplace(work.work, shard);
  }
  for (ShardWork& work : shards) {
    std::ranges::sort(work.cells);
    std::ranges::sort(work.trainings);
  }
  return shards;
}

}  // namespace emplace::bench
