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
  ActivityLog take() override { return {}; }

 private:
  std::string reason_;
};

class KeepMachine final : public ActivitySource {
 public:
  KeepMachine(std::unique_ptr<ActivitySource> source, ActivityLog& machine)
      : source_(std::move(source)), machine_(machine) {}

  std::string_view why_none() const override { return source_->why_none(); }
  void push(std::uint64_t id) override { source_->push(id); }
  void pop() override { source_->pop(); }
  ActivityLog take() override {
    ActivityLog taken = source_->take();
    const auto keep = [&](auto list) {
      const auto& items = taken.*list;
      (machine_.*list).insert((machine_.*list).end(), items.begin(), items.end());
    };
    keep(&ActivityLog::devices);
    keep(&ActivityLog::pcie);
    keep(&ActivityLog::nvlinks);
    return taken;
  }

 private:
  std::unique_ptr<ActivitySource> source_;
  ActivityLog& machine_;
};

}  // namespace

std::unique_ptr<ActivitySource> keep_machine(std::unique_ptr<ActivitySource> source,
                                             ActivityLog& machine) {
  return std::make_unique<KeepMachine>(std::move(source), machine);
}

std::unique_ptr<ActivitySource> no_activities(std::string reason) {
  return std::make_unique<NoActivities>(std::move(reason));
}

}  // namespace emplace::calibrate
