#pragma once

// Runs a program that talks with this one in lines, on its standard streams. Whatever it does, it
// cannot harm its parent: it leads a process group that is killed as a whole, inherits no
// descriptors, has a memory limit, and nothing waits for it longer than the caller says. What it
// writes is read up to limits; writing to a program that reads nothing blocks nobody.
//
// Any number of threads may each have children; one child belongs to one thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::agents {

/// Runs one program. Functions throw Error with the whole reason where it misbehaves: where it
/// exits, is killed by a signal, closes its output or writes too much.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    /// The program, which is looked for in PATH if it names no folder, and its arguments.
    std::vector<std::string> command{};
    std::int64_t memory_bytes = 0;  ///< most data of each of its processes; 0 for no limit
    bool shows_errors = false;      ///< its standard error is that of this program
  };

  /// Starts the program. Throws where there is none or the system has no room for it.
  explicit ChildProcess(const Options& options);

  /// Kills its process group, and waits for its end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Adds `line` and a line feed to what is written to it as it reads.
  void send(std::string_view line);

  /// Returns its next line, without the line feed, as soon as it has read all that was sent before;
  /// nothing if that is not until `deadline`. What it does not read since it closed its input is
  /// dropped.
  std::optional<std::string> receive(Clock::time_point deadline);

  /// Closes its input and lets it end by itself until `deadline`.
  void finish(Clock::time_point deadline);

  /// Returns " (its standard error ends with: ...)", or nothing where it wrote none.
  std::string last_error() const;

 private:
  // A descriptor that closes itself.
  class Descriptor {
   public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
    Descriptor& operator=(Descriptor&& other) noexcept;
    void close();
    int number() const { return number_; }
    bool is_open() const { return number_ >= 0; }

   private:
    int number_;
  };
  struct Pipe;

  static Pipe make_pipe();

  bool has_ended() const;
  void exchange(int timeout_ms);
  void write_some();
  void read_output();
  void read_errors();
  std::optional<std::string> take_line();
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_at_end();

  int process_ = -1;
  Descriptor input_;   // of the program; this end writes
  Descriptor output_;  // of the program; this end reads
  Descriptor errors_;
  std::string unwritten_;
  std::size_t written_ = 0;   // of unwritten_
  std::string unread_;        // output that was not taken yet
  std::size_t searched_ = 0;  // of unread_, without a line feed
  std::string last_errors_;
  std::size_t error_bytes_ = 0;
};

}  // namespace emplace::agents
