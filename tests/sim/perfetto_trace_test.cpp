#include "support/machines.hpp"
#include "support/problems.hpp"
#include "support/properties.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/random.hpp>
#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/perfetto_trace.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace emplace::perfetto_trace_test {
namespace {

using nlohmann::json;

// --- A reader of Protocol Buffers' wire format, which knows no descriptions. ---

struct Message;
using Field = std::variant<std::uint64_t, std::string>;  // a number, or bytes

struct Message {
  explicit Message(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::uint64_t tag = varint(bytes);
      switch (tag & 7U) {
        case 0:
          fields[tag >> 3U].emplace_back(varint(bytes));
          break;
        case 1: {
          std::uint64_t number = 0;
          for (unsigned byte = 0; byte < 8; ++byte) {
            number |= std::uint64_t{static_cast<unsigned char>(bytes.at(byte))} << 8 * byte;
          }
          fields[tag >> 3U].emplace_back(number);
          bytes.remove_prefix(8);
          break;
        }
        case 2: {
          const std::uint64_t length = varint(bytes);
          EXPECT_LE(length, bytes.size());
          fields[tag >> 3U].emplace_back(std::string(bytes.substr(0, length)));
          bytes.remove_prefix(length);
          break;
        }
        default:
          throw std::runtime_error("an unknown wire type");
      }
    }
  }

  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(0));
      bytes.remove_prefix(1);
      number |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) {
        return number;
      }
    }
  }

  bool has(std::uint64_t field) const { return fields.contains(field); }
  std::uint64_t number(std::uint64_t field) const {
    return has(field) ? std::get<std::uint64_t>(fields.at(field).front()) : 0;
  }
  const std::string& text(std::uint64_t field) const {
    return std::get<std::string>(fields.at(field).front());
  }
  Message message(std::uint64_t field) const { return Message(text(field)); }
  std::vector<Message> messages(std::uint64_t field) const {
    std::vector<Message> found;
    for (const Field& one : has(field) ? fields.at(field) : std::vector<Field>()) {
      found.emplace_back(std::get<std::string>(one));
    }
    return found;
  }
  std::vector<std::uint64_t> numbers(std::uint64_t field) const {
    std::vector<std::uint64_t> found;
    for (const Field& one : has(field) ? fields.at(field) : std::vector<Field>()) {
      found.push_back(std::get<std::uint64_t>(one));
    }
    return found;
  }

  std::map<std::uint64_t, std::vector<Field>> fields;
};

// --- What both formats say ---

struct SliceFacts {
  std::int64_t process = 0;
  std::string row;  // compute, send
  std::string name;
  std::string category;
  std::int64_t start_ns = 0;
  std::map<std::string, std::string> facts{};

  auto operator<=>(const SliceFacts&) const = default;
};
struct Slice : SliceFacts {
  std::int64_t length_ns = 0;  // is not compared: one format rounds it, the other the ends
};
using Arrow = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // starts of what it joins

struct Trace {
  std::multiset<Slice> slices;  // of ops and transfers
  std::vector<Slice> path;      // the critical path
  std::multiset<Arrow> arrows;
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> memory;  // by process
  std::map<std::int64_t, std::string> processes;
};

std::int64_t nanoseconds(const json& us) { return std::llround(us.get<double>() * 1e3); }

Trace read_json(const std::string& text) {
  Trace trace;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> rows;
  std::map<std::int64_t, std::vector<std::int64_t>> arrows;
  const json parsed = json::parse(text);
  for (const json& event : parsed["traceEvents"]) {
    const std::string phase = event["ph"];
    const std::int64_t process = event["pid"];
    if (phase == "M" && event["name"] == "process_name") {
      trace.processes[process] = event["args"]["name"];
    } else if (phase == "M" && event["name"] == "thread_name") {
      const std::string name = event["args"]["name"];
      rows[{process, event["tid"]}] = name.substr(0, name.find(' '));
    } else if (phase == "X") {
      Slice slice{{process, rows.at({process, event["tid"]}), event["name"], event["cat"],
                   nanoseconds(event["ts"])},
                  nanoseconds(event["dur"])};
      for (const auto& [key, value] : event["args"].items()) {
        slice.facts[key] = value.is_string() ? value.get<std::string>() : value.dump();
      }
      trace.slices.insert(slice);
    } else if (phase == "s" || phase == "t" || phase == "f") {
      arrows[event["id"]].push_back(nanoseconds(event["ts"]));
    } else if (phase == "C") {
      trace.memory[process].emplace_back(nanoseconds(event["ts"]), event["args"]["bytes"]);
    } else if (phase == "b") {
      trace.path.push_back({{0, "", event["name"], event["cat"], nanoseconds(event["ts"])}});
    }
  }
  for (const auto& [id, at] : arrows) {
    trace.arrows.insert({at.at(0), at.at(1), at.at(2)});
  }
  return trace;
}

// Field numbers of Perfetto's protos/perfetto/trace.
class PerfettoReader {
 public:
  Trace read(const std::string& bytes) {
    bool is_first = true;
    for (const Message& packet : Message(bytes).messages(1)) {
      EXPECT_EQ(packet.number(10), 1U);                // the sequence
      EXPECT_EQ(packet.number(13), is_first ? 3 : 2);  // cleared at first, needed always
      is_first = false;
      if (packet.has(12)) {
        read_texts(packet.message(12));
      }
      if (packet.has(60)) {
        read_track(packet.message(60));
      } else {
        read_event(static_cast<std::int64_t>(packet.number(8)), packet.message(11));
      }
    }
    EXPECT_TRUE(open_.empty());
    for (const auto& [flow, arrow] : arrows_) {
      EXPECT_EQ(arrow.size(), 3U);
      trace_.arrows.insert({arrow.at("op"), arrow.at("transfer"), arrow.at("consumer")});
    }
    return std::move(trace_);
  }

 private:
  struct Track {
    std::int64_t process = 0;
    std::string name{};
  };

  void read_texts(const Message& data) {
    for (const std::uint64_t kind : {1, 2, 3, 29}) {
      for (const Message& entry : data.messages(kind)) {
        EXPECT_NE(entry.number(1), 0U);
        EXPECT_TRUE(texts_[kind].emplace(entry.number(1), entry.text(2)).second);
      }
    }
  }

  void read_track(const Message& track) {
    const std::uint64_t id = track.number(1);
    EXPECT_FALSE(tracks_.contains(id));
    if (track.has(3)) {
      const Message process = track.message(3);
      const auto number = static_cast<std::int64_t>(process.number(1));
      trace_.processes[number] = process.text(6);
      tracks_[id] = {number, ""};
    } else {
      tracks_[id] = {tracks_.at(track.number(5)).process, track.text(2)};
    }
  }

  void read_event(std::int64_t at_ns, const Message& event) {
    const std::uint64_t id = event.number(11);
    const Track& track = tracks_.at(id);
    switch (event.number(9)) {
      case 1: {
        EXPECT_FALSE(open_.contains(id));  // slices of a row do not overlap
        Slice slice{{track.process, track.name,
                     event.has(10) ? texts_.at(2).at(event.number(10)) : event.text(23),
                     event.has(3) ? texts_.at(1).at(event.number(3)) : "", at_ns}};
        for (const Message& fact : event.messages(4)) {
          slice.facts[texts_.at(3).at(fact.number(1))] =
              fact.has(17) ? texts_.at(29).at(fact.number(17)) : std::to_string(fact.number(4));
        }
        for (const std::uint64_t flow : event.numbers(47)) {
          arrows_[flow][track.name == "send" ? "transfer" : "op"] = at_ns;
        }
        for (const std::uint64_t flow : event.numbers(48)) {
          arrows_[flow]["consumer"] = at_ns;
        }
        EXPECT_GE(at_ns, last_end_ns_[id]);
        open_[id] = slice;
        break;
      }
      case 2: {
        Slice slice = open_.at(id);
        open_.erase(id);
        EXPECT_GE(at_ns, slice.start_ns);
        slice.length_ns = at_ns - slice.start_ns;
        last_end_ns_[id] = at_ns;
        if (track.name == "critical path") {
          slice.process = 0;
          slice.row = "";
          slice.facts.clear();
          trace_.path.push_back(slice);
        } else if (track.name == "step") {
          EXPECT_EQ(slice.facts.count("graph"), 1U);
        } else {
          trace_.slices.insert(slice);
        }
        break;
      }
      case 4:
        EXPECT_EQ(track.name, "memory");
        trace_.memory[track.process].emplace_back(at_ns,
                                                  static_cast<std::int64_t>(event.number(30)));
        break;
      default:
        ADD_FAILURE() << "an event of type " << event.number(9);
    }
  }

  Trace trace_;
  std::map<std::uint64_t, std::map<std::uint64_t, std::string>> texts_;
  std::map<std::uint64_t, Track> tracks_;
  std::map<std::uint64_t, Slice> open_;
  std::map<std::uint64_t, std::int64_t> last_end_ns_;
  std::map<std::uint64_t, std::map<std::string, std::int64_t>> arrows_;
};

// Both formats tell the same of a step.
void expect_same(const Problem& problem, const StepRecord& record) {
  std::string bytes;
  try {
    bytes = write_perfetto_trace(problem, record);
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::kUnsupported);
    GTEST_SKIP() << error.what();
  }
  Trace perfetto = PerfettoReader().read(bytes);
  Trace chrome = read_json(write_chrome_trace(problem, record));
  chrome.processes.erase(problem.num_devices() + 1);  // named otherwise
  perfetto.processes.erase(problem.num_devices() + 1);
  EXPECT_EQ(perfetto.processes, chrome.processes);
  ASSERT_EQ(perfetto.slices.size(), chrome.slices.size());
  for (auto one = perfetto.slices.begin(), other = chrome.slices.begin();
       one != perfetto.slices.end(); ++one, ++other) {
    EXPECT_TRUE(*one == *other) << one->name << " and " << other->name;
    EXPECT_LE(std::abs(one->length_ns - other->length_ns), 1);
  }
  EXPECT_TRUE(perfetto.path == chrome.path);
  EXPECT_EQ(perfetto.arrows, chrome.arrows);
  EXPECT_EQ(perfetto.memory, chrome.memory);
}

TEST(PerfettoTrace, TellsTheSameAsChromes) {
  const Problem problem = test::make_problem(test::diamond_graph(10), {.num_devices = 2});
  expect_same(problem, Simulator(problem).record(Placement(std::vector<DeviceId>{0, 0, 1, 0})));
}

TEST(PerfettoTrace, TellsTheSameAsChromesOfStepsOfAnyModel) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed);
    const test::Trial run(
        test::draw_step([&](std::uint64_t bound) { return random.below(bound); },
                        seed % 2 == 0 ? test::Coincidences::kMany : test::Coincidences::kNone, 30));
    expect_same(run.problem, run.record);
  }
}

TEST(PerfettoTrace, TellsTextsOnce) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "quote\" \n \xc3\xa9", .scope = "a/b"}, {.name = "x"}}),
      {.num_devices = 1});
  expect_same(problem, Simulator(problem).record(Placement(2)));
}

}  // namespace
}  // namespace emplace::perfetto_trace_test
