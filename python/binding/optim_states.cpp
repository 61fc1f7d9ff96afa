// States: optimizer.state, a dict of dicts by parameter. Tensors are shared with it; numbers, "step" among them, are 0-d
// tensors.
#include <nanobind/stl/string.h>

#include "base/check.h"
#include "optim_groups.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::python {
namespace {

using optim::ParamState;

PyObject* interned(const std::string& name) {
  nb::str s(name.c_str());
  PyObject* o = s.release().ptr();
  PyUnicode_InternInPlace(&o);
  return o;
}
std::string_view text_of(PyObject* key) {
  Py_ssize_t n = 0;
  const char* s = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &n) : nullptr;
  return s ? std::string_view(s, size_t(n)) : std::string_view();
}

bool is_plain_number(const Tensor& t, DType d) { return t.dim() == 0 && t.dtype() == d && t.device() == cpu; }
double number_of(PyObject* o) {
  if (!is_tensor(o)) return nb::cast<double>(nb::handle(o));
  const Tensor& t = tensor_of(o);
  return is_plain_number(t, f32) ? double(*reinterpret_cast<const float*>(t.impl()->data())) : t.item();
}
bool write_in_place(const Tensor& t, double v) {
  if (!is_plain_number(t, f32) || double(float(v)) != v) return false;
  check_writable("step", t);
  *reinterpret_cast<float*>(t.impl()->data()) = float(v);
  bump(t);
  return true;
}
nb::object scalar(double v) { return nb::cast(full({}, v, double(float(v)) == v || v != v ? f32 : f64)); }
// In place where the number fits, as what holds it elsewhere expects.
void write_number(PyObject* kept, PyObject* key, double v) {
  if (PyObject* old = PyDict_GetItem(kept, key); old && is_tensor(old)) {
    const Tensor& t = tensor_of(old);
    if (write_in_place(t, v)) return;
    if (is_plain_number(t, f64)) return void(t.fill_(v));
  }
  if (PyDict_SetItem(kept, key, scalar(v).ptr()) < 0) throw nb::python_error();
}

PyObject* step_key() {
  static PyObject* const key = PyUnicode_InternFromString("step");
  return key;
}
bool names_number(const char* numbers, std::string_view key) {
  for (std::string_view all = numbers; !all.empty();) {
    const size_t end = std::min(all.find(' '), all.size());
    if (all.substr(0, end) == key) return true;
    all.remove_prefix(std::min(end + 1, all.size()));
  }
  return false;
}

using Kind = SeenState::Kind;

// Reads the numbers of a dict that holds what it held; false if it does not.
bool is_unchanged(SeenState& seen, PyObject* kept) {
  if (!seen.state || !kept) return seen.state && seen.entries.empty();
  if (!PyDict_Check(kept) || size_t(PyDict_GET_SIZE(kept)) != seen.entries.size()) return false;
  Py_ssize_t at = 0;
  auto entry = seen.entries.begin();
  for (PyObject *key, *value; PyDict_Next(kept, &at, &key, &value); ++entry) {
    const TensorImpl* held = is_tensor(value) ? tensor_of(value).impl() : nullptr;
    if (key != entry->key.ptr() || held != (entry->value.defined() ? entry->value.impl() : nullptr)) return false;
    if (entry->kind == Kind::step)
      seen.state->steps = int64_t(number_of(value));
    else if (entry->kind == Kind::number)
      *entry->number = number_of(value);
  }
  return true;
}
// Writes the numbers of such a dict; false if there are new tensors, or a number does not fit.
bool push_numbers(SeenState& seen) {
  if (seen.state->tensors.size() != seen.tensors) return false;
  for (const SeenState::Entry& e : seen.entries)
    if ((e.kind == Kind::step && !write_in_place(e.value, double(seen.state->steps))) ||
        (e.kind == Kind::number && !write_in_place(e.value, *e.number)))
      return false;
  return true;
}
void remember_state(SeenState& seen, ParamState& s, bool counted, PyObject* kept) {
  seen = {&s, {}, s.tensors.size(), seen.steps, true};
  if (!kept) return;
  for (auto [key, value] : nb::borrow<nb::dict>(kept)) {
    const std::string_view name = text_of(key.ptr());
    auto number = s.numbers.find(name);
    const Kind kind = counted && name == "step"   ? Kind::step
                      : number != s.numbers.end() ? Kind::number
                      : s.tensors.contains(name)  ? Kind::tensor
                                                  : Kind::other;
    const bool held = is_tensor(value.ptr());
    if (!held && kind != Kind::other) seen.state = nullptr;  // it is read again
    if (seen.state)
      seen.entries.push_back(
          {nb::borrow(key), held ? tensor_of(value.ptr()) : Tensor(), kind, kind == Kind::number ? &number->second : nullptr});
  }
}

}  // namespace

void PyOptimizer::pull_state(const optim::ParamGroup& group, const std::string& name, const Tensor& p, PyObject* kept) {
  if (!kept || !PyDict_Check(kept) || !PyDict_GET_SIZE(kept)) {
    if (auto it = states().find(p.impl()); it != states().end()) it->second = {};
    return;
  }
  ParamState& s = states()[p.impl()];
  const char* const numbers = def().numbers;
  size_t found = 0;
  bool counted = !def().counted;
  Py_ssize_t at = 0;
  for (PyObject *key, *value; PyDict_Next(kept, &at, &key, &value);) {
    if (key == step_key() || text_of(key) == "step") {
      s.steps = int64_t(number_of(value));
      counted = true;
    } else if (*numbers && names_number(numbers, text_of(key))) {
      s.numbers[std::string(text_of(key))] = number_of(value);
      ++found;
    } else if (is_tensor(value)) {
      auto it = s.tensors.find(text_of(key));
      if (it == s.tensors.end() || it->second.impl() != tensor_of(value).impl()) {
        NoGrad guard;
        s.tensors[std::string(text_of(key))] = kept_as(group, name, p, tensor_of(value));
      }
      ++found;
    }  // else it is the user's own
  }
  if (!counted) s.steps = 0;
  if (found == s.tensors.size() + s.numbers.size()) return;
  auto gone = [&](auto& entry) {
    PyObject* value = PyDict_GetItemString(kept, entry.first.c_str());
    return !value || value == Py_None;
  };
  std::erase_if(s.tensors, gone);
  std::erase_if(s.numbers, gone);
}

void PyOptimizer::push_state(PyObject* states, PyObject* parameter, const ParamState& s) {
  if (s.tensors.empty() && s.numbers.empty() && !(def().counted && s.steps > 0)) return;
  PyObject* kept = PyDict_GetItem(states, parameter);
  if (!kept || !PyDict_Check(kept)) {
    const nb::dict made;
    if (PyDict_SetItem(states, parameter, made.ptr()) < 0) throw nb::python_error();
    kept = made.ptr();
  }
  if (def().counted) write_number(kept, step_key(), double(s.steps));
  for (auto& [key, v] : s.numbers) write_number(kept, nb::steal(interned(key)).ptr(), v);
  for (auto& [name, t] : s.tensors) {
    const nb::object key = nb::steal(interned(name));
    PyObject* old = PyDict_GetItem(kept, key.ptr());
    if (old && is_tensor(old) && tensor_of(old).impl() == t.impl()) continue;
    if (PyDict_SetItem(kept, key.ptr(), nb::steal(wrap(t)).ptr()) < 0) throw nb::python_error();
  }
}

void PyOptimizer::pull_states(PyObject* states, bool every) {
  if (!def().step) return pull_searches(states);
  size_t at = 0;
  for (const optim::ParamGroup& g : groups())
    for (auto& [name, p] : g.params) {
      if (at == seen_states_.size()) seen_states_.emplace_back();
      SeenState& seen = seen_states_[at++];
      seen.steps = every || p.grad().defined();
      if (!seen.steps) continue;
      PyObject* kept = PyDict_GetItem(states, nb::steal(wrap(p)).ptr());
      seen.settled = is_unchanged(seen, kept);
      if (seen.settled) continue;
      seen.state = nullptr;  // what it points to may end now, and the step may fail
      pull_state(g, name, p, kept);
    }
}

void PyOptimizer::push_states(PyObject* states, bool every) {
  if (!def().step) return push_searches(states);
  seen_states_.resize(every ? 0 : seen_states_.size());
  size_t at = 0;
  for (const optim::ParamGroup& g : groups())
    for (auto& [name, p] : g.params) {
      if (at == seen_states_.size()) seen_states_.push_back({nullptr, {}, 0, true, false});
      SeenState& seen = seen_states_[at++];
      if (!seen.steps || (seen.settled && push_numbers(seen))) continue;
      const nb::object key = nb::steal(wrap(p));
      auto it = this->states().find(p.impl());
      if (it != this->states().end()) push_state(states, key.ptr(), it->second);
      PyObject* kept = PyDict_GetItem(states, key.ptr());
      if (it != this->states().end() && (!kept || PyDict_Check(kept)))
        remember_state(seen, it->second, def().counted, kept);
      else if (kept && every)
        PyDict_DelItem(states, key.ptr());
    }
}

// LBFGS has one memory for all, which is its first parameter's; its lists are numbered here.
void PyOptimizer::pull_searches(PyObject* states) {
  NoGrad guard;
  const nb::object first = nb::steal(wrap(groups().at(0).params.at(0).second));
  PyObject* kept = PyDict_GetItem(states, first.ptr());
  ParamState& s = this->states()[nullptr] = {};
  if (!kept || !PyDict_Check(kept) || !PyDict_GET_SIZE(kept)) return;
  for (auto [key, value] : nb::cast<nb::dict>(self().attr("_numbered")(nb::handle(kept)))) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "n_iter")
      s.steps = int64_t(number_of(value.ptr()));
    else if (is_tensor(value.ptr()) && tensor_of(value.ptr()).dim() > 0)
      s.tensors[name] = tensor_of(value.ptr()).detach();
    else
      s.numbers[name] = number_of(value.ptr());
  }
}
void PyOptimizer::push_searches(PyObject* states) {
  const ParamState& s = this->states()[nullptr];
  if (s.tensors.empty() && s.numbers.empty()) return;
  nb::dict numbered;
  for (auto& [key, v] : s.numbers) numbered[key.c_str()] = scalar(v);
  for (auto& [key, t] : s.tensors) numbered[key.c_str()] = nb::cast(t);
  numbered["n_iter"] = s.steps;
  const nb::object first = nb::steal(wrap(groups().at(0).params.at(0).second));
  nb::handle(states)[first].attr("update")(self().attr("_listed")(numbered));
}

nb::object PyOptimizer::states_dict() const {
  static PyObject* const key = PyUnicode_InternFromString("state");
  nb::object states = nb::getattr(self(), nb::handle(key));
  DY_CHECK_AS(TypeError, PyDict_Check(states.ptr()), "{}: state is {}; it is a dict by parameter", def().name(),
              Py_TYPE(states.ptr())->tp_name);
  return states;
}

nb::object PyOptimizer::step(nb::object closure, double grad_scale) {
  nb::object loss = nb::none();
  if (!closure.is_none()) note_refusal("an optimizer's step with a closure");
  const StepPart part("an optimizer's step", [this, grad_scale] { step(nb::none(), grad_scale); }, this, grad_scale);
  if (def().step && !closure.is_none()) {
    GradMode on(true);
    loss = closure();
  }
  pull();
  if (written_) {
    Optimizer::step(grad_scale);
    return loss;
  }
  const nb::object states = states_dict();
  pull_states(states.ptr(), false);
  if (def().step || closure.is_none()) {
    Unlocked unlocked;
    Optimizer::step(grad_scale);
  } else {
    nb::object first;
    Optimizer::step([&] {
      nb::object value = closure();
      if (!first) first = value;
      return is_tensor(value.ptr()) ? tensor_of(value.ptr()).item() : value.is_none() ? NAN : nb::cast<double>(value);
    });
    loss = first;
  }
  push_states(states.ptr(), false);
  return loss;
}

// The form that files of earlier versions have: "step", and states flat, as "exp_avg.<name>". Options of groups are taken where
// there are as many groups.
void PyOptimizer::load_flat_state(nb::dict d) {
  pull();
  const std::string who = def().name();
  DY_CHECK_AS(ValueError, d.contains("step") && d.contains("state"), "{}: the state has no \"step\" or no \"state\"", who);
  nn::NamedTensors state;
  for (auto [k, v] : nb::cast<nb::dict>(d["state"])) state.emplace_back(nb::cast<std::string>(k), nb::cast<Tensor>(v));
  load_state_dict(state, nb::cast<int64_t>(d["step"]));
  push_states(states_dict().ptr(), true);
}

}  // namespace dyadic::inline v1::python
