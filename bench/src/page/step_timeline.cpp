#include "step_timeline.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/bench/step_picture.hpp>
#include <emplace/sim/lanes.hpp>

#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

namespace emplace::bench {
namespace {

constexpr double kJoinedGap = 0.8;  // in pixels: what is no further apart touches

std::vector<TimelineLane> lanes_of(std::vector<OpId> ops, const StepRecord& record) {
  std::ranges::sort(ops, {}, [&](OpId op) {
    return std::tuple(record.start_us[index_of(op)], record.end_us[index_of(op)], op);
  });
  std::vector<TimelineLane> lanes;
  Lanes taken;
  for (const OpId op : ops) {
    const auto lane = static_cast<std::size_t>(
        taken.take(record.start_us[index_of(op)], record.end_us[index_of(op)]));
    lanes.resize(std::max(lanes.size(), lane + 1));
    lanes[lane].push_back(op);
  }
  return lanes;
}

}  // namespace

std::string_view layer_of(std::string_view scope, int depth) {
  std::size_t end = 0;
  for (int i = 0; i < depth && end < scope.size(); ++i) {
    end = std::min(scope.find('/', end + (i == 0 ? 0 : 1)), scope.size());
  }
  return scope.substr(0, end);
}

bool StepTimeline::touches(double end_us, double start_us) const {
  return start_us - end_us <= kJoinedGap * us_per_pixel_;
}

std::vector<TimelineRow> StepTimeline::rows() const {
  std::vector<std::vector<OpId>> ops(index_of(problem_.num_devices()));
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    ops[index_of(record_.placement[problem_.grouping().group_of(op)])].push_back(op);
  }
  std::vector<std::vector<const Transfer*>> transfers(index_of(problem_.num_devices()));
  for (const Transfer& transfer : record_.transfers) {
    transfers[index_of(transfer.from)].push_back(&transfer);
  }
  std::vector<TimelineRow> rows;
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    if (ops[index_of(device)].empty()) {
      continue;
    }
    TimelineRow row{.device = device};
    for (const OpId op : ops[index_of(device)]) {
      row.busy_us += record_.end_us[index_of(op)] - record_.start_us[index_of(op)];
    }
    row.lanes = lanes_of(std::move(ops[index_of(device)]), record_);
    std::ranges::stable_sort(transfers[index_of(device)], {}, &Transfer::start_us);
    for (const Transfer* transfer : transfers[index_of(device)]) {
      if (row.sendings.empty() || !touches(row.sendings.back().to_us, transfer->start_us)) {
        row.sendings.push_back({.from_us = transfer->start_us, .to_us = transfer->end_us});
      }
      Sending& sending = row.sendings.back();
      sending.to_us = std::max(sending.to_us, transfer->end_us);
      ++sending.transfers;
      sending.bytes += problem_.output_bytes(transfer->output);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Joins neighbours that look alike.
std::vector<TimelineBox> StepTimeline::runs_of(const TimelineLane& lane, int depth) const {
  std::vector<TimelineBox> runs;
  for (const OpId op : lane) {
    const Op& facts = problem_.op(op);
    const TimelineBox box{.from_us = record_.start_us[index_of(op)],
                          .to_us = record_.end_us[index_of(op)],
                          .phase = facts.phase,
                          .layer = layer_of(facts.scope, depth)};
    if (!runs.empty() && touches(runs.back().to_us, box.from_us) && runs.back().looks_like(box)) {
      runs.back().add(box);
    } else {
      runs.push_back(box);
    }
  }
  return runs;
}

std::vector<TimelineBox> StepTimeline::boxes_of(const TimelineLane& lane, int depth) const {
  const double least_us = kLeastBox * us_per_pixel_;
  std::vector<TimelineBox> boxes;
  double thin_us = 0;  // at the end of the last box, of what looks different
  for (const TimelineBox& run : runs_of(lane, depth)) {
    if (boxes.empty() || !touches(boxes.back().to_us, run.from_us)) {
      boxes.push_back(run);
      thin_us = 0;
      continue;
    }
    TimelineBox& last = boxes.back();
    if (last.looks_like(run)) {
      last.add(run);
      thin_us = 0;
    } else if (last.length_us() < least_us) {
      if (run.length_us() > last.length_us()) {
        last.phase = run.phase;
        last.layer = run.layer;
      }
      last.add(run);
    } else if (thin_us + run.length_us() < least_us) {
      last.add(run);
      thin_us += run.length_us();
    } else {
      boxes.push_back(run);
      thin_us = 0;
    }
  }
  return boxes;
}

}  // namespace emplace::bench
