#include "baseline.hpp"

#include "nn/number_list.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace emplace::agents::policy_gradient {

namespace {

constexpr double kDecay = 0.9;  // of the moving average

}  // namespace

double MovingBaseline::before(double mean) {
  const double average = average_.value_or(mean);
  average_ = kDecay * average + (1 - kDecay) * mean;
  return average;
}

std::string MovingBaseline::to_json() const {
  return average_ ? fmt::format("[{}]", *average_) : "[]";
}

void MovingBaseline::load(const JsonCursor& json) {
  const std::vector<JsonCursor> averages = json.elements();
  if (averages.size() > 1) {
    json.fail("expected one number or none");
  }
  average_.reset();
  if (!averages.empty()) {
    average_ = averages.front().number(0, std::numeric_limits<double>::max());
  }
}

void StepBaseline::subtract_from(std::vector<double>& returns, std::size_t workers) {
  if (episodes_ == 0) {
    return;
  }
  const std::size_t steps = returns.size() / workers;
  std::vector<double> mean(steps, 0.0);
  for (std::size_t i = 0; i < returns.size(); ++i) {
    mean[i / workers] += returns[i] / static_cast<double>(workers);
  }
  if (means_.size() == episodes_) {
    means_.pop_front();
  }
  means_.push_back(std::move(mean));
  for (std::size_t step = 0; step < steps; ++step) {
    double sum = 0;
    for (const std::vector<double>& episode : means_) {
      sum += episode[step];
    }
    for (std::size_t worker = 0; worker < workers; ++worker) {
      returns[step * workers + worker] -= sum / static_cast<double>(means_.size());
    }
  }
}

std::string StepBaseline::to_json() const {
  std::string text = "[";
  for (const std::vector<double>& episode : means_) {
    text += (text.size() > 1 ? ",\n" : "") + nn::write_numbers<double>(episode);
  }
  return text + "]";
}

void StepBaseline::load(const JsonCursor& json, std::size_t steps) {
  const std::vector<JsonCursor> elements = json.elements();
  if (elements.size() > episodes_) {
    json.fail(fmt::format("expected {} episodes at most, found {}", episodes_, elements.size()));
  }
  means_.clear();
  for (const JsonCursor& element : elements) {
    means_.push_back(nn::read_numbers<double>(element, steps));
  }
}

}  // namespace emplace::agents::policy_gradient
