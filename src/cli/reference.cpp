// Entries of the reference out of the records.
#include "cli/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "corridor/family.h"
#include "corridor/op_def.h"
#include "corridor/signature.h"
#include "dyadic/lr_scheduler.h"
#include "dyadic/nn_layers.h"

namespace dyadic::inline v1::cli {
namespace {

std::string python_parameters(const Signature& s, size_t first = 0) {
  std::string text;
  bool star = false;
  for (size_t i = first; i < s.parameters.size(); ++i) {
    const Parameter& p = s.parameters[i];
    if (p.keyword_only && !star) text += text.empty() ? "*" : ", *";
    star |= p.keyword_only;
    text += (text.empty() ? "" : ", ") + p.name + (p.fallback.empty() ? "" : "=" + p.fallback);
  }
  return text;
}

bool takes_out(const OpDef& op, const Signature& s) {
  const bool named = std::any_of(s.parameters.begin(), s.parameters.end(), [](auto& p) { return p.name == "out"; });
  return op.kind != OpKind::view && !s.returns_list() && !named;
}

// The reason that a record gives for leaving out a check of the op suite.
std::string skipped(const OpDef& op, std::string_view check) {
  for (const std::string_view line : lines_of(op.skip))
    if (line.starts_with(check) && line.substr(check.size()).starts_with(": "))
      return std::string(line.substr(check.size() + 2));
  return "";
}

bool pointwise_grad(const Pointwise& pw, bool twice) {
  for (int k = 0; k < pw.inputs; ++k)
    if (pw.grad_is_g[k] || (twice ? pw.trace_grad[k] != nullptr : pw.has_grad(k))) return true;
  return false;
}
std::string gradient_text(const OpDef& op) {
  const std::string why = skipped(op, "gradcheck"), why_twice = skipped(op, "double_backward");
  if (op.kind == OpKind::composite) return "through the ops it calls" + (why.empty() ? "" : "; " + why);
  const bool once = op.kind == OpKind::pointwise ? pointwise_grad(op.pw, false) : op.backward != nullptr;
  if (!once) return "none";
  const bool twice = why_twice.empty() && (op.kind != OpKind::pointwise || pointwise_grad(op.pw, true));
  return twice ? "yes, and its own gradient" : "yes" + (why_twice.empty() ? "" : "; of the gradient: " + why_twice);
}

const char* dtype_text(const OpDef& op) {
  switch (op.types) {
    case Types::same:
      return "the inputs', promoted";
    case Types::counted:
      return "the inputs', of bool int64";
    case Types::float_out:
      return "the inputs', of integers the default float";
    case Types::compare:
      return "bool; compared in the inputs', promoted";
    default:
      return op.kind == OpKind::view ? "self's" : "";
  }
}
const char* autocast_text(const OpDef& op) {
  if (op.amp == Amp::lower) return "runs in the low type (bf16, f16)";
  if (op.amp == Amp::f32) return "runs in f32";
  return op.kind == OpKind::kernel || op.kind == OpKind::pointwise ? "runs in its inputs' type" : "as the ops it calls";
}
const char* complex_text(const OpDef& op) {
  if (op.kind == OpKind::composite) return op.complex ? "yes" : "";
  if (op.pw.in(Compute::c64)) return "yes";
  if (op.complex || op.complex_kernel || op.kind == OpKind::view) return "yes";
  return op.kind == OpKind::kernel && !op.flops ? "yes" : "no";
}
std::string computes_text(const Pointwise& pw) {
  constexpr const char* kNames[] = {"f32", "f64", "i32", "i64", "u64", "c64", "c128"};
  std::vector<std::string> there;
  for (int c = 0; c < kComputes; ++c)
    if (pw.in(Compute(c))) there.emplace_back(kNames[c]);
  return join(there, " ");
}

std::vector<std::string> examples(const OpDef& op, const Signature& s, const std::string& python) {
  std::vector<std::string> all;
  for (const std::string_view line : lines_of(op.samples))
    if (all.size() < 2) all.push_back(python_example(line, s, python));
  if (!all.empty()) return all;
  if (op.kind != OpKind::pointwise) return {};
  const char* tensor = op.pw.in(Compute::f32) ? "rand(2, 3)" : "indices(8; 2, 3)";
  std::vector<std::string> words;
  for (const Parameter& p : s.parameters) {
    if (!p.fallback.empty()) break;
    if (p.type != "Tensor") return {};
    words.emplace_back(tensor);
  }
  return {python_example(fmt::format("{}({})", s.name, join(words, ", ")), s, python)};
}

Json op_record(Op id) {
  const OpDef& op = op_def(id);
  const Signature& s = signature(id);
  const std::string python = spelling(s.shared_name, ".");
  std::vector<std::string> calls;
  const bool random = op.random, out = takes_out(op, s);
  std::string words = python_parameters(s);
  const bool star = words.find('*') != words.npos;
  if (random || out) words += std::string(words.empty() ? "" : ", ") + (star ? "" : "*, ");
  if (random) words += out ? "generator=None, " : "generator=None";
  if (out) words += "out=None";
  if (!op.internal) calls.push_back(fmt::format("dyadic.{}({})", python, words));
  const bool method = !op.internal && s.method() && s.parameters[0].type == "Tensor" && python.find('.') == python.npos;
  if (method) calls.push_back(fmt::format("x.{}({})", python, python_parameters(s, 1)));
  if (method && op.inplace) calls.push_back(fmt::format("x.{}_({})", python, python_parameters(s, 1)));
  Json j = {{"op", op_name(id)},
            {"signature", op.sig},
            {"doc", op.doc},
            {"python", calls},
            {"result_dtype", dtype_text(op)},
            {"autocast", autocast_text(op)},
            {"gradient", gradient_text(op)},
            {"complex", complex_text(op)},
            {"in_place", method && op.inplace},
            {"out", out},
            {"random", random}};
  if (op.kind == OpKind::pointwise) {
    j["computes_in"] = computes_text(op.pw);
    j["flops_per_element"] = op.pw.flops;
    std::vector<int> backward;
    for (int k = 0; k < op.pw.inputs; ++k)
      if (op.pw.has_grad(k)) backward.push_back(op.pw.grad_flops[k]);
    j["backward_flops_per_element"] = backward;
  }
  j["examples"] = op.internal ? std::vector<std::string>() : examples(op, s, python);
  return j;
}

// By the names that Python shows: max, max_dim and max_other are one entry.
Json op_entries() {
  std::map<std::string, std::vector<Op>> by_name;
  for (int i = 0; i < kOps; ++i) by_name[signature(Op(i)).shared_name].push_back(Op(i));
  Json all = Json::array();
  for (auto& [name, ops] : by_name) {
    std::stable_sort(ops.begin(), ops.end(), [&, &n = name](Op a, Op b) { return (op_name(a) == n) > (op_name(b) == n); });
    std::vector<std::string> cpp, other;
    Json records = Json::array(), calls = Json::array();
    for (Op op : ops) {
      for (const std::string& d : cpp_declarations(op))
        if (std::find(cpp.begin(), cpp.end(), d) == cpp.end()) cpp.push_back(d);
      for (const std::string& a : aliases(op)) other.push_back(spelling(a, "."));
      records.push_back(op_record(op));
    }
    all.push_back({{"name", spelling(name, ".")},
                   {"kind", "op"},
                   {"family", op_family(ops[0])},
                   {"doc", op_def(ops[0]).doc},
                   {"other_names", other},
                   {"internal", op_def(ops[0]).internal},
                   {"cpp", cpp},
                   {"records", records}});
  }
  return all;
}

// What makes one in C++: needed arguments of layers by position, all else by name, as its defaults are.
std::string cpp_call(const Signature& s, std::string_view space, std::string_view first) {
  std::string given(first), options;
  for (const Parameter& p : s.parameters) {
    if (p.type == "function") {
      given += ", {" + p.name + "}";
      continue;
    }
    if (p.fallback.empty() && first.empty()) {
      given += (given.empty() ? "" : ", ") + p.name;
      continue;
    }
    std::string value = p.fallback.empty() ? p.name : p.fallback == "None" ? "{}" : p.fallback;
    if (value == "True" || value == "False") value[0] = char(value[0] - 'A' + 'a');
    if (value[0] == '(') value = "{" + value.substr(1, value.size() - 2) + "}";
    std::replace(value.begin(), value.end(), '\'', '"');
    options += (options.empty() ? "." : ", .") + p.name + " = " + value;
  }
  if (!options.empty()) given += (given.empty() ? "{" : ", {") + options + "}";
  return fmt::format("{}::{}({})", space, s.name, given);
}

Json made_from(const char* sig, const char* doc, const char* kind, std::string_view python, const char* op = nullptr) {
  const Signature s = parse_signature((std::string(sig) + " -> Tensor").c_str());
  const std::string words = python_parameters(s);
  const bool params = std::string_view(kind) != "module";
  const char* first = !params ? "" : std::string_view(kind) == "schedule" ? "optimizer" : "params";
  const std::string call =
      fmt::format("dyadic.{}.{}({}{}{})", python, s.name, params ? first : "", params && !words.empty() ? ", " : "", words);
  Json j = {{"name", fmt::format("{}.{}", python, s.name)},
            {"kind", kind},
            {"family", kind},
            {"doc", doc},
            {"signature", sig},
            {"python", {call}},
            {"cpp", {cpp_call(s, params ? "optim" : "nn", first)}}};
  if (op) j["calls"] = spelling(op, ".");
  return j;
}

Json module_entries() {
  Json all = Json::array();
  for (const nn::LayerDef* def : nn::layer_defs()) {
    Json j = made_from(def->sig, def->doc, "module", "nn", def->op);
    if (def->forward) j["forward"] = def->forward;
    all.push_back(std::move(j));
  }
  for (const CppModule& m : cpp_modules()) {
    const bool record = std::any_of(all.begin(), all.end(), [&](const Json& e) { return e["name"] == "nn." + m.name; });
    if (record) continue;
    all.push_back({{"name", "nn." + m.name},
                   {"kind", "module"},
                   {"family", "module"},
                   {"doc", m.doc},
                   {"python", {m.python}},
                   {"cpp", m.constructors}});
  }
  std::sort(all.begin(), all.end(), [](const Json& a, const Json& b) { return a["name"] < b["name"]; });
  return all;
}

Json optimizer_entries() {
  Json all = Json::array();
  for (const optim::OptimizerDef* def : optim::optimizer_defs())
    all.push_back(made_from(def->sig, def->doc, "optimizer", "optim"));
  return all;
}
Json schedule_entries() {
  Json all = Json::array();
  for (const optim::SchedulerDef& def : optim::scheduler_defs())
    all.push_back(made_from(def.sig, def.doc, "schedule", "optim.lr_scheduler"));
  return all;
}

Json format_entries() {
  Json all = Json::array();
  for (DType d : registered_dtypes()) {
    Json j = describe_format(d);
    j["family"] = "format";
    all.push_back(std::move(j));
  }
  return all;
}

}  // namespace

std::string first_sentence(std::string_view text) {
  for (size_t at = text.find(". "); at != text.npos; at = text.find(". ", at + 1))
    if (const char next = text.substr(at + 2).substr(0, 1).empty() ? 'A' : text[at + 2];
        next == '(' || (next >= 'A' && next <= 'Z'))
      return std::string(text.substr(0, at + 1));
  return std::string(text.substr(0, text.find('\n')));
}

Json reference() {
  return {{"ops", op_entries()},
          {"modules", module_entries()},
          {"optimizers", optimizer_entries()},
          {"schedules", schedule_entries()},
          {"formats", format_entries()}};
}

}  // namespace dyadic::inline v1::cli
