#include <emplace/calibrate/activity_source.hpp>

#include <utility>

namespace emplace::calibrate {
namespace {

class NoActivities final : public ActivitySource {
 public:
  explicit NoActivities(std::string reason) : reason_(std::move(reason)) {}

  std::string_view why_none() const override { return reason_; }
  void push(std::uint64_t) override {}
  void pop() override {}
  ActivityRecording take() override { return {.origin = "no recording"}; }

 private:
  std::string reason_;
};

class Replay final : public ActivitySource {
 public:
  explicit Replay(ActivityRecording recording)
      : origin_(recording.origin), recording_(std::move(recording)) {}

  std::string_view why_none() const override { return {}; }
  void push(std::uint64_t) override {}
  void pop() override {}
  ActivityRecording take() override {
    return std::exchange(recording_, ActivityRecording{.origin = origin_});
  }

 private:
  std::string origin_;
  ActivityRecording recording_;
};

}  // namespace

std::unique_ptr<ActivitySource> no_activities(std::string reason) {
  return std::make_unique<NoActivities>(std::move(reason));
}

std::unique_ptr<ActivitySource> replay_activities(const std::string& path) {
  return std::make_unique<Replay>(read_recording(path));
}

}  // namespace emplace::calibrate
