#pragma once

// The pages of docs/reference. Everything in them comes from what the program knows: registries,
// shipped files, schemas and the tree of its commands. So they are the same on every machine, and a
// new agent has a page without an edit.

#include "reference/markdown.hpp"

#include <emplace/base/params.hpp>

#include <CLI/App.hpp>

#include <map>
#include <span>
#include <string>

namespace emplace::cli {

/// Holds pages by their path in docs/reference: "agents/heft.md".
using Pages = std::map<std::string, std::string>;

/// Returns all pages, and README.md, which leads to them. Throws kUnsupported where this build
/// lacks a part that adds names (optional_parts.hpp).
Pages reference_pages(const CLI::App& program);

/// Adds agents.md and a page for each agent, agents/NAME.md.
void add_agent_pages(Pages& pages);

/// Returns cli.md.
std::string command_page(const CLI::App& program);

/// Returns agent-protocol.md: what programs that place say and hear.
std::string protocol_page();

/// Returns formats.md: file formats of graphs.
std::string format_page();

/// Returns schemas.md: the JSON files and their schemas.
std::string schema_page();

/// Adds the parameters, in their groups: one per line, and those for experts folded away. The
/// headings of groups are of `level`.
void add_parameters(MarkdownPage& page, std::span<const ParamSpec> parameters, int level);

}  // namespace emplace::cli
