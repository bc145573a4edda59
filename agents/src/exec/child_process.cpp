#include "exec/child_process.hpp"

#include <emplace/agents/exec_protocol.hpp>
#include <emplace/base/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

namespace emplace::agents {
namespace {

// Whether a program has ended is asked that often, for others that it started may keep its output
// open.
constexpr int kAskMs = 20;

// Of standard error, so much is kept for the message.
constexpr std::size_t kKeptErrorBytes = 4096;
constexpr std::size_t kShownErrorBytes = 300;

std::string text_of(int error) { return strerrordesc_np(error); }

// A program that is not there is the user's mistake; that no process or pipe can be made now is a
// fault of the machine.
[[noreturn]] void fail_by_errno(const std::string& what, int error) {
  switch (error) {
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      throw std::system_error(error, std::generic_category(), what);
    default:
      throw Error(ErrorCode::kIo, fmt::format("{}: {}", what, text_of(error)));
  }
}

// Holds back SIGPIPE, which would end this program, while it writes to one that reads no more.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{};
      while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

// What posix_spawn is told, released at the end.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void connect(int ours, int theirs) { posix_spawn_file_actions_adddup2(&actions_, ours, theirs); }

  // A group of its own, with the signals as a shell gives them, and no other descriptors.
  void isolate() {
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }

  int start(std::vector<std::string> command) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& argument : command) {
      arguments.push_back(argument.data());
    }
    arguments.push_back(nullptr);
    int process = -1;
    const int error = posix_spawnp(&process, arguments.front(), &actions_, &attributes_,
                                   arguments.data(), environ);
    if (error != 0) {
      fail_by_errno(fmt::format("cannot start '{}'", excerpt(command.front())), error);
    }
    return process;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

int milliseconds_until(ChildProcess::Clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - ChildProcess::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kAskMs));
}

}  // namespace

struct ChildProcess::Pipe {
  Descriptor read;
  Descriptor write;
};

ChildProcess::Descriptor& ChildProcess::Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

void ChildProcess::Descriptor::close() {
  if (is_open()) {
    ::close(std::exchange(number_, -1));
  }
}

ChildProcess::Pipe ChildProcess::make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail_by_errno("cannot make a pipe", errno);
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

ChildProcess::ChildProcess(const Options& options) {
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  Pipe errors;
  SpawnPlan plan;
  plan.connect(input.read.number(), STDIN_FILENO);
  plan.connect(output.write.number(), STDOUT_FILENO);
  if (!options.shows_errors) {
    errors = make_pipe();
    plan.connect(errors.write.number(), STDERR_FILENO);
  }
  plan.isolate();
  process_ = plan.start(options.command);
  // It has begun already, but no program takes that much memory before its first instructions.
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::prlimit(process_, RLIMIT_CORE, &no_core, nullptr);
  if (options.memory_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(options.memory_bytes);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
    ::prlimit(process_, RLIMIT_DATA, &limit, nullptr);
  }
  input_ = std::move(input.write);
  output_ = std::move(output.read);
  errors_ = std::move(errors.read);
  for (const Descriptor* ours : {&input_, &output_, &errors_}) {
    if (ours->is_open()) {
      ::fcntl(ours->number(), F_SETFL, O_NONBLOCK);
    }
  }
}

ChildProcess::~ChildProcess() {
  // The group first: as long as nobody has waited for its leader, no other gets its number.
  ::kill(-process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::send(std::string_view line) {
  unwritten_.append(line);
  unwritten_ += '\n';
}

std::optional<std::string> ChildProcess::receive(Clock::time_point deadline) {
  while (true) {
    if (unwritten_.empty()) {
      if (std::optional<std::string> line = take_line()) {
        return line;
      }
      if (unread_.size() > kMaxLineBytes) {
        fail(fmt::format("wrote a line of more than {} MiB", kMaxLineBytes >> 20));
      }
    }
    // Asked first: what a program wrote before its end can then be read at once.
    const bool ended = !output_.is_open() || has_ended();
    const int timeout_ms = ended ? 0 : milliseconds_until(deadline);
    const std::size_t before = unread_.size();
    const bool had_all = unwritten_.empty();
    exchange(timeout_ms);
    if (ended && unread_.size() == before) {
      if (had_all) {
        fail_at_end();
      }
      unwritten_.clear();  // nobody will read it
      written_ = 0;
    } else if (timeout_ms == 0 && !ended) {
      return std::nullopt;
    }
  }
}

void ChildProcess::finish(Clock::time_point deadline) {
  input_.close();
  unwritten_.clear();
  while (!has_ended() && Clock::now() < deadline) {
    unread_.clear();  // nobody asks for it any more
    searched_ = 0;
    exchange(std::min(milliseconds_until(deadline), 2));
  }
}

// Waits until something can be read or written, and does so.
void ChildProcess::exchange(int timeout_ms) {
  std::array<pollfd, 3> ends{};
  ends[0] = {.fd = unwritten_.empty() ? -1 : input_.number(), .events = POLLOUT, .revents = 0};
  // No more than a line is read before what was sent is written.
  ends[1] = {
      .fd = unread_.size() > kMaxLineBytes ? -1 : output_.number(), .events = POLLIN, .revents = 0};
  ends[2] = {.fd = errors_.number(), .events = POLLIN, .revents = 0};
  if (::poll(ends.data(), ends.size(), timeout_ms) <= 0) {
    return;
  }
  if (ends[0].revents != 0) {
    write_some();
  }
  if (ends[1].revents != 0) {
    read_output();
  }
  if (ends[2].revents != 0) {
    read_errors();
  }
}

void ChildProcess::write_some() {
  const NoPipeSignal no_signal;
  const ssize_t count =
      ::write(input_.number(), unwritten_.data() + written_, unwritten_.size() - written_);
  if (count > 0) {
    written_ += static_cast<std::size_t>(count);
  } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
    input_.close();
  }
  if (written_ == unwritten_.size() || !input_.is_open()) {
    unwritten_.clear();
    written_ = 0;
  }
}

namespace {

// Adds what can be read now; returns false at the end of the file.
bool read_into(std::string& text, int descriptor) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const std::size_t before = text.size();
  text.resize(before + kPiece);
  const ssize_t count = ::read(descriptor, text.data() + before, kPiece);
  text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

void ChildProcess::read_output() {
  if (!read_into(unread_, output_.number())) {
    output_.close();
  }
}

void ChildProcess::read_errors() {
  const std::size_t before = last_errors_.size();
  if (!read_into(last_errors_, errors_.number())) {
    errors_.close();
  }
  error_bytes_ += last_errors_.size() - before;
  if (last_errors_.size() > kKeptErrorBytes) {
    last_errors_.erase(0, last_errors_.size() - kKeptErrorBytes);
  }
  if (error_bytes_ > kMaxErrorBytes) {
    fail(fmt::format("wrote more than {} MiB to standard error", kMaxErrorBytes >> 20));
  }
}

std::optional<std::string> ChildProcess::take_line() {
  const std::size_t end = unread_.find('\n', searched_);
  if (end > kMaxLineBytes) {  // as npos is
    searched_ = unread_.size();
    return std::nullopt;
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

bool ChildProcess::has_ended() const {
  siginfo_t info{};
  // It stays a zombie, so that its number is not given to another.
  return ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process_;
}

std::string ChildProcess::last_error() const {
  std::string_view text = last_errors_;
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) {
    return "";
  }
  text = text.substr(0, last + 1);
  text.remove_prefix(text.rfind('\n') + 1);  // npos + 1 is 0
  return fmt::format("; its standard error ends with: {}", excerpt(text, kShownErrorBytes));
}

void ChildProcess::fail(const std::string& what) const {
  throw Error(ErrorCode::kIo, "the program " + what + last_error());
}

// It has ended or closed its output, maybe with lines that were not read yet.
void ChildProcess::fail_at_end() {
  // Those that it started may keep its streams open, so no end of the file is waited for.
  constexpr auto kPatience = std::chrono::milliseconds(200);
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!has_ended() && Clock::now() < deadline) {
    exchange(1);
  }
  exchange(0);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (info.si_pid != process_) {
    fail("closed its standard output too early");
  }
  if (info.si_code == CLD_EXITED) {
    fail(fmt::format("exited with code {} too early", info.si_status));
  }
  fail(fmt::format("was killed by SIG{} ({})", sigabbrev_np(info.si_status),
                   sigdescr_np(info.si_status)));
}

}  // namespace emplace::agents
