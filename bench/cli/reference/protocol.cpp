// agent-protocol.md.

#include "reference/pages.hpp"

#include <emplace/agents/exec_protocol.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace emplace::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

void add_members(MarkdownPage& page, const Rows& rows) {
  page.table({"member", "value", "meaning"}, rows);
}

void add_problem(MarkdownPage& page) {
  page.heading(2, "The problem");
  page.paragraph(
      "`{\"problem\": {...}}` is the first line that the program receives. Groups and devices are "
      "numbered from 0; arrays of groups or of devices are in that order. Times are in "
      "microseconds.");
  add_members(
      page,
      {{"`protocol`, `version`", "text, number", "as in the hello"},
       {"`graph`, `cluster`", "texts", "names"},
       {"`seed`", "whole number below 2^53", "for all random numbers of the program"},
       {"`evaluations_left`", "whole number, or null",
        "evaluations that the program may ask for; null where only time is limited"},
       {"`seconds_left`", "number, or null", "time to search; null where evaluations are counted"},
       {"`devices`", "array of objects", "`name`, `memory_bytes`, `placeable`, `slots`"},
       {"`groups.count`", "whole number", "groups of ops to place"},
       {"`groups.names`, `groups.scopes`", "arrays of texts",
        "name and layer of the first op of each group"},
       {"`groups.ops`", "array", "number of ops of each group"},
       {"`groups.persistent_bytes`", "array", "weights and optimizer state of each group"},
       {"`groups.output_bytes`", "array", "all outputs of each group, if none were freed"},
       {"`groups.cost_us`", "array for each device", "cost of each group on that device"},
       {"`groups.order`", "array", "the groups in a topological order"},
       {"`groups.pinned`", "array, under constraints",
        "the device on which each group must be, or -1"},
       {"`groups.together`", "array of arrays, under constraints",
        "groups that must share a device, in topological order"},
       {"`edges`", "array of [producer, consumer, bytes]",
        "what one group hands to another; 0 bytes for pure order"},
       {"`transfers.model`", "text", "the transfer model of the cluster"},
       {"`transfers.latency_us`", "matrix, from by to", "time of a transfer of no bytes"},
       {"`transfers.us_per_byte`", "matrix, from by to", "time of each further byte"}});
  page.paragraph(
      "`placeable` says whether agents should use a device; a host CPU next to GPUs is not. A "
      "device runs `slots` ops at the same time. A placement that does not keep the constraints is "
      "not refused: pinned groups go where they must be, and others to the device of the first "
      "with which they must be together. Readers must ignore members that they do not "
      "know: others may be added without a new version.");
}

void add_requests(MarkdownPage& page) {
  page.heading(2, "Requests and answers");
  page.paragraph(
      "A placement is an array with a device for each group, or a text: the same numbers as one "
      "byte each, in base64, which is faster where there are many groups. A program reads the "
      "answer of a request before it sends the next.");
  page.paragraph(fmt::format(
      "**`{{\"evaluate\": [PLACEMENT, ...]}}`** simulates up to {} placements, in parallel. Each "
      "costs one evaluation of the budget. The answer has an element for each of them:",
      agents::kMaxBatch));
  add_members(page, {{"`step_time_us`", "array", "time of a training step; null beyond the budget"},
                     {"`bytes_over`", "array", "bytes that do not fit, summed over devices"},
                     {"`objective_us`", "array",
                      "what to minimize: the step time and 2 s for each 10^9 bytes over; null "
                      "beyond the budget"},
                     {"`status`", "array", "`ok`, `out-of-memory` or `budget-spent`"},
                     {"`evaluations_left`, `seconds_left`", "as above", "what is left now"}});
  page.paragraph(
      "When the budget is spent or the user stops the search, `evaluations_left` is 0: then the "
      "program gives its placement.");
  page.paragraph(
      "**`{\"best\": true}`** asks for the best placement that was evaluated. The answer has "
      "`best`, an object of `placement`, `step_time_us`, `bytes_over`, `objective_us` and "
      "`status`, or null before the first evaluation, and what is left of the budget.");
  page.paragraph(
      "**`{\"placement\": PLACEMENT}`** ends the exchange. There is no answer; standard input "
      "ends.");
}

void add_limits(MarkdownPage& page) {
  page.heading(2, "Limits");
  page.paragraph(
      "A program that breaks a rule is killed with all processes of its group, and its cell fails "
      "with the reason and the last line of its standard error. Other cells go on.");
  page.table(
      {"limit", "value"},
      {{"until the hello", "`start-limit`, a parameter of " + link("exec", "agents/exec.md")},
       {"until the placement", "`time-limit`"},
       {"memory of each process (data, `RLIMIT_DATA`)", "`memory-limit`"},
       {"a line", fmt::format("{} MiB", agents::kMaxLineBytes >> 20)},
       {"standard error", fmt::format("{} MiB", agents::kMaxErrorBytes >> 20)},
       {"placements in a request", fmt::format("{}", agents::kMaxBatch)},
       {"from a stop by the user to the placement", fmt::format("{} s", agents::kStopGraceS)},
       {"from the placement to the end of the process",
        fmt::format("{} s, then it is killed", agents::kEndGraceS)}});
  page.paragraph(
      "The program runs in the working directory of emplace, with its environment, and without "
      "its other open files. The limits keep mistakes from doing harm; they are not a sandbox for "
      "a program that you do not trust. A process that leaves the group (`setsid`) is not killed.");
  page.paragraph(
      "The same program with the same seed gives the same cell, on any number of threads, if it "
      "uses nothing but what it receives.");
}

}  // namespace

std::string protocol_page() {
  MarkdownPage page(fmt::format("Agent protocol, version {}", agents::kExecProtocolVersion));
  page.paragraph(
      "A program in any language can place: `--agent exec:COMMAND`, and the same in suites. It "
      "exchanges messages with emplace on its standard input and output, one JSON object per line, "
      "in UTF-8. The guide \"Agents in any language\" has examples.");
  page.paragraph(
      fmt::format("The program speaks first: `{{\"hello\": \"{}\", \"version\": {}}}`. It receives "
                  "the problem, sends requests and reads their answers, and gives a placement at "
                  "the end. Each line has exactly the members listed here. A program must write "
                  "its lines at once: flush the output.",
                  agents::kExecProtocol, agents::kExecProtocolVersion));
  add_problem(page);
  add_requests(page);
  add_limits(page);
  return page.text();
}

}  // namespace emplace::cli
