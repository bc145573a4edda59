#include "module_tree.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>

namespace emplace::bench {
namespace {

// Says whether `path` ends in an atom of digits, and returns what is before it: "layer1" of
// "layer1.0".
std::string_view before_index(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == path.size() ||
      path.find_first_not_of("0123456789", dot + 1) != std::string_view::npos) {
    return {};
  }
  return path.substr(0, dot);
}

// Returns "relu" of "relu_1", and nothing of other names.
std::string_view before_call(std::string_view name) {
  const std::size_t line = name.rfind('_');
  if (line == std::string_view::npos || line + 1 == name.size() ||
      name.find_first_not_of("0123456789", line + 1) != std::string_view::npos) {
    return {};
  }
  return name.substr(0, line);
}

void add_prefixes(std::string_view path, std::set<std::string, std::less<>>& prefixes) {
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('.', end + 1), path.size());
    prefixes.emplace(path.substr(0, end));
  }
}

// Knows which modules are later calls of others.
class RepeatedCalls {
 public:
  explicit RepeatedCalls(const Problem& problem) {
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      const std::string path = module_path(problem.op(op).scope);
      add_prefixes(path, modules_);
      if (problem.op(op).kind == "variable") {
        add_prefixes(path, holders_);
        add_prefixes(problem.op(op).name, holders_);
      }
    }
  }

  // Returns the path of the module that is called, of that of a call.
  std::string module_of(std::string_view path) const {
    std::string module;
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const std::string_view name = path.substr(begin, end - begin);
      const std::string parent = module.empty() ? "" : module + ".";
      const std::string_view first = before_call(name);
      const bool is_repeated = !first.empty() && modules_.contains(parent + std::string(first)) &&
                               !holders_.contains(path.substr(0, end));
      module = parent + std::string(is_repeated ? first : name);
      begin = end + 1;
    }
    return module;
  }

 private:
  std::set<std::string, std::less<>> modules_;
  std::set<std::string, std::less<>> holders_;  // modules with parameters, and these
};

}  // namespace

std::string module_path(std::string_view scope) {
  std::string path;
  std::string_view last;  // element of the scope
  while (!scope.empty()) {
    const std::size_t end = std::min(scope.find('/'), scope.size());
    const std::string_view element = scope.substr(0, end);
    scope.remove_prefix(std::min(end + 1, scope.size()));
    if (element.empty()) {
      continue;
    }
    if (const std::string_view list = before_index(element); !list.empty() && list == last) {
      path.resize(path.size() - last.size());
    } else if (!path.empty()) {
      path += '.';
    }
    path += element;
    last = element;
  }
  return path;
}

std::vector<std::string> stored_paths(std::string_view name) {
  std::vector<std::string> paths;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('+'), name.size());
    std::string path(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
    std::ranges::replace(path, '/', '.');
    const bool is_path = !path.empty() && path.front() != '.' && path.back() != '.' &&
                         std::ranges::all_of(path, [](unsigned char symbol) {
                           return symbol == '.' || symbol == '_' || std::isalnum(symbol) != 0;
                         });
    if (!is_path) {
      return {};
    }
    // Importers write a path in full, or only the name in the module of the first.
    if (!paths.empty() && path.find('.') == std::string::npos) {
      path.insert(0, paths.front(), 0, paths.front().rfind('.') + 1);
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

bool is_stored(const Problem& problem, OpId op) {
  return problem.op(op).kind == "variable" || problem.op(op).kind == "constant";
}

bool is_call(const Problem& problem, OpId op) {
  return problem.op(op).phase == Phase::kForward && !is_stored(problem, op);
}

ModuleTree::ModuleTree(const Problem& problem, std::string_view format)
    : modules_(1), module_of_(problem.num_ops()), forward_of_(problem.num_ops()) {
  std::map<std::string, ModuleId, std::less<>> by_path{{"", kRoot}};
  std::map<std::string, ModuleId, std::less<>> by_scope{{"", kRoot}, {"loss", kRoot}};
  const auto find_or_add = [&](const std::string& path) {
    // Parents first: "a", "a.b", "a.b.c".
    ModuleId parent = kRoot;
    for (std::size_t end = 0; end < path.size();) {
      end = std::min(path.find('.', end + 1), path.size());
      const auto [found, is_new] = by_path.try_emplace(path.substr(0, end), modules_.end_id());
      if (is_new) {
        modules_.push_back({.path = found->first});
        modules_[parent].children.push_back(found->second);
      }
      parent = found->second;
    }
    return parent;
  };
  const RepeatedCalls calls(problem);
  for (const OpId op : problem.topological_order()) {
    const std::string& scope = problem.op(op).scope;
    auto known = by_scope.find(scope);
    if (known == by_scope.end()) {
      known = by_scope.emplace(scope, find_or_add(calls.module_of(module_path(scope)))).first;
    }
    module_of_[op] = known->second;
    modules_[known->second].ops.push_back(op);
  }
  if (modules_.size() == 1) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the graph '{}' has no modules for the format {}: no op has a scope",
                            excerpt(problem.graph()[boost::graph_bundle].name), format));
  }
  for (const Module& module : modules_) {
    paths_.insert(module.path);
  }
  find_forward_ops(problem);
}

// Gradients are called by their forward op, a slash and more; updates so by their variable.
void ModuleTree::find_forward_ops(const Problem& problem) {
  std::unordered_map<std::string_view, OpId> by_name;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    by_name.emplace(problem.op(op).name, op);
  }
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    OpId origin = op;
    std::string_view name = problem.op(op).name;
    while (problem.op(origin).phase != Phase::kForward &&
           name.rfind('/') != std::string_view::npos) {
      name = name.substr(0, name.rfind('/'));
      if (const auto found = by_name.find(name); found != by_name.end()) {
        origin = found->second;
      }
    }
    if (is_stored(problem, origin)) {
      for (const Problem::Child& child : problem.children(origin)) {
        if (problem.op(child.op).phase == Phase::kForward) {
          origin = child.op;
          break;
        }
      }
    }
    forward_of_[op] = problem.op(origin).phase == Phase::kForward ? origin : op;
  }
}

std::vector<OpId> ModuleTree::ops_within(ModuleId module) const {
  std::vector<OpId> ops;
  std::vector<ModuleId> left{module};
  while (!left.empty()) {
    const Module& next = modules_[left.back()];
    left.pop_back();
    ops.insert(ops.end(), next.ops.begin(), next.ops.end());
    left.insert(left.end(), next.children.begin(), next.children.end());
  }
  return ops;
}

}  // namespace emplace::bench
