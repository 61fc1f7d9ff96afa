// C++ declarations out of the public headers, whose texts are in the program. What is read: `inline Tensor name(...) { return
// call(Op::name_, ...)` on one line, macros of such lines, and in nn.h classes that derive from Module.
#if defined(__GNUC__) && !defined(__clang__)  // g++ 12 with sanitizers takes std::regex's states for uninitialized
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <regex>

#include <fmt/format.h>

#include <algorithm>

#include "cli/reference.h"
#include "header_texts.h"

namespace dyadic::inline v1::cli {
namespace {

using Declarations = std::map<std::string, std::vector<std::string>, std::less<>>;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.empty() && lines.back().ends_with('\\'))
      lines.back().replace(lines.back().size() - 1, 1, line);
    else
      lines.push_back(std::move(line));
  }
  return lines;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

struct Reader {
  Declarations found{};
  std::map<std::string, std::string> macros{};
  std::string space{};  // "linalg::"

  void add(std::string_view op, std::string declaration) {
    std::vector<std::string>& list = found[std::string(op)];
    if (std::find(list.begin(), list.end(), declaration) == list.end()) list.push_back(std::move(declaration));
  }

  // Of one definition from its `inline` on.
  void read_function(std::string_view text) {
    text.remove_prefix(std::string_view("inline ").size());
    const size_t open = text.find('(');
    if (open == text.npos) return;
    const size_t space_before = text.rfind(' ', open);
    const std::string name(text.substr(space_before + 1, open - space_before - 1));
    if (name.empty() || text.substr(0, open).find("operator") != text.npos) return;
    size_t end = open;
    for (int depth = 0; end < text.size(); ++end) {
      depth += text[end] == '(';
      depth -= text[end] == ')';
      if (depth == 0) break;
    }
    const std::string returns(text.substr(0, space_before));
    const std::string declaration = returns + " " + space + std::string(text.substr(space_before + 1, end - space_before));
    std::string prefix = space;
    replace_all(prefix, "::", "_");
    add(prefix + name, declaration);
    if (const size_t op = text.find("Op::", end); op != text.npos) {
      const size_t stop = text.find_first_of(",) ", op);
      add(text.substr(op + 4, stop - op - 5), declaration);  // Op::exp_ is exp
    }
  }
  // A line of class Tensor.
  void read_method(const std::string& line) {
    static const std::regex method(R"(^  ((?:const )?Tensor&?) (\w+?)(_?\(.*\)) const;.*)");
    std::smatch m;
    if (std::regex_match(line, m, method)) add(m[2].str(), fmt::format("{} Tensor::{}{}", m[1].str(), m[2].str(), m[3].str()));
  }
  void read_functions(std::string_view text) {
    for (size_t at = text.find("inline "); at != text.npos;) {
      const size_t next = text.find("inline ", at + 1);
      read_function(text.substr(at, next == text.npos ? next : next - at));
      at = next;
    }
  }
  void read_uses(const std::string& line) {  // DY_UNARY(exp) DY_UNARY(log)
    static const std::regex use(R"((DY_\w+)\((\w+)\))");
    for (std::sregex_iterator it(line.begin(), line.end(), use), end; it != end; ++it) {
      auto macro = macros.find((*it)[1]);
      if (macro == macros.end()) continue;
      std::string text = macro->second;
      replace_all(text, "##name##", (*it)[2].str());
      replace_all(text, "name##", (*it)[2].str());
      replace_all(text, " name(", " " + (*it)[2].str() + "(");
      read_functions(text);
    }
  }
  void read(std::string_view header) {
    static const std::string_view kDefine = "#define ", kSpace = "namespace dyadic::inline v1";
    bool methods = false;
    for (const std::string& line : lines_of(header)) {
      methods = line == "class Tensor {" || (methods && line != "};");
      if (methods) read_method(line);
      if (line.starts_with(kDefine)) {
        const size_t open = line.find('('), close = line.find(')');
        if (open != line.npos) macros[line.substr(kDefine.size(), open - kDefine.size())] = line.substr(close + 1);
      } else if (line.starts_with(kSpace)) {
        const size_t from = line.find("::", kSpace.size());
        space = from == line.npos ? "" : line.substr(from + 2, line.find(' ', from) - from - 2) + "::";
      } else if (line.starts_with("inline ")) {
        read_function(line);
      } else if (line.starts_with("DY_")) {
        read_uses(line);
      }
    }
  }
};

using Members = std::map<std::string, std::string, std::less<>>;  // of structures of options, as arguments

// "int64_t in_features, bool bias = true, Options options = {}" -> "in_features, bias=True"
std::string python_arguments(std::string_view inside, const Members& options) {
  std::string out;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= inside.size(); ++i) {
    const char c = i < inside.size() ? inside[i] : ',';
    depth += c == '<' || c == '{';
    depth -= c == '>' || c == '}';
    if (c != ',' || depth) continue;
    const std::string_view one = inside.substr(from, i - from), declared = one.substr(0, one.find(" = "));
    from = i + 2;
    if (one.starts_with("Options") || one.starts_with("DType") || one.starts_with("Device") || one.starts_with("ByName"))
      continue;
    if (one.starts_with("const ") && one.find("Options&") != one.npos) {
      auto of = options.find(one.substr(6, one.find('&') - 6));
      if (of != options.end()) out += (out.empty() ? "" : ", ") + python_arguments(of->second, options);
      continue;
    }
    std::string fallback(one == declared ? "" : one.substr(declared.size() + 3));
    if (fallback == "true" || fallback == "false") fallback[0] = char(fallback[0] - 'a' + 'A');
    if (fallback == "{}") fallback = "None";
    out += out.empty() ? "" : ", ";
    if (declared.starts_with("std::vector")) out += "*";
    out += declared.substr(declared.rfind(' ') + 1);
    if (!fallback.empty()) out += "=" + fallback;
  }
  return out;
}

// A constructor's declaration, without what it initializes and does.
std::string declared(std::string text) {
  int depth = 0;
  for (size_t i = text.find('('); i < text.size(); ++i) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (depth == 0) text.resize(i + 1);
  }
  return text;
}

std::vector<CppModule> read_modules(std::string_view header) {
  static const std::string_view kStruct = "struct ", kOptions = "Options {";
  std::vector<CppModule> all;
  std::string comment, pending, structure;
  Members options;
  bool inside = false;
  for (const std::string& line : lines_of(header)) {
    static const std::string_view kBase = " : public Module {";
    if (line.starts_with("// ")) {
      comment += (comment.empty() ? "" : " ") + line.substr(3);
      continue;
    }
    if (line.ends_with(kBase)) {
      const size_t name = line.rfind("class ") + 6;
      all.push_back({line.substr(name, line.size() - name - kBase.size()), comment, {}, {}});
      inside = true;
    } else if (line.starts_with(kStruct) && line.ends_with(kOptions)) {
      structure = line.substr(kStruct.size(), line.size() - kStruct.size() - 2);
    } else if (line == "};") {
      inside = false;
      structure.clear();
    } else if (!structure.empty() && line.ends_with(';')) {
      options[structure] += (options[structure].empty() ? "" : ", ") + line.substr(2, line.size() - 3);
    } else if (inside) {
      const std::string& name = all.back().name;
      std::string_view code = std::string_view(line).substr(std::min(line.find_first_not_of(' '), line.size()));
      const bool begins = code.starts_with(name + "(") || code.starts_with("explicit " + name + "(");
      if (begins || !pending.empty()) pending += (pending.empty() ? "" : " ") + std::string(code);
      if (pending.ends_with(";") || pending.ends_with("{}")) {
        if (!pending.ends_with("default;"))
          all.back().constructors.push_back("nn::" + declared(pending.substr(pending.find(name))));
        pending.clear();
      }
    }
    comment.clear();
  }
  for (CppModule& m : all) {
    const std::string first = m.constructors.empty() ? "()" : m.constructors[0];
    const size_t open = first.find('(');
    m.python =
        fmt::format("dyadic.nn.{}({})", m.name, python_arguments(first.substr(open + 1, first.size() - open - 2), options));
  }
  return all;
}

const Declarations& declarations() {
  static const Declarations all = [] {
    Reader r;
    for (const char* header : kHeaderTexts) r.read(header);
    return std::move(r.found);
  }();
  return all;
}

}  // namespace

const std::vector<std::string>& cpp_declarations(std::string_view name) {
  static const std::vector<std::string> none;
  auto it = declarations().find(name);
  return it == declarations().end() ? none : it->second;
}

const std::vector<CppModule>& cpp_modules() {
  static const std::vector<CppModule> all = [] {
    std::vector<CppModule> found;
    for (const char* header : kHeaderTexts)
      for (CppModule& m : read_modules(header)) found.push_back(std::move(m));
    return found;
  }();
  return all;
}

}  // namespace dyadic::inline v1::cli
