#include "suite_cell.hpp"
#include "task_threads.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/rank_executor.hpp>
#include <emplace/bench/result_store.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace emplace::bench {
namespace {

// What a text between root and rank is.
enum Kind : int {
  kReady,    // to the root: the number of threads
  kPolicy,   // from the root: the hash of a plan and the file of the policy that it gave
  kPlace,    // from the root: the number of a task and the id of a cell
  kTrain,    // from the root: the number of a task and the name of a policy's file
  kResult,   // to the root: the number of a task and what it gave
  kFault,    // to the root: the number of a task and what the machine lacked for it
  kFailure,  // to the root: why a task could not be computed
  kDismiss,  // from the root: there is no more
};

// How long a rank that has nothing to do waits until it looks for texts again.
class Pause {
 public:
  /// Returns the next wait.
  std::chrono::microseconds next() {
    return std::exchange(length_, std::min(2 * length_, kLongest));
  }
  /// Says that there was something to do.
  void reset() { length_ = kShortest; }

 private:
  static constexpr std::chrono::microseconds kShortest{20};
  static constexpr std::chrono::microseconds kLongest{1000};
  std::chrono::microseconds length_ = kShortest;
};

std::string numbered(std::size_t number, std::string_view text) {
  return fmt::format("{} {}", number, text);
}

// Splits what numbered() joined.
std::pair<std::size_t, std::string_view> split_numbered(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  EMPLACE_CHECK(error == std::errc() && end != text.data() + text.size() && *end == ' ',
                "a text without a number: {}", excerpt(text));
  return {number, text.substr(static_cast<std::size_t>(end - text.data()) + 1)};
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "something was thrown that is not a std::exception";
  }
}

std::string write_trained(const TrainedPolicy& trained) {
  return Json{{"policy", trained.policy}, {"curve", trained.curve}}.text();
}

TrainedPolicy read_trained(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "a training of another rank");
  return {.policy = document.root().at("policy").text(),
          .curve = document.root().at("curve").text()};
}

}  // namespace

RankExecutor::RankExecutor(Communicator& ranks, int threads)
    : ranks_(&ranks), threads_(threads), free_(ranks.size()) {
  free_[Communicator::kRoot] = static_cast<std::size_t>(threads);
}

RankExecutor::~RankExecutor() {
  for (std::size_t rank = 1; rank < ranks_->size(); ++rank) {
    ranks_->send(rank, kDismiss, "");
  }
}

std::vector<CellFault> RankExecutor::run_cells(std::span<const Cell> cells,
                                               const ProblemSet& problems, const Policies& policies,
                                               const std::atomic<bool>& stop,
                                               const std::function<void(const CellResult&)>& sink) {
  for (std::size_t rank = 1; rank < ranks_->size(); ++rank) {
    for (const auto& [training, policy] : policies) {
      ranks_->send(rank, kPolicy, fmt::format("{} {}", training, policy.text));
    }
  }
  const std::vector<const Cell*> order = longest_first(cells, problems);
  Tasks tasks{.kind = kPlace};
  std::ranges::transform(order, std::back_inserter(tasks.requests),
                         [](const Cell* cell) { return cell->id(); });
  tasks.compute = [&](std::size_t at) {
    return write_cell_result(run_suite_cell(*order[at], problems, policies, stop));
  };
  tasks.sink = [&](std::size_t, const std::string& text) {
    sink(read_cell_result(text, "a result of another rank"));
  };
  std::vector<CellFault> faults;
  tasks.fault = [&](std::size_t at, const std::string& reason) {
    faults.push_back({*order[at], reason});
  };
  run(tasks, stop);
  return run_alone(std::move(faults), problems, policies, stop, sink);
}

void RankExecutor::train_policies(
    std::span<const SuiteTraining> trainings, const std::atomic<bool>& stop,
    const std::function<void(const SuiteTraining&, const TrainedPolicy&)>& sink) {
  Tasks tasks{.kind = kTrain};
  std::ranges::transform(trainings, std::back_inserter(tasks.requests),
                         [](const SuiteTraining& training) { return training.file_name(); });
  tasks.compute = [&](std::size_t at) {
    return write_trained(train_policy(trainings[at], threads_, stop));
  };
  tasks.sink = [&](std::size_t at, const std::string& text) {
    sink(trainings[at], read_trained(text));
  };
  run(tasks, stop);
}

void RankExecutor::run(const Tasks& tasks, const std::atomic<bool>& stop) {
  std::size_t next = 0;
  std::size_t results = 0;
  TaskThreads threads(threads_);
  const auto hand_out = [&] {
    for (bool found = true; found && next < tasks.requests.size();) {
      found = false;
      for (std::size_t rank = 0; rank < free_.size() && next < tasks.requests.size(); ++rank) {
        if (free_[rank] == 0) {
          continue;
        }
        --free_[rank];
        found = true;
        const std::size_t task = next++;
        if (rank == Communicator::kRoot) {
          threads.start(task, [&tasks, task] { return tasks.compute(task); });
        } else {
          ranks_->send(rank, tasks.kind, numbered(task, tasks.requests[task]));
        }
      }
    }
  };
  const auto take = [&](std::size_t rank, std::size_t task, const std::string& text,
                        const auto& sink) {
    ++free_[rank];
    ++results;
    sink(task, text);
  };
  for (Pause pause; results < tasks.requests.size() && !stop;) {
    hand_out();
    for (const TaskThreads::Done& done : threads.wait(pause.next())) {
      if (stop) {
        return;  // it may have ended early
      }
      pause.reset();
      if (!done.error) {
        take(Communicator::kRoot, done.task, done.text, tasks.sink);
        continue;
      }
      const std::optional<std::string> fault = machine_fault(done.error);
      if (!fault || !tasks.fault) {
        std::rethrow_exception(done.error);
      }
      take(Communicator::kRoot, done.task, *fault, tasks.fault);
    }
    while (const auto message = ranks_->receive()) {
      pause.reset();
      if (message->kind == kReady) {
        free_[message->from] = split_numbered(message->text).first;
      } else if (message->kind == kFailure) {
        throw Error(ErrorCode::kUnsupported, message->text);
      } else {
        EMPLACE_CHECK(message->kind == kResult || message->kind == kFault, "a text of kind {}",
                      message->kind);
        const auto [task, text] = split_numbered(message->text);
        if (message->kind == kFault && !tasks.fault) {
          throw Error(ErrorCode::kUnsupported, std::string(text));
        }
        take(message->from, task, std::string(text),
             message->kind == kResult ? tasks.sink : tasks.fault);
      }
    }
  }
}

void work_for_root(Communicator& ranks, int threads, const SuiteWork& work) {
  const std::atomic<bool> never_stop{false};
  std::map<std::string, const Cell*, std::less<>> cells;
  for (const Cell& cell : work.cells) {
    cells.emplace(cell.id(), &cell);
  }
  std::map<std::string, const SuiteTraining*, std::less<>> trainings;
  for (const SuiteTraining& training : work.trainings) {
    trainings.emplace(training.file_name(), &training);
  }
  Policies policies;
  TaskThreads tasks(threads);
  ranks.send(Communicator::kRoot, kReady, numbered(tasks.count(), "threads"));
  for (Pause pause;;) {
    for (const TaskThreads::Done& done : tasks.wait(pause.next())) {
      pause.reset();
      if (!done.error) {
        ranks.send(Communicator::kRoot, kResult, numbered(done.task, done.text));
      } else if (const std::optional<std::string> fault = machine_fault(done.error)) {
        ranks.send(Communicator::kRoot, kFault,
                   numbered(done.task, fmt::format("{}: {}", ranks.name(), *fault)));
      } else {
        ranks.send(Communicator::kRoot, kFailure,
                   fmt::format("{}: {}", ranks.name(), message_of(done.error)));
      }
    }
    while (const auto message = ranks.receive()) {
      pause.reset();
      if (message->kind == kDismiss) {
        return;
      }
      if (message->kind == kPolicy) {
        const std::size_t space = message->text.find(' ');
        std::string text = message->text.substr(space + 1);
        PolicyFile file = read_policy_file(text, "a policy of the root");
        policies.insert_or_assign(message->text.substr(0, space),
                                  PolicyAndText{std::move(file), std::move(text)});
        continue;
      }
      const auto [task, name] = split_numbered(message->text);
      if (message->kind == kPlace) {
        const auto cell = cells.find(name);
        EMPLACE_CHECK(cell != cells.end(), "the root asks for the cell {}", name);
        tasks.start(task, [&, &asked = *cell->second] {
          return write_cell_result(run_suite_cell(asked, work.problems, policies, never_stop));
        });
      } else {
        const auto training = trainings.find(name);
        EMPLACE_CHECK(message->kind == kTrain && training != trainings.end(),
                      "the root asks for {} {}", message->kind, name);
        tasks.start(task, [&, threads, &asked = *training->second] {
          return write_trained(train_policy(asked, threads, never_stop));
        });
      }
    }
  }
}

}  // namespace emplace::bench
