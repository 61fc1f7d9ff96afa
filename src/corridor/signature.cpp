#include "corridor/signature.h"

#include <atomic>
#include <charconv>
#include <memory>
#include <mutex>

#include "base/text.h"

namespace dyadic::inline v1 {
namespace {

constexpr int64_t kZeroOne[] = {0, 1}, kLastTwo[] = {-2, -1};

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Splits at top-level commas.
std::vector<std::string_view> split(std::string_view s) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    char c = i < s.size() ? s[i] : ',';
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (c == ',' && depth == 0) {
      if (auto part = trim(s.substr(from, i - from)); !part.empty()) out.push_back(part);
      from = i + 1;
    }
  }
  return out;
}

}  // namespace

Signature parse_signature(const char* text) {
  std::string_view s = text;
  size_t open = s.find('('), arrow = s.find(" -> ");
  DY_ASSERT(open != s.npos && arrow != s.npos && s[arrow - 1] == ')');
  Signature sig;
  sig.name = sig.shared_name = s.substr(0, open);
  if (size_t dot = sig.name.find('.'); dot != sig.name.npos) {
    sig.shared_name.resize(dot);
    sig.name[dot] = '_';
  }
  bool keyword_only = false;
  for (std::string_view part : split(s.substr(open + 1, arrow - open - 2))) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    Parameter p;
    p.keyword_only = keyword_only;
    size_t eq = part.find('=');
    if (eq != part.npos) p.fallback = part.substr(eq + 1), part = part.substr(0, eq);
    size_t space = part.rfind(' ');
    p.name = part.substr(space + 1);
    p.spread = p.name[0] == '*';
    if (p.spread) p.name.erase(0, 1);
    std::string_view type = part.substr(0, space);
    p.optional = type.back() == '?';
    if (p.optional) type.remove_suffix(1);
    p.written = type.find('!') != type.npos;
    if (size_t paren = type.find('('); paren != type.npos) type = type.substr(0, paren);
    p.type = type;
    sig.parameters.push_back(std::move(p));
  }
  std::string_view returns = s.substr(arrow + 4);
  if (returns.front() == '(') returns = returns.substr(1, returns.size() - 2);
  for (auto part : split(returns)) {
    const size_t space = part.find(' ');
    sig.returns.emplace_back(part.substr(0, space));
    if (space != part.npos) sig.return_names.emplace_back(part.substr(space + 1));
  }
  return sig;
}

const Signature& signature(Op op) {
  static std::mutex mutex;
  static std::unique_ptr<Signature> parsed[kOps];
  static std::atomic<const Signature*> ready[kOps];
  if (const Signature* s = ready[int(op)].load(std::memory_order_acquire)) return *s;
  std::lock_guard lock(mutex);
  auto& slot = parsed[int(op)];
  if (!slot) slot = std::make_unique<Signature>(parse_signature(op_def(op).sig));
  ready[int(op)].store(slot.get(), std::memory_order_release);
  return *slot;
}

std::vector<std::string> aliases(Op op) {
  std::vector<std::string> names;
  for (std::string_view rest = op_def(op).aliases; !rest.empty();) {
    const size_t n = rest.find(' ');
    names.emplace_back(rest.substr(0, n));
    rest.remove_prefix(n == rest.npos ? rest.size() : n + 1);
  }
  return names;
}

// Of the ops that Python and C++ keep in a module: its name's length, else 0.
static size_t space(std::string_view name) {
  for (std::string_view s : {"linalg", "fft"})
    if (name.starts_with(s) && name.substr(s.size()).starts_with('_')) return s.size();
  return 0;
}
bool in_namespace(std::string_view name) { return space(name) > 0; }
std::string spelling(std::string name, std::string_view separator) {
  if (const size_t n = space(name)) name.replace(n, 1, separator);
  return name;
}

Op find_op(std::string_view name) {
  std::vector<std::string> names;
  size_t seen = 0;
  for (int i = 0; i < kOps; ++i) {
    names.emplace_back(op_name(Op(i)));
    for (std::string& alias : aliases(Op(i))) names.push_back(std::move(alias));
    for (; seen < names.size(); ++seen)
      if (names[seen] == name) return Op(i);
  }
  fail<ValueError>("unknown op \"{}\"; did you mean {}?", name, nearest(name, names));
}

Arg default_argument(const Parameter& p) {
  const std::string& d = p.fallback;
  if (d == "None" || d.empty()) return {};
  if (p.type == "bool") return d == "True";
  if (p.type == "int") return int64_t(std::stoll(d));
  if (p.type == "float") return std::stod(d);
  if (p.type == "Scalar") return d.find_first_of(".e") == d.npos ? Scalar(int64_t(std::stoll(d))) : Scalar(std::stod(d));
  if (p.type == "str") return std::string_view(d).substr(1, d.size() - 2);
  if (p.type == "int[]" && d == "[]") return IntList(&kNone, size_t(0));
  if (p.type == "int[]" && d == "[-2,-1]") return IntList(kLastTwo);
  if (p.type == "int[]" && (d == "0" || d == "1")) return IntList(kZeroOne + (d == "1"), 1);  // one value for all dimensions
  fail("signature: the default {} of {} has no reading as {}", d, p.name, p.type);
}

}  // namespace dyadic::inline v1
