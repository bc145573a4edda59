// graphs.md and op-kinds.md.

#include "graph_facts.hpp"
#include "reference/pages.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/imported_op_kinds.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <fmt/format.h>

#include <span>

namespace emplace::cli {
namespace {

std::string billions(std::int64_t number) {
  return fmt::format("{:.3f}", static_cast<double>(number) / 1e9);
}

std::string millions(std::int64_t number) {
  return fmt::format("{:.2f}", static_cast<double>(number) / 1e6);
}

}  // namespace

std::string graph_page() {
  MarkdownPage page("Graphs");
  page.paragraph(
      "A graph is one step of a neural network, op by op: the forward pass and, of those that are "
      "trained, the backward pass and the updates. Use one of these by its name, with parameters "
      "after "
      "it (`inception-v3:batch=32`), or the path of a file ([formats](formats.md)). "
      "`emplace list graphs` lists them; `emplace show NAME` shows more about one. [Kinds of "
      "ops](op-kinds.md) explains what the ops compute.");
  page.paragraph(
      "The table is for the default parameters. Memory is what a step on one device keeps: "
      "weights, the optimizer's slots and the outputs of the forward pass.");
  std::vector<std::vector<std::string>> rows;
  for (const GraphFacts& facts : facts_of_catalog()) {
    rows.push_back({link(code(facts.name), anchor(facts.name)), fmt::format("{}", facts.ops),
                    fmt::format("{}", facts.edges), millions(facts.totals.parameters),
                    billions(facts.totals.flops), billions(facts.memory_bytes())});
  }
  page.table({"graph", ">ops", ">edges", ">weights [million]", ">GFLOP", ">memory [GB]"}, rows);
  for (const std::string& name : GraphCatalog::global().names()) {
    const GraphModel& model = GraphCatalog::global().find(name);
    page.heading(2, name).paragraph(sentence(model.summary));
    page.paragraph(model.reference.empty() ? "" : "Reference: " + sentence(model.reference));
    page.paragraph(model.is_family
                       ? "This is a family: `member` chooses one graph, and where many graphs are "
                         "meant, the name stands for all members of the split."
                       : "");
    add_parameters(page, model.parameters, 3);
  }
  return page.text();
}

namespace {

std::string_view memory_of(const OpKind& kind) {
  switch (kind.memory) {
    case ResultMemory::kOwn:
      return "";
    case ResultMemory::kView:
      return "; a view";
    case ResultMemory::kInPlace:
      return "; works in place";
  }
  return "";
}

}  // namespace

std::string op_kind_page() {
  MarkdownPage page("Kinds of ops");
  page.paragraph(
      "The kind of an op says what it computes. Its class decides by which efficiencies of a "
      "[device profile](profiles.md) its cost is predicted; *shape* says what the numbers in "
      "`shape` are. A view is in the memory of its first input, and what works in place may write "
      "over an input. Ops of any other kind are legal in a graph; their cost is then a guess.");
  const auto list = [&](std::span<const OpKind> kinds) {
    for (const OpKind& kind : kinds) {
      page.item(fmt::format("**`{}`** ({}{}{}): {} Shape: {}", kind.name, to_string(kind.op_class),
                            kind.launches ? "" : "; takes no time", memory_of(kind),
                            sentence(kind.summary),
                            kind.shape.empty() ? "none." : sentence(kind.shape)));
    }
  };
  list(op_kinds());
  page.heading(2, "Kinds of imported graphs");
  page.paragraph(
      "Only graphs from files have ops of these kinds. Their cost follows from their class. The "
      "gradient of such an op, `exp_backward` of `exp`, is of the same class and shape.");
  list(imported_op_kinds());
  return page.text();
}

}  // namespace emplace::cli
