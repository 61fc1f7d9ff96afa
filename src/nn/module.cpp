#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/nn.h"
#include "nn/new_parameters.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::nn {

static thread_local NewParameters* t_watching = nullptr;
NewParameters::NewParameters() : before_(std::exchange(t_watching, this)) {}
NewParameters::~NewParameters() { t_watching = before_; }
NewParameters* NewParameters::watching() { return t_watching; }
namespace {

std::string join(const std::string& prefix, const std::string& name) { return prefix.empty() ? name : prefix + "." + name; }

// The entry of a name; a new one, empty, at the end when there is none.
template <class T> T*& place(std::vector<std::pair<std::string, T*>>& entries, std::string name) {
  structure_changed();
  DY_CHECK_AS(ValueError, name.find('.') == name.npos && !name.empty(),
              "Module: a name of a parameter, buffer or module is empty or has a dot: \"{}\"", name);
  for (auto& [key, value] : entries)
    if (key == name) return value;
  return entries.emplace_back(std::move(name), nullptr).second;
}

}  // namespace

ModuleScope::ModuleScope(Module& m) : before_(t_module) {
  t_module = m.path_id();
  if (t_step_watcher) [[unlikely]]
    t_step_watcher->module(&m);
}
ModuleScope::~ModuleScope() { leave_module(before_); }

uint32_t Module::path_id() {
  if (!named_) {
    Module* root = this;
    while (root->parent_) root = root->parent_;
    root->name_paths("");
  }
  return path_;
}
void Module::name_paths(const std::string& path) {
  path_ = intern_module(path);
  named_ = true;
  for (auto& [name, child] : children_)
    if (child) child->name_paths(join(path, name));
}

void Module::forget_paths() {
  named_ = false;
  for (auto& [name, child] : children_)
    if (child) child->forget_paths();
}

Tensor Module::operator()(const Tensor& x) {
  ModuleScope scope(*this);
  if (!hooked()) return forward(x);
  return around({x}, [this](const std::vector<Tensor>& in) { return std::vector<Tensor>{forward(in[0])}; })[0];
}
Hook::~Hook() = default;
void Module::add_hook(std::shared_ptr<Hook> hook) {
  structure_changed();
  hooks_.push_back(std::move(hook));
}
void Module::remove_hook(const Hook* hook) {
  structure_changed();
  std::erase_if(hooks_, [hook](auto& h) { return h.get() == hook; });
}
Tensor Module::forward(const Tensor&) {
  fail(
      "{}: no forward: override `Tensor forward(const Tensor& x)` (one with other parameters hides it); of a container call "
      "the children",
      kind());
}

void Module::add(std::string name, Module& child) {
  Module*& entry = place(children_, std::move(name));
  Module* old = std::exchange(entry, &child);
  child.parent_ = this;
  const bool kept = std::any_of(owned_.begin(), owned_.end(), [&](auto& m) { return m.get() == &child; });
  if (!kept) child.holders_.push_back(this);
  child.forget_paths();
  if (old && old != &child) drop_owned(old);
}
void Module::add(std::string name, std::shared_ptr<Module> child) {
  Module* c = child.get();
  if (!c) {
    place(children_, name);
    return vacate(name);
  }
  bool kept = std::any_of(owned_.begin(), owned_.end(), [c](auto& m) { return m.get() == c; });
  if (!kept) owned_.push_back(std::move(child));
  add(std::move(name), *c);
}
void Module::add_parameter(std::string name, Tensor& slot) {
  place(parameters_, std::move(name)) = &slot;
  if (NewParameters* who = NewParameters::watching(); who && slot.defined()) who->came(slot);
}
void Module::add_buffer(std::string name, Tensor& slot) { place(buffers_, std::move(name)) = &slot; }
Tensor& Module::register_parameter(std::string name, Tensor value, bool requires_grad) {
  if (value.defined() && requires_grad != value.requires_grad() && !value.dtype().is_scaled())
    value.requires_grad_(requires_grad);
  slots_.push_back(std::make_unique<Tensor>(std::move(value)));
  add_parameter(std::move(name), *slots_.back());
  return *slots_.back();
}
Tensor& Module::register_buffer(std::string name, Tensor value, bool persistent) {
  std::erase(transient_, name);
  if (!persistent) transient_.push_back(name);
  for (auto& [key, slot] : buffers_)
    if (key == name) return *slot = std::move(value);
  slots_.push_back(std::make_unique<Tensor>(std::move(value)));
  add_buffer(std::move(name), *slots_.back());
  return *slots_.back();
}

Tensor& Module::begin_computed(std::string_view name) {
  auto entry = std::find_if(parameters_.begin(), parameters_.end(), [name](auto& e) { return e.first == name; });
  DY_CHECK_AS(ValueError, entry != parameters_.end(), "{}: no parameter \"{}\" of its own", kind(), name);
  computed_.push_back(*entry);
  parameters_.erase(entry);
  return *computed_.back().second;
}
void Module::end_computed(std::string_view name, Tensor parameter) {
  auto entry = std::find_if(computed_.begin(), computed_.end(), [name](auto& e) { return e.first == name; });
  DY_CHECK_AS(ValueError, entry != computed_.end(), "{}: \"{}\" is not computed", kind(), name);
  *entry->second = std::move(parameter);
  parameters_.push_back(*entry);
  computed_.erase(entry);
}

bool Module::is_persistent(std::string_view name) const {
  return std::find(transient_.begin(), transient_.end(), name) == transient_.end();
}

void Module::remove(std::string_view name) {
  structure_changed();
  auto named = [name](auto& entry) { return entry.first == name; };
  std::erase_if(parameters_, named);
  std::erase_if(buffers_, named);
  std::erase_if(slots_, [this](auto& slot) {
    auto here = [&](auto& entry) { return entry.second == slot.get(); };
    return std::none_of(parameters_.begin(), parameters_.end(), here) && std::none_of(buffers_.begin(), buffers_.end(), here) &&
           std::none_of(computed_.begin(), computed_.end(), here);
  });
  auto child = std::find_if(children_.begin(), children_.end(), named);
  if (child == children_.end()) return;
  Module* m = child->second;
  children_.erase(child);
  if (m) drop_owned(m);
}
void Module::vacate(std::string_view name) {
  structure_changed();
  for (auto* list : {&parameters_, &buffers_})
    for (auto& [key, slot] : *list)
      if (key == name) *slot = Tensor();
  for (auto& [key, child] : children_)
    if (Module* old = key == name ? std::exchange(child, nullptr) : nullptr) drop_owned(old);
}

// Children that are not members may outlive this module.
void Module::drop_owned(Module* child) {
  for (auto& [name, m] : children_)
    if (m == child) return;
  child->disown(this);
  std::erase_if(owned_, [child](auto& m) { return m.get() == child; });
}
void Module::disown(Module* parent) {
  std::erase(holders_, parent);
  if (parent_ != parent) return;
  parent_ = nullptr;
  forget_paths();
}
Module::~Module() {
  structure_changed();
  for (auto& [name, m] : children_)
    if (m) m->disown(this);
  for (Module* holder : holders_) std::erase_if(holder->children_, [this](auto& entry) { return entry.second == this; });
}

namespace {
NamedItems<Tensor> each_once(NamedItems<Tensor> all) {
  NamedItems<Tensor> once;
  std::set<TensorImpl*> seen;
  for (auto& entry : all)
    if (seen.insert(entry.second.impl()).second) once.push_back(std::move(entry));
  return once;
}
}  // namespace

NamedItems<Tensor> Module::named_parameters(const std::string& prefix) const {
  NamedItems<Tensor> all;
  for (auto& [name, slot] : parameters_)
    if (slot->defined()) all.emplace_back(join(prefix, name), *slot);
  for (auto& [name, child] : children_)
    if (child)
      for (auto& entry : child->named_parameters(join(prefix, name))) all.push_back(std::move(entry));
  return each_once(std::move(all));
}
NamedItems<Tensor> Module::named_buffers(const std::string& prefix) const {
  NamedItems<Tensor> all;
  for (auto& [name, slot] : buffers_)
    if (slot->defined()) all.emplace_back(join(prefix, name), *slot);
  for (auto& [name, child] : children_)
    if (child)
      for (auto& entry : child->named_buffers(join(prefix, name))) all.push_back(std::move(entry));
  return each_once(std::move(all));
}
NamedItems<Module*> Module::named_modules(const std::string& prefix) {
  NamedItems<Module*> all{{prefix, this}};
  for (auto& [name, child] : children_)
    if (child)
      for (auto& entry : child->named_modules(join(prefix, name))) all.push_back(std::move(entry));
  return all;
}
std::vector<Tensor> Module::parameters(bool recurse) const {
  if (recurse) return named_parameters().values();
  NamedItems<Tensor> own;
  for (auto& [name, slot] : parameters_)
    if (slot->defined()) own.emplace_back(name, *slot);
  return each_once(std::move(own)).values();
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) {
  std::vector<std::shared_ptr<Module>> all;
  for (auto& [name, m] : named_modules()) {
    std::shared_ptr<Module> shared = m->weak_from_this().lock();
    if (m != this || include_self) all.push_back(shared ? shared : std::shared_ptr<Module>(shared, m));
  }
  return all;
}
std::ostream& operator<<(std::ostream& out, Module& m) { return out << m.str(); }

NamedItems<Tensor*> Module::saved_slots(const std::string& prefix) const {
  NamedItems<Tensor*> all;
  for (auto& [name, slot] : parameters_)
    if (slot->defined()) all.emplace_back(join(prefix, name), slot);
  for (auto& [name, slot] : buffers_)
    if (slot->defined() && is_persistent(name)) all.emplace_back(join(prefix, name), slot);
  for (auto& [name, child] : children_)
    if (child)
      for (auto& entry : child->saved_slots(join(prefix, name))) all.push_back(std::move(entry));
  return all;
}
NamedTensors Module::state_dict() const {
  NamedTensors all;
  for (auto& [name, slot] : saved_slots("")) all.emplace_back(name, slot->detach());
  return all;
}

namespace {
// Why a value cannot be copied into a tensor of a state; empty where it can.
std::string misfit(const std::string& name, const Tensor& mine, const Tensor& given, bool assign) {
  if (!(given.sizes() == mine.sizes())) return fmt::format("{} is {} here and {} there", name, describe(mine), describe(given));
  if (assign || given.dtype() == mine.dtype() || (!given.dtype().is_scaled() && !mine.dtype().is_scaled())) return "";
  return fmt::format("{} is {} here and {} there: assign takes it as it is stored, to(dtype) of either makes them the same",
                     name, describe(mine), describe(given));
}
}  // namespace

LoadReport Module::load_state_dict(const NamedTensors& state, bool strict, bool assign) {
  const NamedItems<Tensor*> mine = saved_slots("");
  const std::map<std::string, Tensor> given(state.begin(), state.end());
  LoadReport report;
  std::vector<std::string> names = mine.keys(), others, problems;
  for (auto& [name, t] : given)
    if (std::find(names.begin(), names.end(), name) == names.end()) others.push_back(name);
  for (auto& [name, slot] : mine) {
    auto it = given.find(name);
    if (it == given.end()) {
      report.missing.push_back(name);
      const std::string like = others.empty() ? "" : fmt::format("; nearest there: {}", nearest(name, others));
      if (strict) problems.push_back(fmt::format("missing {} ({}{})", name, describe(*slot), like));
    } else if (std::string wrong = misfit(name, *slot, it->second, assign); !wrong.empty()) {
      problems.push_back(std::move(wrong));
    }
  }
  for (const std::string& name : others) {
    report.unexpected.push_back(name);
    if (strict) problems.push_back(fmt::format("unexpected {} (nearest here: {})", name, nearest(name, names)));
  }
  DY_CHECK(problems.empty(), "load_state_dict: {} keys do not fit:\n  {}", problems.size(), fmt::join(problems, "\n  "));
  NoGrad guard;
  for (auto& [name, slot] : mine) {
    auto it = given.find(name);
    if (it == given.end()) continue;
    if (!assign) {
      slot->detach().copy_(it->second);
      continue;
    }
    const bool trained = slot->requires_grad() && !it->second.dtype().is_scaled();
    *slot = it->second.detach();
    if (trained) slot->requires_grad_();
  }
  return report;
}

void Module::set_parameter(std::string_view name, const Tensor& value) {
  size_t dot = name.find('.');
  if (dot != name.npos) {
    for (auto& [child, m] : children_)
      if (m && child == name.substr(0, dot)) return m->set_parameter(name.substr(dot + 1), value);
  } else {
    for (auto& [key, slot] : parameters_)
      if (key == name && slot->defined()) {
        DY_CHECK(value.sizes() == slot->sizes(), "set_parameter: shapes differ: {} is {}, the value {}", name, describe(*slot),
                 describe(value));
        *slot = value;
        return;
      }
  }
  std::vector<std::string> names;
  for (auto& [key, slot] : parameters_) names.push_back(key);
  for (auto& [key, m] : children_) names.push_back(key);
  fail<ValueError>("set_parameter: no parameter {}; here are {}", name, fmt::join(names, ", "));
}

Module& Module::train(bool on) {
  training_ = on;
  for (auto& [name, child] : children_)
    if (child) child->train(on);
  return *this;
}
void Module::zero_grad(bool set_to_none) {
  for (const Tensor& t : parameters())
    if (Tensor g = t.grad(); g.defined()) set_to_none ? t.set_grad({}) : (void)g.zero_();
}
void Module::requires_grad_(bool on) {
  for (Tensor& t : parameters()) t.requires_grad_(on);
}

int64_t Module::num_parameters() const {
  int64_t n = 0;
  for (const Tensor& t : parameters()) n += t.numel();
  return n;
}
int64_t Module::nbytes() const {
  std::set<Storage*> seen;
  int64_t n = 0;
  for (auto& [name, t] : state_dict())
    if (seen.insert(t.impl()->storage).second) n += t.nbytes();
  return n;
}

std::string Module::str() {
  Table table({"module", "parameters", "bytes", "dtype"}, {Align::left, Align::right, Align::right, Align::left});
  for (auto& [path, m] : named_modules()) {
    auto depth = size_t(std::count(path.begin(), path.end(), '.') + (path.empty() ? 0 : 1));
    size_t dot = path.rfind('.');
    std::string label = std::string(2 * depth, ' ') +
                        (path.empty() ? "" : "(" + path.substr(dot == path.npos ? 0 : dot + 1) + ") ") + m->kind();
    if (auto extra = m->extra_repr(); !extra.empty()) label += "(" + extra + ")";
    std::set<std::string> dtypes;
    for (auto& [name, t] : m->named_parameters()) dtypes.insert(t.dtype().name());
    table.row(
        {label, fmt::format("{}", m->num_parameters()), human_bytes(m->nbytes()), fmt::format("{}", fmt::join(dtypes, " "))});
  }
  return table.str();
}

Tensor make_parameter(IntList sizes, Options options) {
  CategoryScope scope(Category::parameter);
  DType dtype = options.dtype ? options.dtype : default_dtype();
  Tensor t = make_tensor(sizes, dtype, options.device);
  if (!dtype.is_scaled()) t.requires_grad_();
  return t;
}

}  // namespace dyadic::inline v1::nn
