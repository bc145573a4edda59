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

class Keep final : public ActivitySource {
 public:
  Keep(std::unique_ptr<ActivitySource> source, std::size_t max_bytes, ActivityRecording& kept)
      : source_(std::move(source)), room_(max_bytes), kept_(kept) {}

  std::string_view why_none() const override { return source_->why_none(); }
  void push(std::uint64_t id) override { source_->push(id); }
  void pop() override { source_->pop(); }
  ActivityRecording take() override {
    ActivityRecording taken = source_->take();
    std::size_t bytes = 0;
    for (const auto& buffer : taken.buffers) {
      bytes += buffer.size();
    }
    if (bytes <= room_) {
      room_ -= bytes;
      kept_.origin = taken.origin;
      kept_.cupti_version = taken.cupti_version;
      kept_.dropped_records += taken.dropped_records;
      kept_.buffers.insert(kept_.buffers.end(), taken.buffers.begin(), taken.buffers.end());
      kept_.strings.insert(taken.strings.begin(), taken.strings.end());
    }
    return taken;
  }

 private:
  std::unique_ptr<ActivitySource> source_;
  std::size_t room_;
  ActivityRecording& kept_;
};

}  // namespace

std::unique_ptr<ActivitySource> keep_activities(std::unique_ptr<ActivitySource> source,
                                                std::size_t max_bytes, ActivityRecording& kept) {
  return std::make_unique<Keep>(std::move(source), max_bytes, kept);
}

std::unique_ptr<ActivitySource> no_activities(std::string reason) {
  return std::make_unique<NoActivities>(std::move(reason));
}

}  // namespace emplace::calibrate
