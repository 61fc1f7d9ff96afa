#include "train/difference.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "tensor/impl.h"
#include "train/json.h"

namespace dyadic::inline v1::train {
namespace {

const std::string* find(const Described& all, const std::string& name) {
  for (auto& [key, what] : all)
    if (key == name) return &what;
  return nullptr;
}

// The names of `all` that are not in `other`: what may have been renamed.
std::vector<std::string> only_in(const Described& all, const Described& other) {
  std::vector<std::string> names;
  std::map<std::string_view, bool> known;
  for (auto& [name, what] : other) known[name] = true;
  for (auto& [name, what] : all)
    if (!known.contains(name)) names.push_back(name);
  return names;
}

// A name that may have been meant: at most half of it is different.
std::string likely(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string found = nearest(name, candidates);
  return edit_distance(name, found) * 2 <= double(name.size()) ? found : "";
}

void flatten(const Json& j, const std::string& path, Described& out) {
  if (!j.is_object() || (j.empty() && !path.empty())) {
    out.emplace_back(path, dump_json(j));
    return;
  }
  for (auto& [key, value] : j.items()) flatten(value, path.empty() ? key : path + "." + key, out);
}

}  // namespace

std::string Difference::str() const {
  if (kind == Kind::changed) return fmt::format("{}: {} is {} there and {} here", part, name, there, here);
  const bool missing = kind == Kind::missing;
  std::string note = missing ? here : there;
  if (!note.empty()) note += missing ? " here" : " there";
  if (!nearest.empty()) note += fmt::format("{}nearest {}: {}", note.empty() ? "" : "; ", missing ? "there" : "here", nearest);
  if (!note.empty()) note = " (" + note + ")";
  return fmt::format("{}: {} {}{}", part, missing ? "missing" : "unexpected", name, note);
}

std::string describe(const Differences& differences) {
  std::string text;
  for (const Difference& d : differences) text += (text.empty() ? "" : "\n") + d.str();
  return text;
}

Described described(const nn::NamedTensors& tensors) {
  Described all;
  for (auto& [name, t] : tensors) all.emplace_back(name, dyadic::describe(t));
  return all;
}

void compare_names(const std::string& part, const Described& there, const Described& here, Differences& differences) {
  using Kind = Difference::Kind;
  const std::map<std::string, std::string> saved(there.begin(), there.end());
  const std::vector<std::string> strangers = only_in(there, here), lacking = only_in(here, there);
  for (auto& [name, what] : here) {
    auto at = saved.find(name);
    if (at == saved.end())
      differences.push_back({Kind::missing, part, name, "", what, likely(name, strangers)});
    else if (at->second != what)
      differences.push_back({Kind::changed, part, name, at->second, what, ""});
  }
  for (const std::string& name : strangers)
    differences.push_back({Kind::unexpected, part, name, *find(there, name), "", likely(name, lacking)});
}

void compare_documents(const std::string& part, const std::string& there, const std::string& here, Differences& differences) {
  Described a, b;
  flatten(parse_json(there), "", a);
  flatten(parse_json(here), "", b);
  compare_names(part, a, b, differences);
}

Part::~Part() = default;

void Part::compare(const std::string& part, const State& saved, Differences& differences) {
  compare_names(part, described(saved.tensors), described(state().tensors), differences);
}

}  // namespace dyadic::inline v1::train
