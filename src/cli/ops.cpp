// dyadic ops: what the library has, from its records: a list, one entry, or everything as a page.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/reference.h"
#include "io/atomic_file.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr size_t kWidth = 100;

// Lines of at most kWidth columns, all but the first indented.
std::string wrapped(std::string_view text, size_t indent) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const size_t n = std::min(text.find_first_of(" \n"), text.size());
    if (column > indent && column + 1 + size_t(display_width(text.substr(0, n))) > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ', ++column;
    }
    out += text.substr(0, n);
    column += size_t(display_width(text.substr(0, n)));
    if (n < text.size() && text[n] == '\n') column = kWidth + 1;  // a line of its own
    text.remove_prefix(std::min(n + 1, text.size()));
  }
  return out;
}

std::string list_text(const Json& all, bool internal) {
  std::map<std::string, std::vector<const Json*>> families;
  std::vector<std::string> order;
  for (const auto& [section, entries] : all.items())
    for (const Json& e : entries) {
      if (section == "formats" || (e.value("internal", false) && !internal)) continue;
      const std::string family = e["family"];
      auto& list = families[family];
      if (list.empty()) order.push_back(family);
      list.push_back(&e);
    }
  std::stable_sort(order.begin(), order.end(), [&](auto& a, auto& b) {
    const auto rank = [&](auto& f) { return (*families[f][0])["kind"] == "op" ? 0 : 1; };
    return rank(a) != rank(b) ? rank(a) < rank(b) : rank(a) == 0 && a < b;
  });
  std::string out;
  for (const std::string& family : order) {
    out += fmt::format("{}{}\n", out.empty() ? "" : "\n", family);
    for (const Json* e : families[family]) {
      const std::string name = (*e)["name"];
      const std::string doc = first_sentence((*e)["doc"].get<std::string>());
      std::string line = fmt::format("  {:<28} {}", name, doc);
      if (line.size() > kWidth) line = line.substr(0, line.rfind(' ', kWidth - 4)) + " ...";
      out += line + "\n";
    }
  }
  return out + "\ndyadic ops NAME shows one of them.\n";
}

std::string row(std::string_view title, const Json& value) {
  std::string text;
  if (value.is_boolean()) text = value.get<bool>() ? "yes" : "no";
  if (value.is_string()) text = value.get<std::string>();
  if (value.is_number()) text = dump_json(value);
  if (value.is_array()) {
    for (const Json& v : value) text += (text.empty() ? "" : "\n") + (v.is_string() ? v.get<std::string>() : dump_json(v));
  }
  std::string out;
  for (const std::string_view line : lines_of(text))
    out += fmt::format("{:<14} {}\n", out.empty() ? title : "", wrapped(line, 15));
  return out;
}

std::string cost_text(const Json& r) {
  if (!r.contains("flops_per_element")) return "";
  std::vector<std::string> backward;
  for (const Json& n : r["backward_flops_per_element"]) backward.push_back(dump_json(n));
  return fmt::format("{} FLOPs per element{}", r["flops_per_element"].get<int>(),
                     backward.empty() ? "" : "; backward " + join(backward, ", "));
}

std::string record_text(const Json& r) {
  std::string out = wrapped(r["signature"].get<std::string>(), 4) + "\n\n" + wrapped(r["doc"].get<std::string>(), 0) + "\n\n";
  out += row("Python", r["python"]) + row("result dtype", r["result_dtype"]) + row("autocast", r["autocast"]);
  out += row("gradient", r["gradient"]) + row("complex", r["complex"]) + row("in place", r["in_place"]) + row("out=", r["out"]);
  if (r["random"]) out += row("random", "yes");
  if (r.contains("computes_in")) out += row("computes in", r["computes_in"]) + row("cost", cost_text(r));
  return out + row("example", r["examples"]);
}

std::string entry_text(const Json& e) {
  std::string out;
  if (e["kind"] == "op") {
    for (const Json& r : e["records"]) out += (out.empty() ? "" : "\n") + record_text(r);
    out += row("family", e["family"]) + row("other names", e["other_names"]) + row("C++", e["cpp"]);
    if (e["internal"]) out += row("internal", "a part of other ops");
    return out;
  }
  if (e.contains("signature")) out = wrapped(e["signature"].get<std::string>(), 4) + "\n\n";
  out += wrapped(e["doc"].get<std::string>(), 0) + "\n\n" + row("Python", e.value("python", Json())) +
         row("C++", e.value("cpp", Json()));
  return out + row("forward", e.value("forward", Json())) + row("calls", e.value("calls", Json()));
}

// nn.Linear is also meant by Linear, torch.linalg.svd and linalg_svd are linalg.svd.
bool means(std::string_view asked, const std::string& name) {
  for (std::string_view prefix : {"dyadic.", "torch.", "Tensor."})
    if (asked.starts_with(prefix)) asked.remove_prefix(prefix.size());
  std::string underscored = name;
  for (char& c : underscored)
    if (c == '.') c = '_';
  return asked == name || asked == underscored || (name.ends_with(asked) && name[name.size() - asked.size() - 1] == '.');
}

const Json& find(const Json& all, const std::string& asked) {
  std::vector<std::string> names;
  for (const Json& e : all["ops"])  // matmul is not linalg.matmul
    if (e["name"] == asked) return e;
  for (const auto& [section, entries] : all.items())
    for (const Json& e : entries) {
      std::vector<std::string> own = {e["name"].get<std::string>()};
      for (const Json& n : e.value("other_names", Json::array())) own.push_back(n.get<std::string>());
      for (const Json& r : e.value("records", Json::array())) own.push_back(r["op"].get<std::string>());
      for (const std::string& name : own) {
        if (means(asked, name)) return e;
        names.push_back(name);
      }
    }
  std::sort(names.begin(), names.end(),
            [&](auto& a, auto& b) { return std::pair(edit_distance(asked, a), a) < std::pair(edit_distance(asked, b), b); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  names.resize(std::min(names.size(), size_t(3)));
  fail<UsageError>("ops: unknown name \"{}\"; the nearest are {}", asked, join(names, ", "));
}

struct ListOptions {
  std::string name, html;
  bool all = false;
};

int show(const ListOptions& o, const Common& common) {
  DY_CHECK_AS(UsageError, o.name.empty() || o.html.empty(), "ops: --html writes the whole reference; leave {} out", o.name);
  const Json all = reference();
  if (!o.html.empty()) {
    io::write_whole("ops", o.html, reference_html(all));
    return kDone;
  }
  if (!o.name.empty()) {
    const Json& e = find(all, o.name);
    print(common.json ? json_text(e) : entry_text(e));
    return kDone;
  }
  print(common.json ? json_text(all) : list_text(all, o.all));
  return kDone;
}

Run setup_ops(Options& options) {
  auto o = std::make_shared<ListOptions>();
  options.value("name", o->name, "NAME", "only this one: an op, module, optimizer or schedule, such as softmax or Conv2d")
      .flag("--all", o->all, "list the ops that are parts of other ops too")
      .value("--html", o->html, "FILE", "write the reference of everything as one page");
  return [o](const Common& common) { return show(*o, common); };
}

}  // namespace

extern const Command ops_command;
const Command ops_command = {"ops", "show the ops and modules that there are, and what is known of each", "dyadic ops softmax",
                             setup_ops};

}  // namespace dyadic::inline v1::cli
