// Methods and constructors that are not ops: conversions, values to Python, memory, autograd's entry.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "corridor/tape.h"
#include "dyadic/autograd.h"
#include "dyadic/ops.h"
#include "dyadic/planes.h"
#include "ignored.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

nb::handle type() { return reinterpret_cast<PyObject*>(tensor_type); }

template <class F, class... Extra> void method(const char* name, F&& f, const Extra&... extra) {
  nb::cpp_function_def(std::forward<F>(f), nb::scope(type()), nb::name(name), nb::is_method(), extra...);
}

Tensor convert(const Tensor& t, DType d, std::string_view rounding = "nearest", std::string_view overflow = "standard") {
  Tensor out;
  if (rounding != "nearest" || overflow != "standard") {
    Arg args[] = {Arg(t), Arg(d), Arg(rounding), Arg(overflow)};
    run_op(Op::cast_, args, 4, &out);
    return out;
  }
  Arg args[] = {Arg(t), Arg(d)};
  if (t.dtype() == d) return t;
  run_op(Op::to_, args, 2, &out);
  return out;
}

// x.to(dtype), x.to("bf16"), x.to("meta"), x.to(other), x.to(device, dtype), x.to(dtype=..., device=...). Flags may follow by
// place: (dtype or other, non_blocking, copy), (device, dtype, non_blocking, copy).
Tensor to_anything(const Tensor& t, nb::object target, nb::object dtype, nb::object device, bool non_blocking, bool copy,
                   std::string_view rounding, std::string_view overflow, nb::object memory_format) {
  about_memory("Tensor.to", "memory_format", memory_format);
  if (PyBool_Check(dtype.ptr())) {
    copy |= device.ptr() == Py_True;
    dtype = nb::none();
    if (PyBool_Check(device.ptr())) device = nb::none();
  } else if (PyBool_Check(device.ptr())) {
    copy |= non_blocking;
    device = nb::none();
  }
  std::optional<DType> d;
  std::optional<Device> where;
  if (!target.is_none()) {
    PyObject* o = target.ptr();
    if (is_tensor(o)) {
      d = tensor_of(o).dtype();
      where = tensor_of(o).device();
    } else if (PyUnicode_Check(o)) {
      if (names_device(o))
        where = read_device(o);
      else
        d = DType::parse(nb::cast<std::string>(target));
    } else {
      d = read_dtype(o);
      if (!d) where = read_device(o);
      DY_CHECK_AS(TypeError, d || where,
                  "to: an argument has the wrong type: target is {}; it takes a dtype, a device or a Tensor",
                  Py_TYPE(o)->tp_name);
    }
  }
  if (!dtype.is_none()) {
    d = read_dtype(dtype.ptr());
    DY_CHECK_AS(TypeError, d, "to: an argument has the wrong type: dtype is {}; it takes a dtype",
                Py_TYPE(dtype.ptr())->tp_name);
  }
  if (!device.is_none()) {
    where = read_device(device.ptr());
    DY_CHECK_AS(TypeError, where, "to: an argument has the wrong type: device is {}; it takes a device",
                Py_TYPE(device.ptr())->tp_name);
  }
  Tensor out = where ? t.to(*where) : t;
  if (d) out = convert(out, *d, rounding, overflow);
  return copy && out.is_same(t) ? out.clone() : out;
}

// x.view(2, 3), x.view([2, 3]), x.view(size=[2, 3]), x.view(dyadic.uint8), x.view(dtype="q4_K").
Tensor view(const Tensor& t, nb::args args, nb::kwargs named) {
  nb::object one = args.size() == 1 ? nb::borrow(args[0]) : nb::object();
  for (auto [key, value] : named) {
    const std::string name = nb::cast<std::string>(key);
    DY_CHECK_AS(TypeError, (name == "size" || name == "dtype") && args.size() == 0 && !one.is_valid(),
                "view: it takes sizes or a dtype; {} is neither, or one too many", name);
    one = nb::borrow(value);
  }
  if (one.is_valid() && (is_dtype(one.ptr()) || PyUnicode_Check(one.ptr()))) return view_as(t, *read_dtype(one.ptr()));
  std::vector<int64_t> sizes;
  const bool list = one.is_valid() && PySequence_Check(one.ptr());
  for (nb::handle h : list ? nb::handle(one) : nb::handle(args)) {
    int64_t n = 0;
    DY_CHECK_AS(TypeError, nb::try_cast(h, n), "view: an argument has the wrong type: size is {}; it takes ints",
                Py_TYPE(h.ptr())->tp_name);
    sizes.push_back(n);
  }
  return t.view(sizes);
}
nb::dict planes_dict(const Tensor& t) {
  nb::dict d;
  for (auto& [name, plane] : planes(t)) d[name.c_str()] = nb::steal(wrap(plane));
  return d;
}

nb::object to_numpy(nb::handle self, bool force) {
  const Tensor& t = tensor_of(self.ptr());
  if (t.requires_grad() && (force || !GradMode::enabled())) return to_numpy(nb::steal(wrap(t.detach())), false);
  DY_CHECK(!t.requires_grad(), "numpy: the tensor requires grad; use .detach().numpy(): self is {}", describe(t));
  DY_CHECK_AS(TypeError, buffer_format(t.dtype()),
              "numpy: numpy has no such dtype: self is {}; convert it first, as in "
              ".float().numpy()",
              describe(t));
  DY_CHECK_AS(ValueError, !t.is_meta(), "numpy: a meta tensor has no data: self is {}", describe(t));
  if (t.device().is_cuda()) {
    DY_CHECK_AS(TypeError, force, "numpy: the tensor is on {}; use .cpu().numpy(): self is {}", t.device().name(), describe(t));
    return to_numpy(nb::steal(wrap(t.to(cpu))), false);
  }
  return nb::module_::import_("numpy").attr("asarray")(nb::steal(PyMemoryView_FromObject(self.ptr())));
}

nb::object to_array(nb::handle self, nb::object dtype, nb::object copy) {
  nb::object array = to_numpy(self, false);
  if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
  if (copy.ptr() == Py_True) array = array.attr("copy")();
  return array;
}

nb::object size(const Tensor& t, std::optional<int64_t> dim) {
  if (dim) return nb::int_(t.size(*dim));
  return nb::steal(PyObject_GetAttrString(nb::steal(wrap(t)).ptr(), "shape"));
}
nb::object stride(const Tensor& t, std::optional<int64_t> dim) {
  if (dim) return nb::int_(t.stride(*dim));
  nb::list l;
  for (int64_t s : t.strides()) l.append(s);
  return nb::tuple(l);
}

void backward(nb::object self, nb::object gradient, nb::object retain_graph, bool create_graph, nb::object inputs) {
  if (inputs.is_none()) {
    warn_of_cycle(create_graph);
    const Tensor &t = tensor_of(self.ptr()), g = gradient.is_none() ? Tensor() : nb::cast<Tensor>(gradient);
    const bool retain = retain_graph.is_none() ? create_graph : nb::cast<bool>(retain_graph);
    Unlocked unlocked;
    return t.backward(g, retain, create_graph);
  }
  nb::module_::import_("dyadic._dyadic")
      .attr("_backward")(self, nb::make_tuple(gradient), retain_graph, create_graph, nb::none(), inputs);
}

// The garbage collector learns of what a hook holds.
void show_owned(const Tensor& t, const std::shared_ptr<PyObject>& held) {
  TensorImpl& impl = *t.impl();
  (impl.node ? node_extra(*impl.node).owned : auto_meta(impl).owned).push_back(held);
  if (impl.face) track(static_cast<PyObject*>(impl.face));
}

// What register_hook returns.
struct HookHandle {
  std::shared_ptr<bool> on = std::make_shared<bool>(true);
};
HookHandle add_hook(const Tensor& t, nb::object hook) {
  std::shared_ptr<PyObject> held = hold(std::move(hook));
  HookHandle handle;
  register_hook(t, [held, on = handle.on](const Tensor& g) {
    nb::gil_scoped_acquire gil;
    if (!*on) return Tensor();
    nb::object r = nb::steal(PyObject_CallOneArg(held.get(), nb::steal(wrap(g)).ptr()));
    if (!r.is_valid()) throw nb::python_error();
    DY_CHECK_AS(TypeError, r.is_none() || is_tensor(r.ptr()),
                "register_hook: the hook returned {}; it returns a Tensor or None", Py_TYPE(r.ptr())->tp_name);
    return r.is_none() ? Tensor() : tensor_of(r.ptr());
  });
  show_owned(t, held);
  return handle;
}

HookHandle add_late_hook(const Tensor& t, nb::object hook) {
  std::shared_ptr<PyObject> held = hold(std::move(hook));
  HookHandle handle;
  register_post_accumulate_grad_hook(t, [held, on = handle.on](const Tensor& leaf) {
    nb::gil_scoped_acquire gil;
    if (*on && !nb::steal(PyObject_CallOneArg(held.get(), nb::steal(wrap(leaf)).ptr())).is_valid()) throw nb::python_error();
  });
  show_owned(t, held);
  return handle;
}

template <class F> nb::object changed(nb::handle self, F f) {
  f(tensor_of(self.ptr()));
  return nb::borrow(self);
}

nb::str format_tensor(nb::handle self, nb::str spec) {
  const Tensor& t = tensor_of(self.ptr());
  if (t.dim() > 0 || t.is_meta() || Py_TYPE(self.ptr()) != tensor_type) {
    DY_CHECK_AS(TypeError, nb::len(spec) == 0, "format: \"{}\" is for one number: self is {}; give an element, as .item() does",
                spec.c_str(), describe(t));
    return nb::str(self);
  }
  PyObject* text = PyObject_Format(nb::steal(to_python(t.item_scalar())).ptr(), spec.ptr());
  if (!text) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

void add_conversions() {
  auto none = nb::none();
  method("to", to_anything, nb::arg("target") = none, nb::arg("dtype") = none, nb::arg("device") = none,
         ignored({"Tensor.to", "non_blocking", "there is one device"}) = false, nb::arg("copy") = false, nb::kw_only(),
         nb::arg("rounding") = "nearest", nb::arg("overflow") = "standard",
         ignored({"Tensor.to", "memory_format", "results are dense in the order of their sizes", true}) = none,
         "The values in another dtype (rounded once: help(dyadic.cast)) or on another device; itself if nothing changes.");
  const std::pair<const char*, DType> casts[] = {{"double", f64}, {"float", f32}, {"half", f16},   {"bfloat16", bf16},
                                                 {"long", i64},   {"int", i32},   {"short", i16},  {"bool", boolean},
                                                 {"byte", u8},    {"char", i8},   {"cfloat", c64}, {"cdouble", c128}};
  for (auto& [name, d] : casts)
    method(
        name,
        [d = d, who = std::string("Tensor.") + name](const Tensor& t, nb::handle memory_format) {
          about_memory(who.c_str(), "memory_format", memory_format);
          return convert(t, d);
        },
        ignored({"Tensor.double, float, half, bfloat16, long, int, short, bool, byte, char, cfloat and cdouble",
                 "memory_format", "results are dense in the order of their sizes", true}) = none,
        "The values in another dtype; itself if it has it.");
  method("view", view,
         "The same memory under another shape (sizes, one may be -1), or as another dtype: x.view(dyadic.uint8).");
  method("planes", planes_dict,
         "What the storage is made of, by name: codes, scales and the rest, as 1-d tensors over the same memory.");
  method("type_as", [](const Tensor& t, const Tensor& o) { return convert(t, o.dtype()); }, nb::arg("other"));
  method(
      "cpu",
      [](const Tensor& t, nb::handle memory_format) {
        about_memory("Tensor.cpu", "memory_format", memory_format);
        return t.to(cpu);
      },
      ignored({"Tensor.cpu", "memory_format", "results are dense in the order of their sizes", true}) = none);
  method("numpy", to_numpy, nb::kw_only(), nb::arg("force") = false,
         "A numpy array over the same memory; force: of a tensor that requires grad, too.");
  method("__array__", to_array, nb::arg("dtype") = none, nb::kw_only(), nb::arg("copy") = none);
  method("__complex__", [](const Tensor& t) {
    const Scalar v = t.item_scalar();
    return nb::steal(PyComplex_FromDoubles(v.real(), v.imag()));
  });
  method("is_inference", [](const Tensor& t) { return t.impl()->storage->inference; });
  method("is_complex", [](const Tensor& t) { return t.dtype().is_complex(); });
  method(
      "item", [](const Tensor& t) { return nb::steal(to_python(t.item_scalar())); }, "The only element, as a Python number.");
  method(
      "tolist", [](const Tensor& t) { return nb::steal(guarded([&] { return to_list(t); })); },
      "Nested lists of the elements.");
  method("__format__", format_tensor);
}

void add_questions() {
  auto none = nb::none();
  method("size", size, nb::arg("dim") = none, "The sizes, or one of them.");
  method("stride", stride, nb::arg("dim") = none, "The strides in elements, or one of them.");
  method("dim", [](const Tensor& t) { return t.dim(); }, "The number of dimensions.");
  method("numel", [](const Tensor& t) { return t.numel(); }, "The number of elements.");
  method("element_size", [](const Tensor& t) { return t.dtype().itemsize(); }, "Bytes of an element.");
  method(
      "is_contiguous",
      [](const Tensor& t, nb::object memory_format) {
        const bool last =
            !memory_format.is_none() && std::string_view(nb::repr(memory_format).c_str()).ends_with(".channels_last");
        return last ? t.dim() == 4 && t.permute({0, 2, 3, 1}).is_contiguous() : t.is_contiguous();
      },
      nb::arg("memory_format") = none);
  method("is_floating_point", [](const Tensor& t) { return t.dtype().is_floating_point(); });
  method("storage_offset", [](const Tensor& t) { return t.storage_offset(); });
  method(
      "data_ptr", [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.is_cuda() ? t.impl()->place() : t.data_ptr()); },
      "The address of the first element.");
}

void add_autograd() {
  method("backward", backward, nb::arg("gradient") = nb::none(), nb::arg("retain_graph") = nb::none(),
         nb::arg("create_graph") = false, nb::arg("inputs") = nb::none(),
         "Accumulates d(self)/d(leaf) into the .grad of every leaf that requires grad, or of inputs alone.");
  method(
      "requires_grad_",
      [](nb::handle self, bool on) {
        reinterpret_cast<PyTensor*>(self.ptr())->tensor.requires_grad_(on);
        return nb::borrow(self);
      },
      nb::arg("requires_grad") = true);
  method("register_hook", add_hook, nb::arg("hook"),
         "hook(grad) runs when the gradient of this tensor is complete; what it returns "
         "replaces it. The result's remove() takes it off again.");
  method("register_post_accumulate_grad_hook", add_late_hook, nb::arg("hook"),
         "hook(self) runs when a backward has added to the .grad of this leaf. The result's remove() takes it off again.");
  method("retain_grad", [](const Tensor& t) { t.retain_grad(); }, "Keeps the gradient in .grad of what is no leaf, too.");
  method(
      "fill_",
      [](nb::handle self, nb::handle value) {
        if (is_tensor(value.ptr())) {  // with its history
          const Tensor& one = tensor_of(value.ptr());
          DY_CHECK(one.dim() == 0, "fill_: it takes one number: value is {}", describe(one));
          return changed(self, [&](const Tensor& t) { t.copy_(one); });
        }
        const auto v = read_number(value.ptr());
        DY_CHECK_AS(TypeError, v, "fill_: an argument has the wrong type: value is {}; it takes a number",
                    Py_TYPE(value.ptr())->tp_name);
        return changed(self, [&](const Tensor& t) { t.fill_(*v); });
      },
      nb::arg("value"));
  method("zero_", [](nb::handle self) { return changed(self, [](const Tensor& t) { t.zero_(); }); });
  method(
      "copy_", [](nb::handle self, const Tensor& src, bool) { return changed(self, [&](const Tensor& t) { t.copy_(src); }); },
      nb::arg("src"), ignored({"Tensor.copy_", "non_blocking", "there is one device"}) = false,
      "Writes the values of src, broadcast and converted, into self.");
}

Tensor make(nb::object data, nb::object dtype, nb::object device, bool requires_grad) {
  std::optional<DType> d;
  if (!dtype.is_none()) {
    d = read_dtype(dtype.ptr());
    DY_CHECK_AS(TypeError, d, "tensor: an argument has the wrong type: dtype is {}; it takes a dtype",
                Py_TYPE(dtype.ptr())->tp_name);
  }
  const auto where = device.is_none() ? default_device() : read_device(device.ptr());
  DY_CHECK_AS(TypeError, where, "tensor: an argument has the wrong type: device is {}; it takes a device",
              Py_TYPE(device.ptr())->tp_name);
  Tensor t = tensor_from(data.ptr(), d).to(*where);
  if (requires_grad) t.requires_grad_();
  return t;
}

}  // namespace

void add_methods(nb::module_& m) {
  auto none = nb::none();
  nb::class_<HookHandle>(m, "RemovableHandle", "What register_hook returns.")
      .def(
          "remove", [](HookHandle& h) { *h.on = false; }, "Takes the hook off.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](HookHandle& h, nb::args) { *h.on = false; });
  add_conversions();
  add_questions();
  add_autograd();
  m.def("tensor", make, nb::arg("data"), nb::kw_only(), nb::arg("dtype") = none, nb::arg("device") = none,
        nb::arg("requires_grad") = false,
        "A new tensor with the values of numbers, nested lists or arrays. Without dtype: bool, int64 or the default float for "
        "Python's numbers, an array's own for arrays.");
  m.def(
      "from_numpy", [](nb::object a) { return share_buffer(a.ptr()); }, nb::arg("array"),
      "A tensor over the memory of an array.");
  m.def("is_tensor", [](nb::handle o) { return is_tensor(o.ptr()); }, nb::arg("obj").none());
}

}  // namespace dyadic::inline v1::python
