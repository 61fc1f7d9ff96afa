// x[...] and x[...] = v with ints, slices, None and Ellipsis: views, made of the ops select, slice and unsqueeze.
#include "dyadic/ops.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

bool is_at(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o).dim() == 0 && tensor_of(o).dtype().is_integer();
  return PyIndex_Check(o) && !PyBool_Check(o) && !PySequence_Check(o);
}
int64_t position(PyObject* o) {
  Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  return i;
}
std::optional<int64_t> bound(PyObject* o, int64_t value) { return o == Py_None ? std::nullopt : std::optional(value); }

Tensor take_slice(const Tensor& t, int64_t d, PyObject* o) {
  auto* s = reinterpret_cast<PySliceObject*>(o);
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(o, &start, &stop, &step)) throw PythonError();
  if (s->start == Py_None && s->stop == Py_None && step == 1) return t;
  return slice(t, d, bound(s->start, start), bound(s->stop, stop), step);
}

}  // namespace

Tensor index(const Tensor& self, PyObject* key) {
  if (PyLong_CheckExact(key)) return select(self, 0, position(key));
  bool tuple = PyTuple_Check(key);
  Py_ssize_t n = tuple ? PyTuple_GET_SIZE(key) : 1, used = 0, ellipses = 0;
  auto item = [&](Py_ssize_t i) { return tuple ? PyTuple_GET_ITEM(key, i) : key; };
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = item(i);
    bool at = is_at(o);
    used += at || PySlice_Check(o);
    ellipses += o == Py_Ellipsis;
    DY_CHECK_AS(TypeError, at || PySlice_Check(o) || o == Py_None || o == Py_Ellipsis,
                "index: an index has the wrong type: index {} is {}; it takes ints, slices, None and ... (tensors, lists and "
                "bools as indices are not supported)",
                i, Py_TYPE(o)->tp_name);
  }
  DY_CHECK_AS(IndexError, used <= self.dim(), "index: too many indices: {} for {}", used, describe(self));
  DY_CHECK_AS(IndexError, ellipses <= 1, "index: at most one ... is possible: {} given", ellipses);
  Tensor t = self;
  int64_t d = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = item(i);
    if (o == Py_None)
      t = unsqueeze(t, d++);
    else if (o == Py_Ellipsis)
      d += self.dim() - used;
    else if (PySlice_Check(o))
      t = take_slice(t, d++, o);
    else
      t = select(t, d, position(o));
  }
  if (!t.is_same(self)) return t;
  return self.dim() ? slice(self) : view(self, {});  // x[:] is another tensor than x
}

void assign_index(const Tensor& t, PyObject* key, PyObject* value) {
  Tensor target = index(t, key);
  if (auto number = read_number(value)) {
    target.fill_(*number);
    return;
  }
  Tensor source = is_tensor(value) ? tensor_of(value) : tensor_from(value, std::nullopt);
  const TensorImpl &a = *target.impl(), &b = *source.impl();
  bool itself = a.storage == b.storage && a.offset == b.offset && a.shape() == b.shape() && a.dtype == b.dtype &&
                target.strides() == source.strides();
  if (itself) return;                           // x[0] += 1 ends with x[0] = x[0]
  int64_t extra = source.dim() - target.dim();  // leading dimensions of size 1 don't count, as in numpy
  while (extra-- > 0 && source.size(0) == 1) source = select(source, 0, 0);
  target.copy_(source);
}

}  // namespace dyadic::inline v1::python
