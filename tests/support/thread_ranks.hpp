#pragma once

// The ranks of a job as threads of the test, without MPI.

#include <emplace/bench/communicator.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace emplace::bench {

/// Joins threads like the ranks of a job.
class ThreadRanks {
 public:
  explicit ThreadRanks(std::size_t size) : boxes_(size) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*this, rank));
    }
  }

  /// Calls `work` for each rank, the root in this thread; returns when all have ended.
  void run(const std::function<void(Communicator&)>& work) {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      threads.emplace_back([&, rank] { work(*ranks_[rank]); });
    }
    work(*ranks_.front());
  }

 private:
  class Rank final : public Communicator {
   public:
    Rank(ThreadRanks& all, std::size_t rank) : all_(&all), rank_(rank) {}

    std::size_t rank() const override { return rank_; }
    std::size_t size() const override { return all_->ranks_.size(); }
    std::size_t ranks_here() const override { return size(); }
    std::string name() const override { return "rank " + std::to_string(rank_); }

    void send(std::size_t to, int kind, std::string_view text) override {
      const std::lock_guard lock(all_->mutex_);
      all_->boxes_[to].push_back({.from = rank_, .kind = kind, .text = std::string(text)});
    }

    std::optional<Message> receive() override {
      const std::lock_guard lock(all_->mutex_);
      std::deque<Message>& box = all_->boxes_[rank_];
      if (box.empty()) {
        return std::nullopt;
      }
      Message message = std::move(box.front());
      box.pop_front();
      return message;
    }

    std::vector<std::string> all_gather(std::string_view) override {
      throw std::logic_error("executors gather nothing");
    }

    void finish() override {}
    [[noreturn]] void abort(int code) override {
      throw std::runtime_error("aborted with " + std::to_string(code));
    }

   private:
    ThreadRanks* all_;
    std::size_t rank_;
  };

  std::mutex mutex_;
  std::vector<std::deque<Communicator::Message>> boxes_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace emplace::bench
