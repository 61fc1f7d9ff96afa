// What Python sees of the tape: nodes as grad_fn, functions with a backward in Python, products with Jacobians.
#include "dyadic/autograd.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "autograd/engine.h"
#include "dyadic/anomaly.h"
#include "object.h"
#include "scopes.h"

namespace dyadic::inline v1::python {
namespace {

std::vector<Tensor> list_of(nb::handle o, const char* what) {
  std::vector<Tensor> out;
  auto put = [&](nb::handle h) {
    DY_CHECK_AS(TypeError, h.is_none() || is_tensor(h.ptr()), "autograd: {} holds {}; it takes Tensors and None", what,
                Py_TYPE(h.ptr())->tp_name);
    out.push_back(h.is_none() ? Tensor() : tensor_of(h.ptr()));
  };
  if (is_tensor(o.ptr()) || o.is_none())
    put(o);
  else
    for (nb::handle h : o) put(h);
  return out;
}
nb::tuple tuple_of(const std::vector<Tensor>& tensors) {
  nb::list l;
  for (const Tensor& t : tensors) l.append(t);
  return nb::tuple(l);
}

// A node, or (without one) the place where a leaf's gradient accumulates.
class GradFn {
  Node* node_;
  Tensor leaf_;

 public:
  GradFn(Node* n, Tensor leaf) : node_(n), leaf_(std::move(leaf)) {
    if (node_) node_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  GradFn(const GradFn& o) : GradFn(o.node_, o.leaf_) {}
  ~GradFn() {
    if (node_) release(node_);
  }
  std::string name() const { return node_ ? shown_name(*node_) : "torch::autograd::AccumulateGrad"; }
  std::string shown() const { return node_ ? shown_name(*node_) : "AccumulateGrad"; }
  // In Python each kind of node has a class of its own: type(loss.grad_fn).__name__ is "MeanBackward0".
  nb::object object() const {
    static auto* classes = new std::map<std::string, nb::object>;  // Python is gone before the process is
    nb::object& own = (*classes)[shown()];
    const nb::handle base = nb::type<GradFn>();
    if (!own.is_valid()) {
      nb::dict members;
      members["__module__"] = "dyadic.autograd";
      own = nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(base.ptr())))(shown(), nb::make_tuple(base), members);
    }
    nb::object made = nb::inst_alloc(own);
    new (nb::inst_ptr<GradFn>(made)) GradFn(*this);
    nb::inst_mark_ready(made);
    return made;
  }
  const void* place() const { return node_ ? static_cast<const void*>(node_) : leaf_.impl(); }
  nb::object variable() const { return leaf_.defined() ? nb::cast(leaf_) : nb::none(); }
  nb::tuple next_functions() const {
    nb::list all;
    for (int i = 0; node_ && i < node_->nin; ++i) {
      if (!node_->meta[i].dtype) continue;  // an argument that was left out
      const Edge& e = node_->edges[i];
      if (!e.used())
        all.append(nb::make_tuple(nb::none(), 0));
      else
        all.append(nb::make_tuple(GradFn(e.node, e.leaf ? borrow(e.leaf) : Tensor()).object(), int(e.output)));
    }
    return nb::tuple(all);
  }
  // Hooks on a leaf's place are the leaf's own.
  void hook(nb::object function, bool before) const {
    DY_CHECK(node_, "{}: AccumulateGrad has no hooks; use register_hook or register_post_accumulate_grad_hook of the leaf",
             before ? "register_prehook" : "register_hook");
    NodeExtra& extra = node_extra(*node_);
    (before ? extra.before : extra.after)
        .push_back([before, call = hold(std::move(function))](std::span<const Tensor> in, std::span<const Tensor> out) {
          nb::gil_scoped_acquire gil;
          auto tuple = [](std::span<const Tensor> t) { return tuple_of({t.begin(), t.end()}); };
          const nb::object outputs = tuple(out), inputs = tuple(in);
          nb::object r = nb::steal(PyObject_CallFunctionObjArgs(call.get(), before ? outputs.ptr() : inputs.ptr(),
                                                                before ? nullptr : outputs.ptr(), nullptr));
          if (!r.is_valid()) throw nb::python_error();
          return r.is_none() ? std::vector<Tensor>() : list_of(r, "the gradients that a hook returned");
        });
  }
  // Of a function that is no op: what its forward has left.
  nb::object attribute(nb::handle name) const {
    if (node_ && node_->extra && node_->extra->context)
      return nb::getattr(nb::handle(static_cast<PyObject*>(node_->extra->context.get())), name);
    throw nb::attribute_error(fmt::format("'{}' object has no attribute '{}'", shown(), nb::cast<std::string>(name)).c_str());
  }
  bool same(const GradFn& o) const { return node_ == o.node_ && leaf_.is_same(o.leaf_); }
  size_t hash() const { return std::hash<const void*>()(place()); }
};

nb::tuple rows_of(const std::vector<std::vector<Tensor>>& rows) {
  nb::list l;
  for (const auto& row : rows) l.append(tuple_of(row));
  return nb::tuple(l);
}

// dirty: outputs that are inputs written in place, which get the function for their history. materialize: zeros for outputs
// that nothing depends on.
nb::list attach_function(std::string name, nb::object inputs, nb::object outputs, nb::object backward, nb::object context,
                         const std::vector<bool>& dirty, bool materialize) {
  std::vector<Tensor> in = list_of(inputs, "inputs"), out = list_of(outputs, "outputs");
  const std::vector<Tensor> written = out;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!dirty[i]) continue;
    DY_CHECK(!out[i].is_leaf() || !out[i].requires_grad(), "{}: a leaf that requires grad was written in place: it is {}", name,
             describe(out[i]));
    DY_CHECK(!out[i].impl()->base, "{}: mark_dirty of a view, {}; clone it before the call", name, describe(out[i]));
  }
  NodeExtra function;
  function.name = std::move(name);
  const std::shared_ptr<PyObject> held = hold(std::move(backward)), shown = hold(std::move(context));
  function.owned = {held, shown};
  function.context = shown;
  function.let_go = [shown] {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    nb::handle(shown.get()).attr("_release")();
  };
  auto run = [call = held](std::span<const Tensor> g) {
    nb::gil_scoped_acquire gil;
    nb::object r = nb::steal(PyObject_CallObject(call.get(), tuple_of({g.begin(), g.end()}).ptr()));
    if (!r.is_valid()) throw nb::python_error();
    return list_of(r, "the gradients that backward returned");
  };
  if (materialize)
    function.backward = run;
  else
    function.backward = BackwardOfSome{run};
  record_function(in, out, std::move(function));
  for (size_t i = 0; i < out.size(); ++i)
    if (dirty[i]) out[i] = adopt_history(written[i], out[i]);
  nb::list results;
  for (const Tensor& t : out) {
    results.append(t);
    track(results[results.size() - 1].ptr());
  }
  return results;
}

struct AnomalyScope : Entered<Anomaly> {};

// saved_tensors_hooks: what pack(tensor) returns is kept instead of the tensor, and backward reads unpack of it.
class SavedHooks {
  Pack pack_;
  std::vector<const Pack*> before_;

 public:
  SavedHooks(nb::object pack, nb::object unpack) {
    pack_ = [pack = hold(std::move(pack)), unpack = hold(std::move(unpack))](const Tensor& t) -> Unpack {
      nb::gil_scoped_acquire gil;
      nb::object kept = nb::borrow(pack.get())(t);
      return [kept = hold(std::move(kept)), unpack] {
        nb::gil_scoped_acquire again;
        nb::object given = nb::borrow(unpack.get())(nb::borrow(kept.get()));
        DY_CHECK_AS(TypeError, is_tensor(given.ptr()), "saved_tensors_hooks: unpack returned {}; it returns a Tensor",
                    Py_TYPE(given.ptr())->tp_name);
        return tensor_of(given.ptr());
      };
    };
  }
  SavedHooks(const SavedHooks&) = delete;
  void enter() { before_.push_back(std::exchange(t_pack, &pack_)); }
  void exit() {
    DY_CHECK(!before_.empty(), "exit: the scope was not entered");
    t_pack = before_.back();
    before_.pop_back();
  }
};

struct Callable {
  nb::object function;
  std::vector<Tensor> operator()(const std::vector<Tensor>& x) const {
    return list_of(function(*tuple_of(x)), "the function's result");
  }
};

}  // namespace

std::shared_ptr<PyObject> hold(nb::object o) {
  return {o.release().ptr(), [](PyObject* p) {
            if (!Py_IsInitialized()) return;
            nb::gil_scoped_acquire gil;
            Py_DECREF(p);
          }};
}

nb::object grad_fn_of(const Tensor& t) { return t.is_leaf() ? nb::none() : GradFn(t.impl()->node, {}).object(); }

void warn_of_cycle(bool create_graph) {
  if (!create_graph) return;
  constexpr const char* kText =
      "backward(create_graph=True): each leaf and the graph of its .grad hold each other, a reference cycle that is never "
      "freed; "
      "take the gradients by autograd.grad, or set .grad to None when done";
  if (PyErr_WarnEx(PyExc_UserWarning, kText, 1) < 0) throw PythonError();
}

void add_autograd(nb::module_& m) {
  nb::class_<GradFn>(m, "GradFn", "What made a tensor: a node of the graph that backward walks.")
      .def("name", &GradFn::name)
      .def_prop_ro("next_functions", &GradFn::next_functions, "What made its inputs, each with the number of the output.")
      .def_prop_ro("variable", &GradFn::variable, "The leaf, of AccumulateGrad.")
      .def("__getattr__", &GradFn::attribute)
      .def("_hook", &GradFn::hook)
      .def("__repr__", [](const GradFn& f) { return fmt::format("<{} object at {}>", f.shown(), f.place()); })
      .def("__eq__",
           [](const GradFn& f, nb::handle o) { return nb::isinstance<GradFn>(o) && f.same(nb::cast<const GradFn&>(o)); })
      .def("__hash__", &GradFn::hash);
  m.def("_as_own_output", as_own_output, nb::arg("output"), nb::arg("tensor"));
  m.def("_attach_function", attach_function, nb::arg("name"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("backward"),
        nb::arg("context"), nb::arg("dirty"), nb::arg("materialize"));
  m.def(
      "_backward",
      [](nb::object outputs, nb::object gradients, std::optional<bool> retain_graph, bool create_graph, nb::object older,
         nb::object inputs) {
        DY_CHECK(gradients.is_none() || older.is_none(),
                 "backward: grad_variables is the older name of grad_tensors: both are given");
        if (gradients.is_none()) gradients = older;
        std::vector<Tensor> out = list_of(outputs, "tensors"), g, in;
        if (!gradients.is_none()) g = list_of(gradients, "grad_tensors");
        if (!inputs.is_none()) in = list_of(inputs, "inputs");
        DY_CHECK(inputs.is_none() || !in.empty(), "backward: inputs is empty; leave it out for all leaves");
        warn_of_cycle(create_graph);
        Unlocked unlocked;
        backward(out, g, retain_graph.value_or(create_graph), create_graph, in);
      },
      nb::arg("tensors"), nb::arg("grad_tensors") = nb::none(), nb::arg("retain_graph") = nb::none(),
      nb::arg("create_graph") = false, nb::arg("grad_variables") = nb::none(), nb::arg("inputs") = nb::none(),
      "Accumulates d(sum of tensors . grad_tensors) into the leaves' .grad, all in one pass; with inputs only into theirs.");
  nb::class_<AnomalyScope>(m, "_Anomaly")
      .def(nb::init<>())
      .def("enter", [](AnomalyScope& s) { s.scopes.push_back(std::make_unique<Anomaly>(true)); })
      .def("exit", &AnomalyScope::exit);
  nb::class_<SavedHooks>(m, "_SavedHooks")
      .def(nb::init<nb::object, nb::object>())
      .def("enter", &SavedHooks::enter)
      .def("exit", &SavedHooks::exit);
  m.def("is_anomaly_enabled", [] { return (t_modes & kAnomaly) != 0; }, "Whether this thread looks for NaN.");
  auto products = [](const Product& p) { return nb::make_tuple(tuple_of(p.outputs), tuple_of(p.products)); };
  m.def(
      "_vjp",
      [=](nb::object f, nb::object inputs, nb::object v, bool create_graph) {
        Callable call{f};
        std::vector<Tensor> seeds;
        if (!v.is_none()) seeds = list_of(v, "v");
        return products(vjp(call, list_of(inputs, "inputs"), seeds, create_graph));
      },
      nb::arg("func"), nb::arg("inputs"), nb::arg("v").none(), nb::arg("create_graph"));
  m.def("_jvp", [=](nb::object f, nb::object inputs, nb::object v, bool create_graph) {
    Callable call{f};
    return products(jvp(call, list_of(inputs, "inputs"), list_of(v, "v"), create_graph));
  });
  m.def("_jacobian", [](nb::object f, nb::object inputs, bool create_graph) {
    Callable call{f};
    return rows_of(jacobian(call, list_of(inputs, "inputs"), create_graph));
  });
  m.def("_hessian", [](nb::object f, nb::object inputs, bool create_graph) {
    Callable call{f};
    return rows_of(hessian(call, list_of(inputs, "inputs"), create_graph));
  });
  m.def(
      "_gradgradcheck",
      [](nb::object f, nb::object inputs, double eps, double atol, double rtol) {
        Callable call{f};
        return gradgradcheck(call, list_of(inputs, "inputs"), eps, atol, rtol);
      },
      nb::arg("func"), nb::arg("inputs"), nb::arg("eps") = 1e-6, nb::arg("atol") = 1e-5, nb::arg("rtol") = 1e-3,
      "gradcheck of the gradient of func(*inputs), as a function of the inputs and of random incoming gradients.");
}

}  // namespace dyadic::inline v1::python
