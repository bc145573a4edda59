// The program `emplace`. Only here do outcomes and errors become exit codes:
//   0 ok, 1 internal error, 2 usage, 3 bad input, 4 some cells failed, 5 regression,
//   6 no placement that fits, 130 interrupted.

#include "command.hpp"
#include "completion.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "program.hpp"
#include "ranks.hpp"
#include "stop_signal.hpp"
#include "terminal.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/bench/name_kinds.hpp>
#include <emplace/bench/text_table.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using emplace::Error;
using emplace::ErrorCode;
using emplace::cli::Outcome;

int exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return 0;
    case Outcome::kSomeCellsFailed:
      return 4;
    case Outcome::kRegression:
      return 5;
    case Outcome::kOutOfMemory:
      return 6;
    case Outcome::kInterrupted:
      return 130;
  }
  return 1;
}

int exit_code(ErrorCode code) { return code == ErrorCode::kUsage ? 2 : 3; }

// An error is one line, and no page, whatever a file that it quotes may hold.
int report_error(std::string_view prefix, const std::string& text, int code) {
  constexpr std::size_t kMostBytes = 4000;
  const std::string rank = emplace::cli::rank_name();
  emplace::cli::print_error(fmt::format("{}: {}{}{}{}", prefix, rank, rank.empty() ? "" : ": ",
                                        emplace::escape_terminal(text.substr(0, kMostBytes)),
                                        text.size() > kMostBytes ? "..." : ""));
  return code;
}

int run_command(int argc, const char* const* argv) {
  emplace::cli::Invocation invocation;
  invocation.arguments.assign(argv, argv + argc);
  emplace::cli::Action action;
  const auto program = emplace::cli::make_program(invocation, action);
  if (!emplace::cli::parse(*program, argc, argv)) {
    emplace::cli::flush();
    return 0;
  }
  if (!action) {
    emplace::cli::print_error(emplace::cli::help_of(*program));
    return exit_code(ErrorCode::kUsage);
  }
  emplace::cli::show_notes(!invocation.quiet);
  emplace::cli::show_wide(invocation.wide);
  const Outcome outcome = action(invocation);
  emplace::cli::flush();
  emplace::cli::leave_ranks(exit_code(outcome), outcome != Outcome::kInterrupted);
  return exit_code(outcome);
}

int run(int argc, const char* const* argv) {
  try {
    return run_command(argc, argv);
  } catch (const emplace::cli::ToldByRoot&) {
    emplace::cli::leave_ranks(1, true);  // waits for the root, which ends all
    return 1;
  } catch (const Error& error) {
    return report_error("emplace", error.what(),
                        emplace::cli::was_interrupted() ? exit_code(Outcome::kInterrupted)
                                                        : exit_code(error.code()));
  } catch (const std::bad_alloc&) {
    return report_error("emplace", "out of memory", 1);
  } catch (const std::system_error& error) {
    return report_error("emplace", error.what(), 1);
  } catch (const emplace::InternalError& error) {
    return report_error("emplace", error.what(), 1);
  } catch (const std::exception& error) {
    return report_error("emplace: internal error", error.what(), 1);
  }
}

// Answers a shell, which calls `emplace __complete WORD...` at each tab. An error would only
// disturb the line that the user types.
int complete(const std::vector<std::string>& words) {
  try {
    emplace::cli::Invocation invocation;
    emplace::cli::Action action;
    const auto program = emplace::cli::make_program(invocation, action);
    emplace::cli::print(emplace::cli::completions(*program, words));
    emplace::cli::flush();
  } catch (const std::exception&) {
  }
  return 0;
}

// The system's, which names the exception and aborts.
std::terminate_handler abort_program = nullptr;

// Memory may lack before main() and in threads, where nothing catches.
[[noreturn]] void end_program() {
  try {
    if (const std::exception_ptr current = std::current_exception()) {
      std::rethrow_exception(current);
    }
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kText = "emplace: out of memory\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
    std::_Exit(1);
  } catch (...) {
    abort_program();
  }
  std::abort();
}

// Before all other objects of the program are made.
[[gnu::constructor(101)]] void begin_program() { abort_program = std::set_terminate(end_program); }

// A standard stream that is closed would lend its number to the next file that is opened, and what
// is printed would land in that. Standard output is opened for reading, so that printing still
// fails.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  // A file that may grow no further is told by the write that fails.
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc > 1 && std::string_view(argv[1]) == "__complete") {
    return complete({argv + 2, argv + argc});
  }
  emplace::bench::tell_name_kinds();
  const int code = run(argc, argv);
  emplace::cli::leave_ranks(code, false);
  return code;
}
