#include "dot_parser.hpp"

#include "formats/text_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace emplace {
namespace {

// Bounds on what a short file could blow up: nesting, products of node sets, defaults. Each
// statement of defaults makes a list of its own, which repeats those before it.
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxProducts = 1'000'000;
constexpr std::size_t kMaxListedDefaults = 1'000'000;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes back the escapes of a label.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '\\' || text[i + 1] == 'n')) {
      plain += text[++i] == 'n' ? '\n' : '\\';
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Reads the syntax.
class Parser {
 public:
  Parser(std::string_view text, const std::string& source) : cursor_(text, source) {
    is_strict_ = take_keyword("strict");
    if (!take_keyword("digraph")) {
      cursor_.fail_expected("'digraph'");
    }
    if (const auto name = take_id()) {
      graph_.attributes.emplace_back("name", unescape(*name));
    }
    expect("{");
    read_statements({empty_, empty_}, 0);
    skip();
    if (!cursor_.at_end()) {
      cursor_.fail_expected("the end of the file");
    }
  }

  DotGraph take_graph() && { return std::move(graph_); }

 private:
  struct Scope {
    SharedAttributes node;
    SharedAttributes edge;
  };
  using NodeSet = std::vector<std::size_t>;

  // Moves behind blanks, comments and lines of the C preprocessor.
  void skip() {
    for (;;) {
      cursor_.skip_blanks();
      if (cursor_.take_if("//") || cursor_.take_if("#")) {
        cursor_.take(std::min(cursor_.rest().find('\n'), cursor_.rest().size()));
      } else if (cursor_.take_if("/*")) {
        cursor_.take_until("*/");
      } else {
        return;
      }
    }
  }

  bool take(std::string_view word) {
    skip();
    return cursor_.take_if(word);
  }

  void expect(std::string_view word) {
    if (!take(word)) {
      cursor_.fail_expected(fmt::format("'{}'", word));
    }
  }

  // Returns the name or number that comes next, without moving.
  std::string_view peek_word() {
    skip();
    const std::string_view rest = cursor_.rest();
    std::size_t length = 0;
    if (is_letter(cursor_.peek())) {
      while (length < rest.size() && (is_letter(rest[length]) || is_digit(rest[length]))) {
        ++length;
      }
      return rest.substr(0, length);
    }
    length = rest.starts_with('-') ? 1 : 0;
    bool has_digit = false;
    while (length < rest.size() && (is_digit(rest[length]) || rest[length] == '.')) {
      has_digit |= is_digit(rest[length++]);
    }
    return rest.substr(0, has_digit ? length : 0);
  }

  bool is_keyword(std::string_view keyword) {
    return std::ranges::equal(peek_word(), keyword, [](char a, char b) { return (a | 0x20) == b; });
  }

  bool take_keyword(std::string_view keyword) {
    const bool comes = is_keyword(keyword);
    cursor_.take(comes ? keyword.size() : 0);
    return comes;
  }

  std::string take_quoted() {
    std::string text;
    do {
      expect("\"");
      while (!cursor_.take_if("\"")) {
        if (cursor_.at_end()) {
          cursor_.fail("expected '\"' further on");
        } else if (cursor_.take_if("\\\"")) {
          text += '"';
        } else if (cursor_.rest().starts_with("\\\\")) {
          text += cursor_.take(2);
        } else if (!cursor_.take_if("\\\n")) {
          text += cursor_.take(1);
        }
      }
    } while (take("+"));
    return text;
  }

  std::string take_html() {
    std::string text;
    int depth = 0;
    do {
      if (cursor_.at_end()) {
        cursor_.fail("expected '>' further on");
      }
      depth += cursor_.peek() == '<' ? 1 : cursor_.peek() == '>' ? -1 : 0;
      text += cursor_.take(1);
    } while (depth > 0);
    return text;
  }

  std::optional<std::string> take_id() {
    if (const std::string_view word = peek_word(); !word.empty()) {
      return std::string(cursor_.take(word.size()));
    }
    if (cursor_.peek() == '"') {
      return take_quoted();
    }
    if (cursor_.peek() == '<') {
      return take_html();
    }
    return std::nullopt;
  }

  std::string expect_id(std::string_view what) {
    std::optional<std::string> id = take_id();
    if (!id) {
      cursor_.fail_expected(what);
    }
    return *std::move(id);
  }

  // Reads any number of [name=value, ...].
  TextAttributes take_attributes() {
    TextAttributes taken;
    while (take("[")) {
      while (!take("]")) {
        std::string name = expect_id("the name of an attribute or ']'");
        std::string value = take("=") ? unescape(expect_id("the value of an attribute")) : "true";
        taken.emplace_back(std::move(name), std::move(value));
        if (!take(",")) {
          take(";");
        }
      }
    }
    return taken;
  }

  // Adds to the defaults of a scope; nodes made before keep theirs.
  void add_defaults(SharedAttributes& defaults) {
    TextAttributes sum = *defaults;
    for (auto& [name, value] : take_attributes()) {
      if (name.size() + value.size() > kMaxDefaultBytes) {
        cursor_.fail(fmt::format("expected a default attribute of at most {} bytes, found {}",
                                 kMaxDefaultBytes, name.size() + value.size()));
      }
      const auto known = std::ranges::find(sum, name, &TextAttributes::value_type::first);
      if (known == sum.end()) {
        sum.emplace_back(std::move(name), std::move(value));
      } else {
        known->second = std::move(value);
      }
      if (sum.size() > kMaxDefaults) {
        cursor_.fail(fmt::format("expected at most {} default attributes", kMaxDefaults));
      }
    }
    num_listed_defaults_ += sum.size();
    if (num_listed_defaults_ > kMaxListedDefaults) {
      cursor_.fail("expected default attributes that change less often");
    }
    defaults = std::make_shared<const TextAttributes>(std::move(sum));
  }

  // Reads statements up to the closing brace; returns the nodes that they name.
  NodeSet read_statements(Scope scope, int depth) {
    NodeSet named;
    while (!take("}")) {
      if (cursor_.at_end()) {
        cursor_.fail_expected("'}'");
      }
      if (take(";")) {
        continue;
      }
      const NodeSet nodes_of_statement = read_statement(scope, depth);
      named.insert(named.end(), nodes_of_statement.begin(), nodes_of_statement.end());
    }
    std::ranges::sort(named);
    named.erase(std::unique(named.begin(), named.end()), named.end());
    return named;
  }

  NodeSet read_statement(Scope& scope, int depth) {
    if (take_keyword("node")) {
      add_defaults(scope.node);
      return {};
    }
    if (take_keyword("edge")) {
      add_defaults(scope.edge);
      return {};
    }
    if (take_keyword("graph")) {
      add_graph_attributes(take_attributes(), depth);
      return {};
    }
    const std::size_t line = cursor_.line();
    std::optional<std::string> id = is_set() ? std::nullopt : take_id();
    if (id && take("=")) {
      std::string value = unescape(expect_id("the value of an attribute"));
      add_graph_attributes({{*std::move(id), std::move(value)}}, depth);
      return {};
    }
    std::vector<NodeSet> path = {id ? read_node(*id, scope) : read_set(scope, depth)};
    while (take("->")) {
      path.push_back(is_set() ? read_set(scope, depth)
                              : read_node(expect_id("a node or '{'"), scope));
    }
    if (cursor_.rest().starts_with("--")) {
      cursor_.fail_expected("'->'");
    }
    TextAttributes taken = take_attributes();
    if (path.size() > 1) {
      add_edges(path, scope, std::make_shared<const TextAttributes>(std::move(taken)), line);
    } else if (id) {
      TextAttributes& own = graph_.nodes[path[0][0]].attributes;
      std::ranges::move(taken, std::back_inserter(own));
    }
    NodeSet named;
    for (const NodeSet& set : path) {
      named.insert(named.end(), set.begin(), set.end());
    }
    return named;
  }

  void add_graph_attributes(TextAttributes added, int depth) {
    if (depth == 0) {
      std::ranges::move(added, std::back_inserter(graph_.attributes));
    }
  }

  bool is_set() { return is_keyword("subgraph") || cursor_.peek() == '{'; }

  NodeSet read_set(const Scope& scope, int depth) {
    if (take_keyword("subgraph")) {
      take_id();
    }
    if (depth == kMaxDepth) {
      cursor_.fail(fmt::format("nested more than {} levels deep", kMaxDepth));
    }
    skip();
    if (!cursor_.take_if("{")) {
      cursor_.fail_expected("a node, an attribute or '{'");
    }
    return read_statements(scope, depth + 1);
  }

  // Returns the node `id`, which is new if it was not named before.
  NodeSet read_node(const std::string& id, const Scope& scope) {
    for (int i = 0; i < 2 && take(":"); ++i) {
      expect_id("a port");
    }
    const auto [known, is_new] = node_of_.emplace(id, graph_.nodes.size());
    if (is_new) {
      graph_.nodes.push_back(
          {.id = id, .name = unescape(id), .line = cursor_.line(), .defaults = scope.node});
    }
    return {known->second};
  }

  void add_edges(const std::vector<NodeSet>& path, const Scope& scope, const SharedAttributes& own,
                 std::size_t line) {
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      const std::size_t product = path[i].size() * path[i + 1].size();
      num_products_ += product > 1 ? product : 0;
      if (num_products_ > kMaxProducts) {
        cursor_.fail(fmt::format("expected at most {} edges between sets of nodes", kMaxProducts));
      }
      for (const std::size_t source : path[i]) {
        for (const std::size_t target : path[i + 1]) {
          if (is_strict_ && !pairs_.emplace(source, target).second) {
            cursor_.fail("the edge appears twice, but the graph is strict");
          }
          graph_.edges.push_back({source, target, line, scope.edge, own});
        }
      }
    }
  }

  TextCursor cursor_;
  DotGraph graph_;
  bool is_strict_ = false;
  SharedAttributes empty_ = std::make_shared<const TextAttributes>();
  std::unordered_map<std::string, std::size_t> node_of_;
  std::set<std::pair<std::size_t, std::size_t>> pairs_;
  std::size_t num_products_ = 0;
  std::size_t num_listed_defaults_ = 0;
};

}  // namespace

DotGraph parse_dot(std::string_view text, const std::string& source) {
  return Parser(text, source).take_graph();
}

}  // namespace emplace
