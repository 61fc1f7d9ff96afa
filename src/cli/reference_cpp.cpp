// C++ declarations: of ops, as tools/generate wrote them down; of modules that are no records, out of nn.h, whose text is in
// the program.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/reference.h"
#include "module_header.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr const char* kDeclarations[] = {
// by op, one per line
#include "op_declarations.inc"
};
static_assert(std::size(kDeclarations) == size_t(kOps));

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
  for (const std::string_view text : lines_of(header)) {
    const std::string line(text);
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

}  // namespace

std::vector<std::string> cpp_declarations(Op op) {
  const auto lines = lines_of(kDeclarations[int(op)]);
  return {lines.begin(), lines.end()};
}

const std::vector<CppModule>& cpp_modules() {
  static const std::vector<CppModule> all = read_modules(kModuleHeader);
  return all;
}

}  // namespace dyadic::inline v1::cli
