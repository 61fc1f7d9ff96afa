// Hooks, Python's and C++'s, around the forward of a module, whoever calls it. Called by Python, its hooks
// (dyadic/nn/_hooks.py) stand outside of C++'s: an adapter's share is in what they see.
#include <utility>
#include <vector>

#include "nn.h"

namespace dyadic::inline v1::python {
namespace {

// Modules around whose forward Python has run its hooks; the last one runs.
thread_local std::vector<const Module*> t_hooked;
bool has_run_hooks(const Module& m) { return !t_hooked.empty() && t_hooked.back() == &m; }

// Runs a Python module's hooks where C++ calls it: those that its __dict__ holds, where the garbage collector sees them.
struct PythonHooks : nn::Hook {
  static nb::tuple convert(const std::vector<Tensor>& tensors) {
    nb::list l;
    for (const Tensor& t : tensors) l.append(t);
    return nb::tuple(l);
  }
  static Tensor one(nb::handle o) { return o.is_none() ? Tensor() : nb::cast<Tensor>(o); }
  static void read(nb::handle from, std::vector<Tensor>& into) {
    into.clear();
    if (!nb::isinstance<nb::tuple>(from)) return into.push_back(one(from));
    for (nb::handle o : nb::borrow<nb::tuple>(from)) into.push_back(one(o));
  }
  void before(Module& m, std::vector<Tensor>& inputs) override {
    if (has_run_hooks(m)) return;
    nb::gil_scoped_acquire gil;
    read(nb::module_::import_("dyadic.nn._hooks").attr("before")(nb::find(&m), convert(inputs), nb::dict())[0], inputs);
  }
  void after(Module& m, const std::vector<Tensor>& inputs, std::vector<Tensor>& results) override {
    if (has_run_hooks(m)) return;
    nb::gil_scoped_acquire gil;
    const nb::object out = results.size() == 1 ? nb::cast(results[0]) : nb::object(convert(results));
    read(nb::module_::import_("dyadic.nn._hooks").attr("after")(nb::find(&m), convert(inputs), nb::dict(), out), results);
  }
};

// The tensors in a value: itself, or those of a tuple, list or dict.
void add_tensors(nb::handle o, std::vector<Tensor>& into) {
  if (is_tensor(o.ptr())) return into.push_back(tensor_of(o.ptr()));
  if (PyTuple_Check(o.ptr()) || PyList_Check(o.ptr()))
    for (nb::handle part : o) add_tensors(part, into);
  else if (PyDict_CheckExact(o.ptr()))
    for (auto [key, part] : nb::borrow<nb::dict>(o)) add_tensors(part, into);
}
// The value with these tensors, from `next` on, in the places of its own: another object only where a tensor is another.
nb::object with_tensors(nb::handle o, const std::vector<Tensor>& tensors, size_t& next) {
  if (is_tensor(o.ptr())) {
    const Tensor& t = tensors.at(next++);
    return t.impl() == tensor_of(o.ptr()).impl() ? nb::borrow(o) : nb::steal(wrap(t));
  }
  bool same = true;
  const auto part_of = [&](nb::handle part) {
    nb::object made = with_tensors(part, tensors, next);
    same &= made.is(part);
    return made;
  };
  if (PyDict_CheckExact(o.ptr())) {
    nb::dict parts;
    for (auto [key, part] : nb::borrow<nb::dict>(o)) parts[key] = part_of(part);
    return same ? nb::borrow(o) : nb::object(parts);
  }
  if (!PyTuple_Check(o.ptr()) && !PyList_Check(o.ptr())) return nb::borrow(o);
  nb::list parts;
  for (nb::handle part : o) parts.append(part_of(part));
  if (same) return nb::borrow(o);
  return nb::hasattr(o, "_make") ? o.attr("_make")(parts) : nb::object(o.type()(parts));  // a named tuple's own way
}
std::vector<Tensor> tensors_of(nb::handle value) {
  std::vector<Tensor> all;
  add_tensors(value, all);
  return all;
}

struct Around : Module {
  template <class F> static std::vector<Tensor> run(Module& m, std::vector<Tensor> inputs, F body) {
    std::vector<Tensor> (Module::* const around_body)(std::vector<Tensor>, F) = &Around::template around<F>;
    return (m.*around_body)(std::move(inputs), std::move(body));
  }
};

struct Hooked {
  explicit Hooked(const Module& m) { t_hooked.push_back(&m); }
  ~Hooked() { t_hooked.pop_back(); }
  Hooked(const Hooked&) = delete;
};

nb::object forward_in_hooks(nb::handle self, nb::tuple args, nb::dict kwargs) {
  auto& m = nb::cast<Module&>(self);
  const Hooked hooked(m);
  auto* layer = dynamic_cast<nn::Layer*>(&m);
  if (layer && layer->def().forward) return self.attr("forward")(*args, **kwargs);  // it runs C++'s hooks itself
  nb::object given = nb::make_tuple(args, kwargs), made;
  const auto body = [&](const std::vector<Tensor>& inputs) {
    size_t next = 0;
    const nb::object now = with_tensors(given, inputs, next);
    made = self.attr("forward")(*nb::borrow<nb::tuple>(now[0]), **nb::borrow<nb::dict>(now[1]));
    return tensors_of(made);
  };
  const std::vector<Tensor> results = Around::run(m, tensors_of(given), body);
  size_t next = 0;
  return with_tensors(made, results, next);
}

}  // namespace

void add_hooks(ModuleClass& c) {
  c.def("_watch", [](Module& m) { m.add_hook(std::make_shared<PythonHooks>()); })
      .def("_forward_in_hooks", forward_in_hooks, nb::arg("args"), nb::arg("kwargs"),
           "forward with C++'s hooks around it, where Python's have run.");
}

}  // namespace dyadic::inline v1::python
