// The reference as one page: nothing is loaded from elsewhere, and without scripts it is still a page to read.
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/reference.h"
#include "dyadic/version.h"
#include "study/svg.h"

namespace dyadic::inline v1::cli {
namespace {

using study::html_text;

struct Section {
  std::string id, title, lead;
  std::vector<const Json*> entries;
};

// `code` in a text.
std::string prose(std::string_view text) {
  std::string out = "<p>";
  bool code = false;
  const std::string escaped = html_text(text);
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] == '`')
      out += (code = !code) ? "<code>" : "</code>";
    else if (escaped[i] == '\n')
      out += "</p>\n<p>";
    else
      out += escaped[i];
  }
  return out + "</p>\n";
}

// Lines of code with the language in front.
std::string code_block(const char* language, const Json& lines) {
  std::string out;
  for (const Json& line : lines) out += "<div>" + html_text(line.get<std::string>()) + "</div>";
  return out.empty() ? "" : fmt::format("<div class=\"code\"><span>{}</span><samp>{}</samp></div>\n", language, out);
}

std::string fact(const char* title, const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.is_boolean() && value.get<bool>() ? "yes" : "";
  return text.empty() ? "" : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", title, html_text(text));
}

std::string facts(const Json& r) {
  std::string out = fact("result dtype", r["result_dtype"]) + fact("autocast", r["autocast"]) + fact("gradient", r["gradient"]);
  out += fact("complex", r["complex"]) + fact("random", r["random"]);
  if (r.contains("computes_in")) {
    std::vector<std::string> backward;
    for (const Json& n : r["backward_flops_per_element"]) backward.push_back(dump_json(n));
    out += fact("computes in", r["computes_in"]);
    out += fact("FLOPs per element",
                dump_json(r["flops_per_element"]) + (backward.empty() ? "" : ", backward " + join(backward, ", ")));
  }
  return "<dl>" + out + "</dl>\n";
}

std::string article(const Json& e) {
  const std::string name = e["name"];
  std::vector<std::string> other;
  for (const Json& n : e.value("other_names", Json::array())) other.push_back(n.get<std::string>());
  std::string out = fmt::format("<article id=\"{0}\" data-names=\"{0} {1}\">\n<h3><a href=\"#{0}\">{0}</a>{2}</h3>\n",
                                html_text(name), html_text(join(other, " ")),
                                other.empty() ? "" : fmt::format(" <small>also {}</small>", html_text(join(other, ", "))));
  if (!e.contains("records")) {
    out += prose(e["doc"].get<std::string>()) + code_block("Python", e["python"]) + code_block("C++", e["cpp"]);
    if (e.contains("forward")) out += code_block("forward", Json::array({e["forward"]}));
    if (e.contains("calls"))
      out +=
          fmt::format("<dl><div><dt>calls</dt><dd><a href=\"#{0}\">{0}</a></dd></div></dl>\n", e["calls"].get<std::string>());
    return out + "</article>\n";
  }
  const bool one = e["records"].size() == 1;
  for (const Json& r : e["records"])
    out += prose(r["doc"].get<std::string>()) + code_block("record", Json::array({r["signature"]})) +
           code_block("Python", r["python"]) + code_block("C++", one ? e["cpp"] : Json::array()) +
           code_block("e. g.", r["examples"]) + facts(r);
  return out + (one ? "" : code_block("C++", e["cpp"])) + "</article>\n";
}

std::string cell(const Json& j) {
  if (j.is_null()) return "";
  if (j.is_boolean()) return j.get<bool>() ? "yes" : "no";
  if (j.is_number_float()) return fmt::format("{:.4g}", j.get<double>());
  return j.is_string() ? html_text(j.get<std::string>()) : dump_json(j);
}

std::string formats_table(const std::vector<const Json*>& formats) {
  static constexpr std::pair<const char*, const char*> kColumns[] = {{"name", "name"},
                                                                     {"in Python", "long_name"},
                                                                     {"kind", "kind"},
                                                                     {"bits", "bits"},
                                                                     {"exponent", "exponent_bits"},
                                                                     {"mantissa", "mantissa_bits"},
                                                                     {"largest", "max"},
                                                                     {"smallest normal", "min_normal"},
                                                                     {"eps", "eps"},
                                                                     {"inf", "inf"},
                                                                     {"nan", "nan"},
                                                                     {"bits per weight", "bits_per_weight"}};
  std::string out = "<div class=\"scroll\"><table>\n<tr>";
  for (auto& [title, key] : kColumns) out += fmt::format("<th>{}</th>", title);
  out += "</tr>\n";
  for (const Json* f : formats) {
    const std::string name = (*f)["name"];
    out += fmt::format("<tr id=\"dtype.{0}\" data-names=\"{0} {1}\" title=\"{2}\">", html_text(name),
                       html_text((*f)["long_name"].get<std::string>()), html_text((*f)["doc"].get<std::string>()));
    for (auto& [title, key] : kColumns) out += fmt::format("<td>{}</td>", cell((*f)[key]));
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string ignored_table(const std::vector<const Json*>& rows) {
  std::string out =
      "<div "
      "class=\"scroll\"><table>\n<tr><th>language</th><th>function</th><th>arguments</th><th>why</th><th>warns</th></tr>\n";
  for (const Json* r : rows) {
    out += fmt::format("<tr data-names=\"{} {}\">", cell((*r)["name"]), cell((*r)["arguments"]));
    for (const char* key : {"language", "name", "arguments", "why"}) out += fmt::format("<td>{}</td>", cell((*r)[key]));
    out += fmt::format("<td>{}</td></tr>\n", (*r)["warns"].get<bool>() ? "once" : "");
  }
  return out + "</table></div>\n";
}

// A table of rows with these keys, under these titles.
std::string plain_table(const std::vector<const Json*>& rows, const std::vector<std::pair<const char*, const char*>>& columns) {
  std::string out = "<div class=\"scroll\"><table>\n<tr>";
  for (const auto& [key, title] : columns) out += fmt::format("<th>{}</th>", title);
  out += "</tr>\n";
  for (const Json* r : rows) {
    out += fmt::format("<tr data-names=\"{} {}\">", cell((*r)["name"]), cell(r->value("names", "")));
    for (const auto& [key, title] : columns) out += fmt::format("<td>{}</td>", cell((*r)[key]));
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

bool is_table(const Section& s) { return s.id == "ignored" || s.id == "differences" || s.id == "meanings"; }

std::vector<Section> sections(const Json& all) {
  std::map<std::string, Section> families;
  for (const Json& e : all["ops"]) {
    if (e["internal"]) continue;
    const std::string family = e["family"];
    Section& s = families[family];
    s.entries.push_back(&e);
    s.title = s.id = family;
  }
  std::vector<Section> list;
  for (auto& [name, s] : families) list.push_back(std::move(s));
  const auto add = [&](const char* id, const char* title, const char* lead) {
    list.push_back({id, title, lead, {}});
    for (const Json& e : all[id]) list.back().entries.push_back(&e);
  };
  add("modules", "Modules", "dyadic.nn. Every one also takes dtype and device of its parameters.");
  add("optimizers", "Optimizers",
      "dyadic.optim. Every one also takes state (the format of its states), stochastic_rounding, seed and compensation.");
  add("schedules", "Schedules", "dyadic.optim.lr_scheduler.");
  add("formats", "Number formats", "Every one is a dtype. Bits per weight: all scales counted, in a [1024, 1024] tensor.");
  list.push_back(
      {"differences",
       "Differences from PyTorch",
       "Names of PyTorch's in Python that programs import and that are not here. They exist, for imports, annotations, "
       "isinstance and derived classes; calling one raises NotImplementedError, which names it.",
       {}});
  for (const Json& row : absent_names()) list.back().entries.push_back(&row);
  list.push_back({"meanings",
                  "What means something else",
                  "Functions of PyTorch's that are here and mean something else at some edge.",
                  {}});
  for (const Json& row : other_meanings()) list.back().entries.push_back(&row);
  list.push_back(
      {"ignored",
       "Arguments that change nothing",
       "PyTorch's words that are accepted and have no effect on results or gradients, as the sources declare them. Where "
       "silence would mislead, the first use says so. Everything else works or is an error.",
       {}});
  for (const Json& row : ignored_arguments()) list.back().entries.push_back(&row);
  return list;
}

std::string index(const std::vector<Section>& list) {
  std::string out;
  for (const Section& s : list) {
    out += fmt::format("<details><summary><a href=\"#{0}\">{1}</a> <small>{2}</small></summary>\n<ul>", "s-" + s.id,
                       html_text(s.title), s.entries.size());
    for (const Json* e : is_table(s) ? std::vector<const Json*>() : s.entries) {
      const std::string name = (*e)["name"];
      const bool format = (*e)["family"] == "format";
      out += fmt::format("<li><a href=\"#{0}{1}\">{1}</a></li>", format ? "dtype." : "", html_text(name));
    }
    out += "</ul></details>\n";
  }
  return out;
}

}  // namespace

std::string reference_html(const Json& all) {
  const std::vector<Section> list = sections(all);
  size_t ops = 0;
  for (const Json& e : all["ops"]) ops += !e["internal"].get<bool>();
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Dyadic reference</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<nav>\n<header><a href=\"#top\">Dyadic</a> <small>{}</small></header>\n"
      "<input id=\"search\" type=\"search\" placeholder=\"Search: softmax, Conv2d, bf16\" aria-label=\"Search\" "
      "autocomplete=\"off\" spellcheck=\"false\">\n<p id=\"count\" aria-live=\"polite\"></p>\n"
      "<details id=\"index\" open><summary>Index</summary>\n{}</details>\n</nav>\n<main id=\"top\">\n",
      kReferenceStyle, DYADIC_VERSION, index(list));
  out += fmt::format(
      "<h1>Reference</h1>\n<p class=\"lead\">{} ops, {} modules, {} optimizers, {} schedules and {} number formats, each as "
      "its "
      "record in the library says. In Python <code>import dyadic</code>, in C++ <code>namespace dyadic</code>.</p>\n",
      ops, all["modules"].size(), all["optimizers"].size(), all["schedules"].size(), all["formats"].size());
  for (const Section& s : list) {
    out += fmt::format("<section id=\"s-{}\">\n<h2>{}</h2>\n", s.id, html_text(s.title));
    if (!s.lead.empty()) out += "<p class=\"lead\">" + html_text(s.lead) + "</p>\n";
    if (s.id == "formats")
      out += formats_table(s.entries);
    else if (s.id == "differences")
      out += plain_table(s.entries, {{"name", "module"}, {"names", "names"}, {"why", "why"}});
    else if (s.id == "meanings")
      out += plain_table(s.entries, {{"name", "functions"}, {"why", "what holds here"}});
    else if (s.id == "ignored")
      out += ignored_table(s.entries);
    else
      for (const Json* e : s.entries) out += article(*e);
    out += "</section>\n";
  }
  return out + "</main>\n<script>" + kReferenceScript + "</script>\n</body>\n</html>\n";
}

}  // namespace dyadic::inline v1::cli
