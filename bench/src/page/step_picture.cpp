#include "round_steps.hpp"
#include "step_timeline.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/svg.hpp>
#include <emplace/bench/step_picture.hpp>
#include <emplace/bench/unit_text.hpp>
#include <emplace/sim/explanation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::bench {
namespace {

// In pixels.
constexpr double kWidth = 960;
constexpr double kMargin = 20;
constexpr double kFieldLeft = 164;
constexpr double kFieldRight = kWidth - kMargin;
constexpr double kFieldTop = 104;
constexpr double kLaneHeight = 50;  // of a device that runs one op at a time
constexpr double kNarrowLane = 14;  // of one that runs several
constexpr double kSendHeight = 7;
constexpr double kPathRoom = 8;  // between a row and what is below: the critical path
constexpr double kRowGap = 14;
constexpr double kLabelSize = 9;
constexpr int kMostTicks = 10;
// More than so many boxes, or changes of row of the critical path, are not drawn: browsers would
// take seconds for them.
constexpr std::size_t kMostMarks = 50'000;
constexpr double kLeastStay = 0.5;  // in pixels: how long a path of more stays in a row
constexpr int kDeepest = 6;         // of layers in scopes

constexpr std::array<std::size_t, 3> kPhaseColors = {0, 1, 2};  // of kPictureColors, by Phase
constexpr double kPhaseStrength = 0.55;
constexpr double kOtherStrength = 0.38;  // of every other layer, so that they are told apart
constexpr std::string_view kSendColor = "#8a8a8a";
constexpr std::string_view kPathColor = "#c1121f";

// A row with its place in the picture.
struct Row : TimelineRow {
  double top = 0;
  double send_top = 0;

  double lane_height() const { return lanes.size() > 1 ? kNarrowLane : kLaneHeight; }
  double lanes_height() const { return lane_height() * static_cast<double>(lanes.size()); }
};

class StepPicture {
 public:
  StepPicture(const Problem& problem, const StepRecord& record)
      : problem_(problem),
        record_(record),
        // A step of no time has a picture too.
        length_us_(record.makespan_us > 0 ? record.makespan_us : 1),
        timeline_(problem, record, length_us_ / (kFieldRight - kFieldLeft)) {
    read_rows();
    // Many devices are drawn with fewer, longer boxes each.
    for (double pixels = 2; most_marks() > kMostMarks; pixels *= 2) {
      timeline_.set_us_per_pixel(pixels * length_us_ / (kFieldRight - kFieldLeft));
      read_rows();
      if (pixels > kFieldRight - kFieldLeft) {
        break;  // a box for each row
      }
    }
    choose_depth();
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      layers_.try_emplace(layer_of(problem_.op(op).scope, depth_), layers_.size());
    }
  }

  std::string draw(const std::string& caption) {
    const double height = place_rows();
    Svg svg(kWidth, height);
    draw_head(svg, caption);
    draw_axis(svg, height);
    for (const Row& row : rows_) {
      draw_row(svg, row);
    }
    draw_critical_path(svg);
    for (const Row& row : rows_) {
      draw_labels(svg, row);
    }
    return std::move(svg).finish();
  }

 private:
  double across(double us) const {
    return kFieldLeft + (kFieldRight - kFieldLeft) * us / length_us_;
  }
  double pixels(double us) const { return across(us) - kFieldLeft; }

  void read_rows() {
    rows_.clear();
    for (TimelineRow& row : timeline_.rows()) {
      rows_.push_back({std::move(row)});
    }
  }

  // Counts boxes, at the depth that has most of them, and sendings.
  std::size_t most_marks() const {
    std::size_t marks = 0;
    for (const Row& row : rows_) {
      marks += row.sendings.size();
      for (const TimelineLane& lane : row.lanes) {
        marks += timeline_.boxes_of(lane, kDeepest).size();
      }
    }
    return marks;
  }

  enum class LabelWay { kNone, kAcross, kUp };

  void choose_depth();
  LabelWay label_way(const TimelineBox& box, double height) const;
  double place_rows();
  void draw_head(Svg& svg, const std::string& caption) const;
  void draw_axis(Svg& svg, double height) const;
  void draw_row(Svg& svg, const Row& row) const;
  void draw_labels(Svg& svg, const Row& row) const;
  void draw_box(Svg& svg, const TimelineBox& box, double top, double height) const;
  void draw_critical_path(Svg& svg) const;

  const Problem& problem_;
  const StepRecord& record_;
  double length_us_;
  StepTimeline timeline_;
  std::vector<Row> rows_;                           // of devices that did something
  int depth_ = 1;                                   // of layers in scopes
  std::map<std::string_view, std::size_t> layers_;  // numbered in the order of the graph
};

// Chooses the depth at which boxes with a legible name take most of the time; the deepest of these.
void StepPicture::choose_depth() {
  double most_us = -1;
  for (int depth = kDeepest; depth > 0; --depth) {
    double named_us = 0;
    for (const Row& row : rows_) {
      for (const TimelineLane& lane : row.lanes) {
        for (const TimelineBox& box : timeline_.boxes_of(lane, depth)) {
          named_us += label_way(box, row.lane_height()) == LabelWay::kNone ? 0 : box.length_us();
        }
      }
    }
    if (named_us > most_us) {
      most_us = named_us;
      depth_ = depth;
    }
  }
}

// Says how the name of its layer fits into a box.
StepPicture::LabelWay StepPicture::label_way(const TimelineBox& box, double height) const {
  const double length = text_width(box.layer, kLabelSize) + 6;
  const double width = pixels(box.length_us());
  if (box.layer.empty()) {
    return LabelWay::kNone;
  }
  if (length <= width && kLabelSize + 2 <= height) {
    return LabelWay::kAcross;
  }
  return length <= height && kLabelSize + 2 <= width ? LabelWay::kUp : LabelWay::kNone;
}

double StepPicture::place_rows() {
  double y = kFieldTop;
  for (Row& row : rows_) {
    row.top = y;
    row.send_top = y + row.lanes_height() + kPathRoom;
    y = row.send_top + (row.sendings.empty() ? 0 : kSendHeight + kPathRoom) + kRowGap;
  }
  return y + 36;
}

void StepPicture::draw_head(Svg& svg, const std::string& caption) const {
  const std::string title = fmt::format(
      "{} on {}: {}", problem_.graph()[boost::graph_bundle].name, problem_.cluster().name,
      record_.status == StepStatus::kOk
          ? fmt::format("one step in {}", time_text(record_.makespan_us))
          : fmt::format("out of memory on {}", problem_.device(record_.worst_device).name));
  const double room = kWidth - 2 * kMargin;
  svg.text(kMargin, 34, fitted_text(title, room, 18), "font-size=\"18\" font-weight=\"bold\"");
  svg.text(kMargin, 54, fitted_text(caption, room, 12), "fill=\"#555\"");
  double x = kFieldLeft;
  const double y = 84;
  const auto name = [&](const std::string& entry) {
    svg.text(x + 20, y, entry, "font-size=\"11\"");
    x += 20 + text_width(entry, 11) + 22;
  };
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    const std::size_t color = kPhaseColors[static_cast<std::size_t>(phase)];
    svg.rect(x, y - 9, 7, 11, fmt::format("fill=\"{}\"", tinted_color(color, kPhaseStrength)));
    svg.rect(x + 7, y - 9, 7, 11, fmt::format("fill=\"{}\"", tinted_color(color, kOtherStrength)));
    name(std::string(to_string(phase)));
  }
  svg.rect(x, y - 7, 14, kSendHeight, fmt::format("fill=\"{}\"", kSendColor));
  name("sends");
  svg.line(x, y - 4, x + 14, y - 4, fmt::format("stroke=\"{}\" stroke-width=\"2.5\"", kPathColor));
  name("critical path");
}

void StepPicture::draw_axis(Svg& svg, double height) const {
  const std::pair<std::string_view, double> unit = length_us_ >= 1e6   ? std::pair("s", 1e6)
                                                   : length_us_ >= 1e3 ? std::pair("ms", 1e3)
                                                                       : std::pair("us", 1.0);
  const double unit_us = unit.second;
  const double bottom = height - 36;
  svg.open("stroke=\"#e4e4e4\"");
  std::vector<double> ticks = round_steps(0, length_us_ / unit_us, kMostTicks);
  std::erase_if(ticks, [&](double tick) { return tick * unit_us > length_us_ * (1 + 1e-9); });
  for (const double tick : ticks) {
    svg.line(across(tick * unit_us), kFieldTop - 6, across(tick * unit_us), bottom, {});
  }
  svg.close();
  svg.open("text-anchor=\"middle\" font-size=\"11\" fill=\"#555\"");
  for (const double tick : ticks) {
    svg.text(across(tick * unit_us), bottom + 15, fmt::format("{:g}", tick));
  }
  svg.close();
  svg.text(kFieldLeft - 14, bottom + 15, fmt::format("time [{}]", unit.first),
           "text-anchor=\"end\" font-size=\"11\" fill=\"#555\"");
}

void StepPicture::draw_box(Svg& svg, const TimelineBox& box, double top, double height) const {
  const double left = across(box.from_us);
  const double width = std::max(pixels(box.length_us()), 0.5);
  const std::string title = fmt::format(
      "{}{}{}: {}, {} to {}", box.layer, box.layer.empty() ? "" : ", ", to_string(box.phase),
      counted(box.ops, "op"), time_text(box.from_us), time_text(box.to_us));
  const double strength = layers_.at(box.layer) % 2 == 0 ? kPhaseStrength : kOtherStrength;
  svg.rect(left, top, width, height,
           fmt::format("fill=\"{}\"",
                       tinted_color(kPhaseColors[static_cast<std::size_t>(box.phase)], strength)),
           title);
}

// Above all else, so that nothing crosses them out.
void StepPicture::draw_labels(Svg& svg, const Row& row) const {
  svg.open(fmt::format("text-anchor=\"middle\" font-size=\"{}\"", svg_number(kLabelSize)));
  constexpr double kBaseline = 0.36 * kLabelSize;  // below the middle of the letters
  double y = row.top + row.lane_height() / 2;
  for (const TimelineLane& lane : row.lanes) {
    for (const TimelineBox& box : timeline_.boxes_of(lane, depth_)) {
      const LabelWay way = label_way(box, row.lane_height());
      const double x = across(box.from_us) + pixels(box.length_us()) / 2;
      if (way == LabelWay::kAcross) {
        svg.text(x, y + kBaseline, box.layer);
      } else if (way == LabelWay::kUp) {
        svg.text(x + kBaseline, y, box.layer,
                 fmt::format("transform=\"rotate(-90 {} {})\"", svg_number(x + kBaseline),
                             svg_number(y)));
      }
    }
    y += row.lane_height();
  }
  svg.close();
}

void StepPicture::draw_row(Svg& svg, const Row& row) const {
  const Device& device = problem_.device(row.device);
  const double middle = row.top + row.lanes_height() / 2;
  const double busy = row.busy_us / length_us_ / problem_.slots(row.device);
  const double room = kFieldLeft - kMargin - 10;
  svg.text(kMargin, middle - 2, fitted_text(device.name, room, 13),
           "font-size=\"13\" font-weight=\"bold\"");
  svg.text(kMargin, middle + 12,
           fmt::format("{:.0f} % busy, peak {}", busy * 100,
                       bytes_text(static_cast<double>(record_.peak_bytes[index_of(row.device)]))),
           "font-size=\"10\" fill=\"#555\"");
  svg.rect(kFieldLeft, row.top, kFieldRight - kFieldLeft, row.lanes_height(), "fill=\"#f4f4f4\"");
  double top = row.top;
  for (const TimelineLane& lane : row.lanes) {
    for (const TimelineBox& box : timeline_.boxes_of(lane, depth_)) {
      draw_box(svg, box, top, row.lane_height());
    }
    top += row.lane_height();
  }
  if (row.sendings.empty()) {
    return;
  }
  svg.text(kFieldLeft - 10, row.send_top + kSendHeight, "sends",
           "text-anchor=\"end\" font-size=\"10\" fill=\"#555\"");
  svg.open(fmt::format("fill=\"{}\"", kSendColor));
  for (const Sending& sending : row.sendings) {
    svg.rect(across(sending.from_us), row.send_top,
             std::max(pixels(sending.to_us - sending.from_us), 0.5), kSendHeight, {},
             fmt::format("{}, {}, {} to {}", counted(sending.transfers, "transfer"),
                         bytes_text(static_cast<double>(sending.bytes)), time_text(sending.from_us),
                         time_text(sending.to_us)));
  }
  svg.close();
}

// Along the foot of the rows; thin lines lead from one to the next.
void StepPicture::draw_critical_path(Svg& svg) const {
  std::vector<const Row*> row_of(index_of(problem_.num_devices()));
  for (const Row& row : rows_) {
    row_of[index_of(row.device)] = &row;
  }
  std::string along;
  std::string between;
  double last_y = 0;
  double last_x = 0;
  const std::vector<PathSegment> path = critical_path(problem_, record_);
  const double least_stay = path.size() > kMostMarks ? kLeastStay : 0;
  double entered_x = 0;  // the row at last_y
  for (const PathSegment& segment : path) {
    double y = last_y;
    if (segment.transfer != PathSegment::kNone) {
      y = row_of[index_of(record_.transfers[index_of(segment.transfer)].from)]->send_top +
          kSendHeight + 3;
    } else if (segment.device != PathSegment::kNone) {
      const Row& row = *row_of[index_of(segment.device)];
      y = row.top + row.lanes_height() + 3;
    }
    if (along.empty()) {
      last_x = across(segment.from_us);
      along = fmt::format("M{} {}", svg_number(last_x), svg_number(y));
      entered_x = last_x;
    } else if (y != last_y && last_x - entered_x < least_stay) {
      y = last_y;  // too short to be seen
    } else if (y != last_y) {
      entered_x = last_x;
      along += fmt::format("H{}M{} {}", svg_number(last_x), svg_number(last_x), svg_number(y));
      between += fmt::format("M{} {}V{}", svg_number(last_x), svg_number(last_y), svg_number(y));
    }
    last_y = y;
    last_x = across(segment.to_us);
  }
  if (along.empty()) {
    return;
  }
  svg.open(fmt::format("fill=\"none\" stroke=\"{}\"", kPathColor), "critical path");
  if (!between.empty()) {
    svg.path(between, "stroke-width=\"0.8\"");
  }
  svg.path(along + "H" + svg_number(last_x), "stroke-width=\"2.4\" stroke-linecap=\"square\"");
  svg.close();
}

}  // namespace

std::string draw_step(const Problem& problem, const StepRecord& record,
                      const std::string& caption) {
  return StepPicture(problem, record).draw(caption);
}

}  // namespace emplace::bench
