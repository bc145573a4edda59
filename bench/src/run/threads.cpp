#include <emplace/base/check.hpp>
#include <emplace/bench/threads.hpp>

#include <execinfo.h>
#include <tbb/info.h>

#include <array>
#include <latch>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace emplace::bench {

int available_threads(int wanted) {
  const int count = wanted == 0 ? tbb::info::default_concurrency() : wanted;
  EMPLACE_CHECK(count > 0, "{} threads", count);
  // Where a thread has to be unwound, glibc loads libgcc_s, and ends the process where that
  // fails for want of memory; so it is loaded while there is some.
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), 1);
  // All at once, as limits count those that live.
  std::latch all_tried(1);
  std::vector<std::jthread> threads;
  try {
    threads.reserve(static_cast<std::size_t>(count));
    while (static_cast<int>(threads.size()) + 1 < count) {
      threads.emplace_back([&all_tried] { all_tried.wait(); });
    }
  } catch (const std::system_error&) {  // so many and no more
  } catch (const std::bad_alloc&) {
  }
  all_tried.count_down();
  return static_cast<int>(threads.size()) + 1;
}

}  // namespace emplace::bench
