// dyadic diff: which tensors two files do not have in common.
#include <unordered_map>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/json.h"
#include "dyadic/interrupt.h"
#include "io/bad_file.h"

namespace dyadic::inline v1::cli {
namespace {

struct DiffOptions {
  std::string a, b;
};

std::string name_of(const Json& name) {
  const std::string quoted = io::quote_name(name.get<std::string>());
  return quoted.substr(1, quoted.size() - 2);
}

std::string text_of(const Json& j) {
  std::string out;
  for (const char* what : {"missing", "extra"})
    for (const Json& name : j[what]) out += fmt::format("{}: {}\n", what, name_of(name));
  for (const Json& r : j["reshaped"])
    out += fmt::format("reshaped: {}: {} {}\n", name_of(r["name"]), dump_json(r["a"]), dump_json(r["b"]));
  if (!out.empty()) out += "\n";
  Table table({"changed", "A", "B", "elements", "max. difference", "rms"},
              {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right});
  const auto number = [](const Json& v) { return v.is_null() ? std::string("inf") : fmt::format("{:.4g}", v.get<double>()); };
  for (const Json& r : j["changed"])
    table.row({name_of(r["name"]), r["a"], r["b"], dump_json(r["different"]), number(r["max_abs"]), number(r["rmse"])});
  if (table.size()) out += table.str() + "\n";
  return out + fmt::format("{} tensors are the same\n", dump_json(j["same"]));
}

Json compare_files(const io::TensorFile& a, const io::TensorFile& b) {
  Json out = {{"missing", Json::array()}, {"extra", Json::array()}, {"reshaped", Json::array()}, {"changed", Json::array()}};
  std::unordered_map<std::string_view, size_t> there;
  for (size_t i = 0; i < b.tensors().size(); ++i) there[b.tensors()[i].name] = i;
  Steps steps("diff", a.tensors().size());
  int64_t same = 0;
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    steps.step();
    const io::TensorInfo& t = a.tensors()[i];
    auto it = there.find(t.name);
    if (it == there.end()) {
      out["missing"].push_back(t.name);
      continue;
    }
    const io::TensorInfo& u = b.tensors()[it->second];
    if (t.shape != u.shape) {
      out["reshaped"].push_back({{"name", t.name}, {"a", t.shape}, {"b", u.shape}});
    } else {
      const io::Difference d = io::compare(a.get(i), b.get(it->second));
      if (d.exact && t.dtype == u.dtype)
        ++same;
      else
        out["changed"].push_back({{"name", t.name},
                                  {"a", dtype_text(t)},
                                  {"b", dtype_text(u)},
                                  {"different", d.different},
                                  {"max_abs", number(d.max_abs)},
                                  {"rmse", number(d.rmse)}});
    }
    there.erase(it);
  }
  for (const io::TensorInfo& u : b.tensors())
    if (there.contains(u.name)) out["extra"].push_back(u.name);
  out["same"] = same;
  return out;
}

int diff(const DiffOptions& o, const Common& common) {
  install_interrupt_handler();
  Json out;
  try {
    const auto a = io::open(o.a), b = io::open(o.b);
    out = compare_files(*a, *b);
  } catch (const Stopped&) { return kInterrupted; } catch (const Error& e) {
    throw UsageError(e.what());  // 1 says that they differ
  }
  print(common.json ? json_text(out) : text_of(out));
  const bool equal = out["missing"].empty() && out["extra"].empty() && out["reshaped"].empty() && out["changed"].empty();
  return equal ? kDone : kFailed;
}

Run setup_diff(Options& options) {
  auto o = std::make_shared<DiffOptions>();
  options.required("a", o->a, "A", "a file of tensors, an index.json, or a model's folder")
      .required("b", o->b, "B",
                "another; the exit code is 0 where they are equal, 1 where they differ, 2 where one cannot be read");
  return [o](const Common& common) { return diff(*o, common); };
}

}  // namespace

extern const Command diff_command;
const Command diff_command = {"diff", "compare two files of tensors, of any kinds: names, shapes, values",
                              "dyadic diff before.safetensors after.safetensors --json", setup_diff};

}  // namespace dyadic::inline v1::cli
