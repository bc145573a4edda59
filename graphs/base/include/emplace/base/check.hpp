#pragma once

// Checks that only a bug in emplace can break. EMPLACE_CHECK is on in every build; its arguments
// after the condition are a fmt format string and values. EMPLACE_DCHECK is the same for inner
// loops and vanishes when NDEBUG is defined.

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace emplace {

/// Reports a broken invariant: an internal error of emplace, not in the user's input.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InternalError with the condition, its location and `message`.
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& message);

}  // namespace emplace

#define EMPLACE_CHECK(condition, ...)                                                      \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      ::emplace::check_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
    }                                                                                      \
  } while (false)

#ifdef NDEBUG
#define EMPLACE_DCHECK(condition, ...) \
  do {                                 \
  } while (false)
#else
#define EMPLACE_DCHECK(condition, ...) EMPLACE_CHECK(condition, __VA_ARGS__)
#endif
