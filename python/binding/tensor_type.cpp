// The types dyadic.Tensor and dyadic.nn.Parameter: properties, the protocols of Python (number, mapping, buffer).
#include "tensor_life.h"
//
#include <structmember.h>  // after Python.h

#include <algorithm>

#include "corridor/tape.h"
#include "dyadic/ops.h"
#include "overrides.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::python {
namespace {

// Tensor(data) and Tensor(2, 3) of the default dtype; the second's values are whatever was in memory.
PyObject* new_tensor(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    DY_CHECK_AS(TypeError, !kwargs || PyDict_Size(kwargs) == 0,
                "Tensor: it takes no keywords; use dyadic.tensor(data, dtype=...)");
    std::vector<int64_t> sizes;
    for (Py_ssize_t i = 0; i < n; ++i)
      if (PyObject* o = PyTuple_GET_ITEM(args, i);
          PyIndex_Check(o) && !PyBool_Check(o) && !is_tensor(o) && !PySequence_Check(o))
        sizes.push_back(nb::cast<int64_t>(nb::steal(PyNumber_Index(o))));
    if (Py_ssize_t(sizes.size()) == n) return wrap(empty(n ? IntList(sizes) : IntList({0})));
    DY_CHECK_AS(TypeError, n == 1, "Tensor: it takes data or sizes; {} arguments are given", n);
    if (PyObject* size = PyTuple_GET_ITEM(args, 0); Py_IS_TYPE(size, size_type)) {
      for (nb::handle o : nb::handle(size)) sizes.push_back(nb::cast<int64_t>(o));
      return wrap(empty(IntList(sizes)));
    }
    return wrap(tensor_from(PyTuple_GET_ITEM(args, 0), default_dtype()));
  });
}

// nn.Parameter(data, requires_grad=True): the same memory, a leaf of its own, counted as a parameter.
// Of sparse and nested tensors, whose elements are not where Tensor looks: which it is; of others null.
const char* foreign_layout(PyObject* data) {
  if (Py_TYPE(data) == tensor_type || Py_TYPE(data) == parameter_type) return nullptr;
  for (const char* name : {"is_sparse", "is_sparse_csr", "is_nested"}) {
    const nb::object is = nb::getattr(data, name, nb::none());
    if (PyObject_IsTrue(is.ptr()) == 1) return name + 3;
  }
  return nullptr;
}

PyObject* new_parameter(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"data", "requires_grad", nullptr};
  PyObject* data = nullptr;
  int grad = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p:Parameter", const_cast<char**>(names), &data, &grad)) return nullptr;
  return guarded([&]() -> PyObject* {
    DY_CHECK_AS(TypeError, is_tensor(data), "Parameter: data is {}; it takes a Tensor", Py_TYPE(data)->tp_name);
    const char* layout = foreign_layout(data);
    DY_CHECK_AS(TypeError, !layout, "Parameter: data is a {} tensor, and parameters are dense", layout);
    const TensorImpl& i = *tensor_of(data).impl();
    Tensor t = make_view(tensor_of(data), i.shape(), {i.strides, i.ndim}, i.offset);
    if (grad) t.requires_grad_();
    if (t.impl()->storage->category == Category::temporary) set_category(t, Category::parameter);
    t.impl()->flags = uint8_t((t.impl()->flags | kParameter) & ~kUncounted);
    PyObject* self = type->tp_alloc(type, 0);  // zeroed
    if (!self) throw PythonError();
    auto* o = reinterpret_cast<PyTensor*>(self);
    o->tensor = std::move(t);
    o->tensor.impl()->face = self;
    return self;
  });
}

PyObject* text(const std::string& s) { return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size())); }
PyObject* repr(PyObject* self) {
  return guarded([&] {
    std::string s = tensor_of(self).str();
    return text(is_parameter(self) ? "Parameter containing:\n" + s : s);
  });
}
Py_hash_t hash(PyObject* self) { return Py_hash_t(reinterpret_cast<uintptr_t>(self) >> 4); }

// Properties.
PyObject* size_of(IntList l) {
  PyObject* t = size_type->tp_alloc(size_type, Py_ssize_t(l.size()));
  for (size_t i = 0; t && i < l.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), PyLong_FromLongLong(l[i]));
  return t;
}
template <class F> PyObject* get(PyObject* self, F f) {
  return guarded([&] { return f(tensor_of(self)); });
}
PyObject* get_shape(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return size_of(t.sizes()); });
}
PyObject* get_dtype(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return wrap(t.dtype()); });
}
PyObject* get_device(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return place_of(t.device()).release().ptr(); });
}
PyObject* get_ndim(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return PyLong_FromLongLong(t.dim()); });
}
PyObject* get_nbytes(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return PyLong_FromLongLong(t.nbytes()); });
}
PyObject* get_itemsize(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return PyLong_FromLongLong(t.dtype().itemsize()); });
}
PyObject* get_requires_grad(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return PyBool_FromLong(t.requires_grad()); });
}
PyObject* get_retains_grad(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return PyBool_FromLong(t.impl()->meta && t.impl()->meta->retained); });
}
PyObject* get_output_nr(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return PyLong_FromLong(t.is_leaf() ? 0 : t.impl()->output); });
}
PyObject* get_is_leaf(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return PyBool_FromLong(t.is_leaf()); });
}
PyObject* get_base(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return t.impl()->base ? wrap(borrow(t.impl()->base)) : Py_NewRef(Py_None); });
}
PyObject* get_is_meta(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return PyBool_FromLong(t.is_meta()); });
}
PyObject* get_version(PyObject* s, void*) {
  return get(s, [](const Tensor& t) {
    DY_CHECK(!t.impl()->storage->inference, "_version: writes to a tensor of inference mode are not counted: it is {}",
             describe(t));
    return PyLong_FromUnsignedLong(t.version());
  });
}
PyObject* get_grad(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return wrap(t.grad()); });
}
PyObject* get_grad_fn(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return grad_fn_of(t).release().ptr(); });
}
PyObject* get_T(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return wrap(t.T()); });
}
PyObject* get_mT(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return wrap(t.mT()); });
}
PyObject* get_H(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return wrap(t.H()); });
}
PyObject* get_mH(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return wrap(t.mH()); });
}
PyObject* get_real(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return wrap(real(t)); });
}
PyObject* get_imag(PyObject* s, void*) {
  return get(s, [](const Tensor& t) { return wrap(imag(t)); });
}
PyObject* get_data(PyObject* s, void*) {
  return get(s, [](const Tensor& t) {
    Tensor data = t.detach();
    data.impl()->flags |= kUncounted;
    return wrap(std::move(data));
  });
}
PyObject* get_array_priority(PyObject*, void*) { return PyFloat_FromDouble(1000); }  // numpy's operators leave it to ours

int set(PyObject* (*f)(PyObject*, PyObject*), PyObject* self, PyObject* value) {
  PyObject* r = guarded([&] { return f(self, value); });
  Py_XDECREF(r);
  return r ? 0 : -1;
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return set(
      [](PyObject* s, PyObject* v) {
        DY_CHECK_AS(TypeError, v && PyBool_Check(v), "requires_grad: it is True or False");
        reinterpret_cast<PyTensor*>(s)->tensor.requires_grad_(v == Py_True);
        return Py_NewRef(Py_None);
      },
      self, value);
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return set(
      [](PyObject* s, PyObject* v) {
        const Tensor& t = tensor_of(s);
        if (!v || v == Py_None) {
          t.set_grad({});
          return Py_NewRef(Py_None);
        }
        DY_CHECK_AS(TypeError, is_tensor(v), "grad: it is a Tensor or None, not {}", Py_TYPE(v)->tp_name);
        t.set_grad(tensor_of(v));
        return Py_NewRef(Py_None);
      },
      self, value);
}

int set_data(PyObject* self, PyObject* value, void*) {
  return set(
      [](PyObject* s, PyObject* v) {
        DY_CHECK_AS(TypeError, v && is_tensor(v), "data: it is a Tensor, not {}", v ? Py_TYPE(v)->tp_name : "nothing");
        become_view(tensor_of(s), tensor_of(v));
        return Py_NewRef(Py_None);
      },
      self, value);
}

// x.real = 5, x.imag = y: written into the view.
int set_part(PyObject* self, PyObject* value, Tensor (*part)(const Tensor&)) {
  PyObject* r = guarded([&] {
    DY_CHECK_AS(TypeError, value, "real and imag of a tensor are not deleted");
    const auto number = read_number(value);
    DY_CHECK_AS(TypeError, number || is_tensor(value), "real and imag are numbers or Tensors, not {}", Py_TYPE(value)->tp_name);
    part(tensor_of(self)).copy_(number ? scalar_tensor(*number) : tensor_of(value));
    return Py_NewRef(Py_None);
  });
  Py_XDECREF(r);
  return r ? 0 : -1;
}
int set_real(PyObject* self, PyObject* value, void*) {
  return set_part(self, value, [](const Tensor& t) { return real(t); });
}
int set_imag(PyObject* self, PyObject* value, void*) {
  return set_part(self, value, [](const Tensor& t) { return imag(t); });
}

PyGetSetDef properties[] = {
    {"shape", get_shape, nullptr, "The sizes, as a tuple.", nullptr},
    {"dtype", get_dtype, nullptr, "What an element is: a number format.", nullptr},
    {"device", get_device, nullptr, "Where the elements are.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of the elements; codes, scales and all for scaled formats.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element; an error for scaled formats.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether operations on it are recorded for backward.", nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward has accumulated, or None.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "What made it, if that was recorded; None for leaves.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether retain_grad was called on what is no leaf.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of its grad_fn it is.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded operation made it.", nullptr},
    {"_base", get_base, nullptr, "What a view was made of while gradients were recorded; None for what is no view.", nullptr},
    {"is_meta", get_is_meta, nullptr, "Whether it has a shape but no data.", nullptr},
    {"real", get_real, set_real, "The real parts, a view; a real tensor itself.", nullptr},
    {"imag", get_imag, set_imag, "The imaginary parts of a complex tensor, a view.", nullptr},
    {"T", get_T, nullptr, "A view with the dimensions reversed.", nullptr},
    {"mT", get_mT, nullptr, "A view with the last two dimensions exchanged.", nullptr},
    {"H", get_H, nullptr, "The conjugate of a matrix with its dimensions exchanged.", nullptr},
    {"mH", get_mH, nullptr, "The conjugate with the last two dimensions exchanged.", nullptr},
    {"data", get_data, set_data, "The same memory without history; what is assigned becomes the memory.", nullptr},
    {"_version", get_version, nullptr, "Counts the writes to the storage.", nullptr},
    {"__array_priority__", get_array_priority, nullptr, nullptr, nullptr},
    {"__dict__", life::get_dict, life::set_dict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak_references), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, attributes), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

// Mapping and iteration.
Py_ssize_t length(PyObject* self) {
  const Tensor& t = tensor_of(self);
  if (t.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len: a 0-d tensor has no length");
    return -1;
  }
  return Py_ssize_t(t.sizes()[0]);
}
// Tensor.__getitem__ and the like, as a mode is told of them.
PyObject* special(const char* name) { return PyDict_GetItemString(tensor_type->tp_dict, name); }
PyObject* subscript(PyObject* self, PyObject* key) {
  if (mode_takes_over()) [[unlikely]]
    if (PyObject* r = handed_to_mode(special("__getitem__"), {self, key}); r || PyErr_Occurred()) return r;
  return guarded([&] { return wrap(read_index(tensor_of(self), key)); });
}
int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  if (value && mode_takes_over()) [[unlikely]] {
    PyObject* r = handed_to_mode(special("__setitem__"), {self, key, value});
    Py_XDECREF(r);
    if (r || PyErr_Occurred()) return r ? 0 : -1;
  }
  PyObject* r = guarded([&] {
    DY_CHECK_AS(TypeError, value, "index: elements cannot be deleted");
    assign_index(tensor_of(self), key, value);
    return Py_NewRef(Py_None);
  });
  Py_XDECREF(r);
  return r ? 0 : -1;
}
PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    DY_CHECK_AS(TypeError, t.dim() > 0, "iter: a 0-d tensor cannot be iterated over");
    nb::list rows;
    for (const Tensor& row : unbind(t)) rows.append(row);
    return PyObject_GetIter(rows.ptr());
  });
}
// `v in x`: whether an element equals v, as PyTorch (a tensor is broadcast).
int contains(PyObject* self, PyObject* value) {
  PyObject* r = guarded([&] {
    const Tensor& t = tensor_of(self);
    const auto number = read_number(value);
    DY_CHECK_AS(TypeError, number || is_tensor(value), "in: a tensor contains numbers and tensors, not {}",
                Py_TYPE(value)->tp_name);
    NoGrad guard;
    const Tensor other = number ? scalar_tensor(*number) : tensor_of(value);
    return PyBool_FromLong(any(eq(t, other)).item_scalar().integer() != 0);
  });
  if (!r) return -1;
  Py_DECREF(r);
  return r == Py_True;
}

const char* const kDoc =
    "A strided view of a storage whose elements are of one dtype. Made by dyadic.tensor, zeros, randn ..., never directly.";

}  // namespace

void add_tensor_type(nb::module_& m) {
  g_release_face = life::release_face;
  PyType_Slot slots[80] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(life::dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(life::traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(life::clear)},
      {Py_tp_setattro, reinterpret_cast<void*>(life::set_attribute)},
      {Py_tp_new, reinterpret_cast<void*>(new_tensor)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_getset, properties},
      {Py_tp_members, members},
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_iter, reinterpret_cast<void*>(iterate)},
      {Py_sq_contains, reinterpret_cast<void*>(contains)},
      {Py_mp_length, reinterpret_cast<void*>(length)},
      {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
  };
  int n = 17;
  add_operators(slots, n);
  constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  PyType_Spec spec{"dyadic.Tensor", int(sizeof(PyTensor)), 0, flags, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type) throw nb::python_error();
  m.attr("Tensor") = nb::borrow(reinterpret_cast<PyObject*>(tensor_type));

  PyType_Slot parameter_slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(life::dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(life::traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(life::clear)},
      {Py_tp_new, reinterpret_cast<void*>(new_parameter)},
      {Py_tp_doc,
       const_cast<char*>("Parameter(data, requires_grad=True)\n--\n\nA tensor that a module registers when it becomes "
                         "its attribute. Shares the memory of data.")},
      {0, nullptr}};
  PyType_Spec parameter{"dyadic.nn.parameter.Parameter", int(sizeof(PyTensor)), 0, flags, parameter_slots};
  nb::object bases = nb::make_tuple(m.attr("Tensor"));
  parameter_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&parameter, bases.ptr()));
  if (!parameter_type) throw nb::python_error();
  m.attr("Parameter") = nb::borrow(reinterpret_cast<PyObject*>(parameter_type));
}

}  // namespace dyadic::inline v1::python
