#include "unsupported_models.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace emplace {
namespace {

// Names the formats that `is_meant` holds for.
std::string list_of(const std::map<std::string, GraphFormat, std::less<>>& formats,
                    bool (*is_meant)(const GraphFormat&)) {
  std::vector<std::string_view> names;
  for (const auto& [name, format] : formats) {
    if (is_meant(format)) {
      names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// "train=true" is no dimension but a parameter, misspelt.
void expect_size(const GraphFormat& format, const std::string& key, const std::string& value) {
  if (value.find_first_not_of("-0123456789") == std::string::npos) {
    return;
  }
  std::vector<std::string> names;
  names.reserve(format.read_parameters.size());
  for (const ParamSpec& parameter : format.read_parameters) {
    names.push_back(parameter.name);
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("reading format {}: {} is '{}', expected a whole number if it is one of "
                          "the {}{}",
                          format.name, excerpt(key), excerpt(value), format.other_parameters,
                          suggest_names(key, names)));
}

bool can_read(const GraphFormat& format) { return format.read != nullptr; }
bool can_write(const GraphFormat& format) { return format.write != nullptr; }

// The parameters, with those that the format's table lacks in the one that takes them.
Spec with_others_gathered(const GraphFormat& format, const Spec& spec) {
  if (format.other_parameters.empty()) {
    return spec;
  }
  Spec gathered{.name = spec.name};
  std::string others;
  for (const auto& [key, value] : spec.given) {
    if (key == format.other_parameters) {
      others += fmt::format("{}{}", others.empty() ? "" : ";", value);
    } else if (std::ranges::find(format.read_parameters, key, &ParamSpec::name) !=
               format.read_parameters.end()) {
      gathered.given.emplace_back(key, value);
    } else {
      expect_size(format, key, value);
      others += fmt::format("{}{}:{}", others.empty() ? "" : ";", key, value);
    }
  }
  if (!others.empty()) {
    gathered.given.emplace_back(format.other_parameters, others);
  }
  return gathered;
}

}  // namespace

bool FileContent::has(std::string_view name) const {
  return std::ranges::find(json_members, name) != json_members.end();
}

GraphFormats& GraphFormats::global() {
  static GraphFormats formats;
  return formats;
}

void GraphFormats::add(GraphFormat format) {
  EMPLACE_CHECK(can_read(format) || can_write(format),
                "format '{}' can neither be read nor written", format.name);
  const auto [position, added] = formats_.try_emplace(format.name, std::move(format));
  EMPLACE_CHECK(added, "two formats are called '{}'", position->first);
}

std::vector<std::string> GraphFormats::names() const {
  std::vector<std::string> result;
  result.reserve(formats_.size());
  for (const auto& [name, format] : formats_) {
    result.push_back(name);
  }
  return result;
}

const GraphFormat& GraphFormats::find(std::string_view name) const {
  const auto found = formats_.find(name);
  if (found == formats_.end()) {
    throw_unknown_name("format", name, names());
  }
  return found->second;
}

const GraphFormat* GraphFormats::find_by_ending(std::string_view path) const {
  const std::string lower = to_lower(path);
  for (const auto& [name, format] : formats_) {
    for (const std::string& ending : format.endings) {
      if (lower.ends_with(ending)) {
        return &format;
      }
    }
  }
  return nullptr;
}

std::string GraphFormats::file_of(const std::string& path) const {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const auto& [name, format] : formats_) {
      for (const std::string& file : format.folder_files) {
        if (const fs::path inner = fs::path(path) / file; fs::is_regular_file(inner, ignored)) {
          return inner.string();
        }
      }
    }
  }
  return path;
}

const GraphFormat& GraphFormats::guess(std::string_view bytes, std::string_view source) const {
  const FileContent content{.bytes = bytes, .json_members = json_root_members(bytes)};
  std::vector<const GraphFormat*> found;
  for (const auto& [name, format] : formats_) {
    if (format.recognizes && format.recognizes(content)) {
      found.push_back(&format);
    }
  }
  if (found.size() == 1) {
    return *found.front();
  }
  if (found.size() > 1) {
    throw Error(ErrorCode::kFormat, fmt::format("{}: the file may be of format {} or {}; name one",
                                                source, found[0]->name, found[1]->name));
  }
  refuse_unsupported_model(bytes, source);
  if (const GraphFormat* format = find_by_ending(source)) {
    return *format;
  }
  refuse_unsupported_ending(source);
  throw Error(ErrorCode::kFormat,
              fmt::format("{}: its format is not clear from its name or its content; known: {}",
                          source, list_of(formats_, can_read)));
}

OpGraph GraphFormats::read(const Spec& spec, std::string_view bytes,
                           const std::string& source) const {
  const GraphFormat& format = find(spec.name);
  if (!can_read(format)) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: files of format {} can only be written; these can be read: {}",
                            source, format.name, list_of(formats_, can_read)));
  }
  OpGraph graph =
      format.read(bytes, source,
                  resolve_params(format.read_parameters, with_others_gathered(format, spec),
                                 fmt::format("reading format {}", format.name)));
  std::string& name = graph[boost::graph_bundle].name;
  if (name.empty()) {
    name = std::filesystem::path(source).stem().string();
  }
  validate(graph, source);
  return graph;
}

std::string GraphFormats::write(const Spec& spec, const OpGraph& graph) const {
  const GraphFormat& format = find(spec.name);
  if (!can_write(format)) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("files of format {} can only be read; these can be written: {}",
                            format.name, list_of(formats_, can_write)));
  }
  return format.write(graph, resolve_params(format.write_parameters, spec,
                                            fmt::format("writing format {}", format.name)));
}

}  // namespace emplace
