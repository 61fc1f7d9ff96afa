// Parameter groups: optimizer.param_groups, a list of dicts.
#include "optim_groups.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"

namespace dyadic::inline v1::python {
namespace {

using optim::Option;
using optim::OptionDef;
using optim::ParamGroup;

bool is_word(nb::handle value, const std::string& word) {
  if (is_dtype(value.ptr())) return read_dtype(value.ptr())->name() == word;
  Py_ssize_t n = 0;
  const char* text = PyUnicode_Check(value.ptr()) ? PyUnicode_AsUTF8AndSize(value.ptr(), &n) : nullptr;
  return text && word == std::string_view(text, size_t(n));
}
bool is_number(nb::handle value, double v) {
  PyObject* o = value.ptr();
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o) == v;
  if (PyLong_Check(o)) return PyLong_AsDouble(o) == v;
  if (is_tensor(o)) return tensor_of(o).numel() == 1 && tensor_of(o).item() == v;
  return o == Py_None && v != v;
}
// Whether Python's value of an option is ours.
bool is_same(nb::handle value, const Option& ours) {
  if (ours.is_none()) return value.is_none();
  if (!ours.word.empty()) return is_word(value, ours.word);
  PyObject* o = value.ptr();
  if (!PyTuple_Check(o) && !PyList_Check(o)) return ours.numbers.size() == 1 && is_number(value, ours.numbers[0]);
  if (size_t(PySequence_Fast_GET_SIZE(o)) != ours.numbers.size()) return false;
  for (size_t i = 0; i < ours.numbers.size(); ++i)
    if (!is_number(PySequence_Fast_GET_ITEM(o, Py_ssize_t(i)), ours.numbers[i])) return false;
  return true;
}
bool equal(const Option& a, const Option& b) {
  return a.word == b.word && std::equal(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(),
                                        [](double x, double y) { return x == y || (x != x && y != y); });
}

nb::object plain(const Option& value) {
  return value.numbers.size() == 1 ? nb::object(nb::float_(value.numbers[0])) : nb::tuple(nb::cast(value.numbers));
}

// The members of a group, whatever holds them.
nb::object members(const std::string& who, nb::dict group) {
  static PyObject* const key = PyUnicode_InternFromString("params");
  PyObject* found = PyDict_GetItem(group.ptr(), key);
  DY_CHECK_AS(ValueError, found, "{}: a group has no \"params\"", who);
  if (PyList_Check(found) || PyTuple_Check(found)) return nb::borrow(found);
  nb::list all;
  if (is_tensor(found))
    all.append(nb::handle(found));
  else
    for (nb::handle p : nb::borrow(found)) all.append(p);
  return all;
}
bool holds(nb::handle params, const ParamGroup& group) {
  PyObject* o = params.ptr();
  if (size_t(PySequence_Fast_GET_SIZE(o)) != group.params.size()) return false;
  for (size_t i = 0; i < group.params.size(); ++i) {
    PyObject* p = PySequence_Fast_GET_ITEM(o, Py_ssize_t(i));
    if (!is_tensor(p) || tensor_of(p).impl() != group.params[i].second.impl()) return false;
  }
  return true;
}

// The names that a group gives its parameters, if it does.
std::vector<std::string> given_names(nb::dict group, size_t count) {
  PyObject* found = PyDict_GetItemString(group.ptr(), "param_names");
  if (!found || !PyList_Check(found) || size_t(PyList_GET_SIZE(found)) != count) return {};
  return nb::cast<std::vector<std::string>>(nb::handle(found));
}

bool changes_in_place(nb::handle value) {
  if (PyList_Check(value.ptr()) || is_tensor(value.ptr())) return true;
  if (!PyTuple_Check(value.ptr())) return false;
  for (nb::handle v : nb::borrow<nb::tuple>(value))
    if (is_tensor(v.ptr())) return true;
  return false;
}
bool is_unchanged(const SeenGroup& seen, PyObject* dict) {
  if (!seen.known || size_t(PyDict_GET_SIZE(dict)) != seen.entries.size()) return false;
  Py_ssize_t at = 0;
  auto entry = seen.entries.begin();
  for (PyObject *key, *value; PyDict_Next(dict, &at, &key, &value); ++entry)
    if (key != entry->first.ptr() || (entry->second && value != entry->second.ptr())) return false;
  return true;
}

void write(nb::dict group, nb::handle key, nb::object value) {
  PyObject* old = PyDict_GetItem(group.ptr(), key.ptr());
  if (old && is_tensor(old))
    nb::handle(old).attr("fill_")(value);
  else
    group[key] = value;
}

nb::object groups_of(PyObject* self) {
  static PyObject* const key = PyUnicode_InternFromString("param_groups");
  return nb::getattr(nb::handle(self), nb::handle(key), nb::none());
}

}  // namespace

nn::NamedTensors read_params(const std::string& who, nb::handle params, size_t& count) {
  nn::NamedTensors out;
  auto add = [&](nb::handle p) {
    std::string name = std::to_string(count++);
    if (PyTuple_Check(p.ptr()) && PyTuple_GET_SIZE(p.ptr()) == 2) {
      name = nb::cast<std::string>(p[0]);
      out.emplace_back(name, nb::cast<Tensor>(p[1]));
    } else {
      DY_CHECK_AS(TypeError, is_tensor(p.ptr()),
                  "{}: params holds {}; it takes Tensors, (name, Tensor) pairs or dicts of groups", who,
                  Py_TYPE(p.ptr())->tp_name);
      out.emplace_back(name, tensor_of(p.ptr()));
    }
    DY_CHECK_AS(ValueError, out.back().second.is_leaf(), "{}: a parameter is not a leaf: {} was made by {}", who, name,
                out.back().second.grad_fn().name());
  };
  if (is_tensor(params.ptr()))
    add(params);
  else
    for (nb::handle p : params) add(p);
  return out;
}

PyOptimizer::PyOptimizer(nb::handle owner, const std::string& name)
    : Optimizer(name, std::vector<ParamGroup>()),
      owner_(nb::steal(PyWeakref_NewRef(owner.ptr(), nullptr))),
      written_(name == "Optimizer") {
  for (const OptionDef& d : optim::option_defs(def())) keys_.push_back(nb::steal(PyUnicode_InternFromString(d.name.c_str())));
}

nb::object PyOptimizer::self() const {
  nb::object owner = owner_();
  DY_CHECK(!owner.is_none(), "{}: the optimizer is gone: something that needs it outlived it", def().name());
  return owner;
}

void PyOptimizer::replace(nb::list from) {
  std::vector<ParamGroup> made;
  std::map<const TensorImpl*, std::string> names;  // a parameter in two places has one
  std::set<std::string> taken;
  size_t count = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const nb::dict dict = nb::cast<nb::dict>(from[i]);
    ParamGroup g;
    g.params = read_params(def().name(), members(def().name(), dict), count);
    const auto given = given_names(dict, g.params.size());
    for (size_t k = 0; k < g.params.size(); ++k) {
      auto& [name, p] = g.params[k];
      if (!given.empty()) name = given[k];
      if (auto it = names.find(p.impl()); it != names.end()) {
        name = it->second;
        continue;
      }
      while (!taken.insert(name).second) name += "'";
      names[p.impl()] = name;
    }
    if (i < groups().size()) g.updates = groups()[i].updates;
    for (const OptionDef& d : optim::option_defs(def())) g.options.set(d.name, d.fallback);
    made.push_back(std::move(g));
  }
  seen_.clear();
  seen_states_.clear();
  for (const ParamGroup& g : made) seen_.push_back({g.options});
  groups() = std::move(made);
  try {
    for (size_t i = 0; i < from.size(); ++i) pull_options(i, nb::cast<nb::dict>(from[i]));
    replace_groups(std::exchange(groups(), {}));
  } catch (...) {
    groups().clear();  // what is wrong is read again
    throw;
  }
}

void PyOptimizer::remember(size_t index, nb::dict dict) {
  SeenGroup& seen = seen_[index];
  seen.entries.clear();
  seen.known = true;
  for (auto [key, value] : dict) {
    const char* name = PyUnicode_Check(key.ptr()) ? PyUnicode_AsUTF8(key.ptr()) : "";
    const bool counts = seen.options.find(name) || std::string_view(name) == "initial_lr";
    seen.entries.emplace_back(nb::borrow(key), counts ? nb::borrow(value) : nb::object());
    if (counts && changes_in_place(value)) seen.known = false;
  }
  if (!seen.known) seen.entries.clear();
}

void PyOptimizer::pull_options(size_t index, nb::dict from) {
  if (is_unchanged(seen_[index], from.ptr())) return;
  seen_[index].known = false;  // until all is read
  ParamGroup& g = groups()[index];
  static PyObject* const key = PyUnicode_InternFromString("initial_lr");
  PyObject* initial = PyDict_GetItem(from.ptr(), key);
  g.initial_lr = !initial ? NAN : is_tensor(initial) ? tensor_of(initial).item() : nb::cast<double>(nb::handle(initial));
  if (written_) pull_written(index, from);
  for (size_t k = 0; !written_ && k < keys_.size(); ++k) {
    PyObject* value = PyDict_GetItem(from.ptr(), keys_[k].ptr());
    auto& [name, ours] = g.options.begin()[std::ptrdiff_t(k)];
    if (!value || is_same(value, ours)) continue;
    put_option(g, name, read_option(def().name(), name, value));
    seen_[index].options.set(name, ours);
  }
  remember(index, from);
}
// What schedules change.
void PyOptimizer::pull_written(size_t index, nb::dict from) {
  for (const char* name : {"lr", "momentum", "betas"}) {
    PyObject* value = PyDict_GetItemString(from.ptr(), name);
    if (!value) continue;
    const bool many = PyTuple_Check(value) || PyList_Check(value);
    if (!many && !is_tensor(value) && !read_number(value)) continue;
    const Option ours = read_option("Optimizer", name, value);
    groups()[index].options.set(name, ours);
    seen_[index].options.set(name, ours);
  }
}

void PyOptimizer::pull(bool states) {
  nb::gil_scoped_acquire gil;
  const nb::object groups = groups_of(self().ptr());
  if (groups.is_none()) return;  // of a class that has none
  DY_CHECK_AS(TypeError, PyList_Check(groups.ptr()), "{}: param_groups is {}; it is a list of dicts", def().name(),
              Py_TYPE(groups.ptr())->tp_name);
  const nb::list all = nb::borrow<nb::list>(groups);
  bool same = all.size() == this->groups().size();
  for (size_t i = 0; i < all.size(); ++i) {
    DY_CHECK_AS(TypeError, PyDict_Check(PyList_GET_ITEM(all.ptr(), Py_ssize_t(i))), "{}: the groups are not all dicts",
                def().name());
    if (same) same = holds(members(def().name(), nb::borrow<nb::dict>(all[i])), this->groups()[i]);
  }
  if (!same)
    replace(all);
  else
    for (size_t i = 0; i < all.size(); ++i) pull_options(i, nb::borrow<nb::dict>(PyList_GET_ITEM(all.ptr(), Py_ssize_t(i))));
  if (states && !written_) pull_states(states_dict().ptr(), true);
}

void PyOptimizer::push_options(size_t index, nb::dict to) {
  ParamGroup& g = groups()[index];
  size_t k = 0;
  for (auto& [name, ours] : g.options) {
    const size_t at = k++;
    const Option* seen = seen_[index].options.find(name);
    if (seen && equal(*seen, ours)) continue;
    const OptionDef& def = optim::option_defs(this->def())[std::min(at, keys_.size() - 1)];
    write(to, nb::str(name.c_str()), written_ && name != "lr" ? plain(ours) : option_object(def, ours));
    seen_[index].options.set(name, ours);
  }
  if (g.initial_lr == g.initial_lr) {
    PyObject* old = PyDict_GetItemString(to.ptr(), "initial_lr");
    if (!old || !is_number(old, g.initial_lr)) write(to, nb::str("initial_lr"), nb::float_(g.initial_lr));
  }
  remember(index, to);
}

void PyOptimizer::push(bool states) {
  nb::gil_scoped_acquire gil;
  const nb::object groups = groups_of(self().ptr());
  if (groups.is_none()) return;
  const nb::list all = nb::cast<nb::list>(groups);
  for (size_t i = 0; i < std::min(all.size(), this->groups().size()); ++i) push_options(i, nb::cast<nb::dict>(all[i]));
  if (states && !written_) push_states(states_dict().ptr(), true);
}

}  // namespace dyadic::inline v1::python
