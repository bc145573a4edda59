#include "round_steps.hpp"

#include <emplace/bench/step_picture.hpp>
#include <emplace/graphs/svg.hpp>
#include <emplace/sim/explanation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
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
constexpr double kJoinedGap = 0.8;  // boxes that are no further apart touch
constexpr int kMostTicks = 10;

constexpr std::array<std::size_t, 3> kPhaseColors = {0, 1, 2};  // of kPictureColors, by Phase
constexpr double kPhaseStrength = 0.55;
constexpr double kOtherStrength = 0.38;  // of every other layer, so that they are told apart
constexpr std::string_view kSendColor = "#8a8a8a";
constexpr std::string_view kPathColor = "#c1121f";

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// A time in its unit: 1.23 ms.
std::string time_text(double us) {
  return us >= 1e6   ? fmt::format("{:.4g} s", us / 1e6)
         : us >= 1e3 ? fmt::format("{:.4g} ms", us / 1e3)
                     : fmt::format("{:.3g} us", us);
}

std::string bytes_text(double bytes) {
  return bytes >= 1e9   ? fmt::format("{:.3g} GB", bytes / 1e9)
         : bytes >= 1e6 ? fmt::format("{:.3g} MB", bytes / 1e6)
                        : fmt::format("{:.3g} kB", bytes / 1e3);
}

// The first `depth` elements of a scope.
std::string_view layer_of(std::string_view scope, int depth) {
  std::size_t end = 0;
  for (int i = 0; i < depth && end < scope.size(); ++i) {
    end = std::min(scope.find('/', end + (i == 0 ? 0 : 1)), scope.size());
  }
  return scope.substr(0, end);
}

// What is drawn as one: an op, or neighbours.
struct Box {
  double from_us = 0;
  double to_us = 0;
  Phase phase = Phase::kForward;
  std::string_view layer{};
  std::int64_t ops = 1;

  double length_us() const { return to_us - from_us; }
  bool looks_like(const Box& other) const { return phase == other.phase && layer == other.layer; }

  // Adds what follows.
  void add(const Box& next) {
    to_us = std::max(to_us, next.to_us);
    ops += next.ops;
  }
};

// Ops or transfers that do not overlap.
struct Lane {
  std::vector<std::size_t> items{};
  double busy_until_us = 0;
};

// Puts items, by their times, on as few lanes as they need.
std::vector<Lane> lanes_of(std::vector<std::size_t> items, std::span<const double> start_us,
                           std::span<const double> end_us) {
  std::ranges::sort(
      items, {}, [&](std::size_t item) { return std::tuple(start_us[item], end_us[item], item); });
  std::vector<Lane> lanes;
  for (const std::size_t item : items) {
    auto lane = std::ranges::find_if(
        lanes, [&](const Lane& one) { return one.busy_until_us <= start_us[item]; });
    if (lane == lanes.end()) {
      lane = lanes.emplace(lanes.end());
    }
    lane->items.push_back(item);
    lane->busy_until_us = std::max(lane->busy_until_us, end_us[item]);
  }
  return lanes;
}

// Transfers of one device that overlap or follow one another.
struct Sending {
  double from_us = 0;
  double to_us = 0;
  std::int64_t transfers = 0;
  std::int64_t bytes = 0;
};

struct Row {
  DeviceId device = 0;
  std::vector<Lane> lanes{};
  std::vector<Sending> sendings{};
  double busy_us = 0;
  double top = 0;
  double send_top = 0;

  double lane_height() const { return lanes.size() > 1 ? kNarrowLane : kLaneHeight; }
  double lanes_height() const {
    return lane_height() * static_cast<double>(std::max<std::size_t>(lanes.size(), 1));
  }
};

class StepPicture {
 public:
  StepPicture(const Problem& problem, const StepRecord& record)
      : problem_(problem),
        record_(record),
        // A step of no time has a picture too.
        length_us_(record.makespan_us > 0 ? record.makespan_us : 1) {
    collect_rows();
    choose_depth();
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      layers_.try_emplace(layer_of(problem_.graph()[index(op)].scope, depth_), layers_.size());
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
    if (record_.status == StepStatus::kOk || all_ran()) {
      draw_critical_path(svg);
    }
    return std::move(svg).finish();
  }

 private:
  double across(double us) const {
    return kFieldLeft + (kFieldRight - kFieldLeft) * us / length_us_;
  }
  double pixels(double us) const { return across(us) - kFieldLeft; }

  bool all_ran() const {
    return std::ranges::all_of(record_.start_us, [](double us) { return us >= 0; });
  }

  enum class LabelWay { kNone, kAcross, kUp };

  void collect_rows();
  void choose_depth();
  bool touches(const Box& last, const Box& next) const {
    return pixels(next.from_us - last.to_us) <= kJoinedGap;
  }
  std::vector<Box> runs_of(const Lane& lane, int depth) const;
  std::vector<Box> boxes_of(const Lane& lane, int depth) const;
  LabelWay label_way(const Box& box, double height) const;
  double place_rows();
  void draw_head(Svg& svg, const std::string& caption) const;
  void draw_axis(Svg& svg, double height) const;
  void draw_row(Svg& svg, const Row& row) const;
  void draw_box(Svg& svg, const Box& box, double top, double height) const;
  void draw_critical_path(Svg& svg) const;

  const Problem& problem_;
  const StepRecord& record_;
  double length_us_;
  std::vector<Row> rows_;                           // of devices that did something
  int depth_ = 1;                                   // of layers in scopes
  std::map<std::string_view, std::size_t> layers_;  // numbered in the order of the graph
};

void StepPicture::collect_rows() {
  std::vector<std::vector<std::size_t>> ops(index(problem_.num_devices()));
  std::vector<double> busy_us(index(problem_.num_devices()));
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    if (record_.start_us[index(op)] >= 0) {
      const std::size_t device = index(record_.placement[problem_.grouping().group_of(op)]);
      busy_us[device] += record_.end_us[index(op)] - record_.start_us[index(op)];
      ops[device].push_back(index(op));
    }
  }
  std::vector<std::vector<const Transfer*>> transfers(index(problem_.num_devices()));
  for (const Transfer& transfer : record_.transfers) {
    if (transfer.end_us >= 0) {
      transfers[index(transfer.from)].push_back(&transfer);
    }
  }
  for (DeviceId device = 0; device < problem_.num_devices(); ++device) {
    const std::size_t at = index(device);
    if (ops[at].empty()) {
      continue;
    }
    Row row{.device = device,
            .lanes = lanes_of(std::move(ops[at]), record_.start_us, record_.end_us),
            .busy_us = busy_us[at]};
    std::ranges::stable_sort(transfers[at], {}, &Transfer::start_us);
    for (const Transfer* transfer : transfers[at]) {
      if (row.sendings.empty() ||
          pixels(transfer->start_us - row.sendings.back().to_us) > kJoinedGap) {
        row.sendings.push_back({.from_us = transfer->start_us, .to_us = transfer->end_us});
      }
      Sending& sending = row.sendings.back();
      sending.to_us = std::max(sending.to_us, transfer->end_us);
      ++sending.transfers;
      sending.bytes += problem_.output_bytes(transfer->output);
    }
    rows_.push_back(std::move(row));
  }
}

// Joins neighbours of one phase and layer.
std::vector<Box> StepPicture::runs_of(const Lane& lane, int depth) const {
  std::vector<Box> runs;
  for (const std::size_t op : lane.items) {
    const Op& facts = problem_.graph()[op];
    const Box box{.from_us = record_.start_us[op],
                  .to_us = record_.end_us[op],
                  .phase = facts.phase,
                  .layer = layer_of(facts.scope, depth)};
    if (!runs.empty() && touches(runs.back(), box) && runs.back().looks_like(box)) {
      runs.back().add(box);
    } else {
      runs.push_back(box);
    }
  }
  return runs;
}

// Joins what is too thin to be seen with its neighbour, too.
std::vector<Box> StepPicture::boxes_of(const Lane& lane, int depth) const {
  std::vector<Box> boxes;
  double thin_us = 0;  // at the end of the last box, of what looks different
  for (const Box& run : runs_of(lane, depth)) {
    if (boxes.empty() || !touches(boxes.back(), run)) {
      boxes.push_back(run);
      thin_us = 0;
      continue;
    }
    Box& last = boxes.back();
    if (last.looks_like(run)) {
      last.add(run);
      thin_us = 0;
    } else if (pixels(last.length_us()) < kLeastBox) {
      if (run.length_us() > last.length_us()) {
        last.phase = run.phase;
        last.layer = run.layer;
      }
      last.add(run);
    } else if (pixels(thin_us + run.length_us()) < kLeastBox) {
      last.add(run);
      thin_us += run.length_us();
    } else {
      boxes.push_back(run);
      thin_us = 0;
    }
  }
  return boxes;
}

// Chooses the depth at which boxes with a legible name take most of the time; the deepest of these.
void StepPicture::choose_depth() {
  constexpr int kDeepest = 6;
  double most_us = -1;
  for (int depth = kDeepest; depth > 0; --depth) {
    double named_us = 0;
    for (const Row& row : rows_) {
      for (const Lane& lane : row.lanes) {
        for (const Box& box : boxes_of(lane, depth)) {
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
StepPicture::LabelWay StepPicture::label_way(const Box& box, double height) const {
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
          : fmt::format("out of memory on {}",
                        problem_.cluster().devices[index(record_.worst_device)].name));
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
  const auto [unit, unit_us] = length_us_ >= 1e6   ? std::pair("s", 1e6)
                               : length_us_ >= 1e3 ? std::pair("ms", 1e3)
                                                   : std::pair("us", 1.0);
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
  svg.text(kFieldLeft - 14, bottom + 15, fmt::format("time [{}]", unit),
           "text-anchor=\"end\" font-size=\"11\" fill=\"#555\"");
}

void StepPicture::draw_box(Svg& svg, const Box& box, double top, double height) const {
  const double left = across(box.from_us);
  const double width = std::max(pixels(box.length_us()), 0.5);
  const std::string title = fmt::format(
      "{}{}{}: {} op{}, {} to {}", box.layer, box.layer.empty() ? "" : ", ", to_string(box.phase),
      box.ops, box.ops == 1 ? "" : "s", time_text(box.from_us), time_text(box.to_us));
  const double strength = layers_.at(box.layer) % 2 == 0 ? kPhaseStrength : kOtherStrength;
  svg.rect(left, top, width, height,
           fmt::format("fill=\"{}\"",
                       tinted_color(kPhaseColors[static_cast<std::size_t>(box.phase)], strength)),
           title);
  const LabelWay way = label_way(box, height);
  constexpr double kBaseline = 0.36 * kLabelSize;  // below the middle of the letters
  const double x = left + width / 2;
  const double y = top + height / 2;
  if (way == LabelWay::kAcross) {
    svg.text(x, y + kBaseline, box.layer);
  } else if (way == LabelWay::kUp) {
    svg.text(
        x + kBaseline, y, box.layer,
        fmt::format("transform=\"rotate(-90 {} {})\"", svg_number(x + kBaseline), svg_number(y)));
  }
}

void StepPicture::draw_row(Svg& svg, const Row& row) const {
  const Device& device = problem_.cluster().devices[index(row.device)];
  const double middle = row.top + row.lanes_height() / 2;
  const double busy = row.busy_us / length_us_ / problem_.slots(row.device);
  const double room = kFieldLeft - kMargin - 10;
  svg.text(kMargin, middle - 2, fitted_text(device.name, room, 13),
           "font-size=\"13\" font-weight=\"bold\"");
  svg.text(kMargin, middle + 12,
           fmt::format("{:.0f} % busy, peak {}", busy * 100,
                       bytes_text(static_cast<double>(record_.peak_bytes[index(row.device)]))),
           "font-size=\"10\" fill=\"#555\"");
  svg.rect(kFieldLeft, row.top, kFieldRight - kFieldLeft, row.lanes_height(), "fill=\"#f4f4f4\"");
  svg.open(fmt::format("text-anchor=\"middle\" font-size=\"{}\"", svg_number(kLabelSize)));
  double top = row.top;
  for (const Lane& lane : row.lanes) {
    for (const Box& box : boxes_of(lane, depth_)) {
      draw_box(svg, box, top, row.lane_height());
    }
    top += row.lane_height();
  }
  svg.close();
  if (row.sendings.empty()) {
    return;
  }
  svg.text(kFieldLeft - 10, row.send_top + kSendHeight, "sends",
           "text-anchor=\"end\" font-size=\"10\" fill=\"#555\"");
  svg.open(fmt::format("fill=\"{}\"", kSendColor));
  for (const Sending& sending : row.sendings) {
    svg.rect(across(sending.from_us), row.send_top,
             std::max(pixels(sending.to_us - sending.from_us), 0.5), kSendHeight, {},
             fmt::format("{} transfer{}, {}, {} to {}", sending.transfers,
                         sending.transfers == 1 ? "" : "s",
                         bytes_text(static_cast<double>(sending.bytes)), time_text(sending.from_us),
                         time_text(sending.to_us)));
  }
  svg.close();
}

// Along the foot of the rows, up and down where the path goes to another.
void StepPicture::draw_critical_path(Svg& svg) const {
  std::string path;
  double last_y = 0;
  double last_x = 0;
  const auto row_of = [&](DeviceId device) {
    return std::ranges::find(rows_, device, &Row::device);
  };
  for (const PathSegment& segment : critical_path(problem_, record_)) {
    double y = last_y;
    if (segment.transfer != PathSegment::kNone) {
      const auto row = row_of(record_.transfers[index(segment.transfer)].from);
      y = row->send_top + kSendHeight + 3;
    } else if (segment.device != PathSegment::kNone) {
      const auto row = row_of(segment.device);
      y = row->top + row->lanes_height() + 3;
    }
    const double from = across(segment.from_us);
    if (path.empty()) {
      path = fmt::format("M{} {}", svg_number(from), svg_number(y));
    } else if (y != last_y) {
      path += fmt::format("H{}V{}", svg_number(last_x), svg_number(y));
    }
    last_y = y;
    last_x = across(segment.to_us);
  }
  if (!path.empty()) {
    svg.path(
        path + "H" + svg_number(last_x),
        fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"",
                    kPathColor),
        "critical path");
  }
}

}  // namespace

std::string draw_step(const Problem& problem, const StepRecord& record,
                      const std::string& caption) {
  return StepPicture(problem, record).draw(caption);
}

}  // namespace emplace::bench
