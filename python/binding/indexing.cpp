// x[...] and x[...] = v: Python's objects as an index of src/ops/indexing.cpp, which has the rules.
#include <new>

#include "dyadic/ops.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

// A list of Index without a heap.
class Key {
  static constexpr size_t kMost = 2 * kMaxDims;
  alignas(Index) char room_[kMost * sizeof(Index)];
  size_t n_ = 0;
  Index* items() { return std::launder(reinterpret_cast<Index*>(room_)); }

 public:
  bool only_views = true;
  Key() {}
  Key(const Key&) = delete;
  ~Key() {
    for (size_t i = 0; i < n_; ++i) items()[i].~Index();
  }
  void add(const Index& i) {
    DY_CHECK_AS(IndexError, n_ < kMost, "index: too many indices: at most {} are possible", kMost);
    only_views &= i.kind != Index::Kind::tensor && i.kind != Index::Kind::boolean;
    new (room_ + n_++ * sizeof(Index)) Index(i);
  }
  std::span<const Index> span() { return {items(), n_}; }
};

int64_t position(PyObject* o) {
  Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  return i;
}

Slice read_slice(PyObject* o) {
  auto* s = reinterpret_cast<PySliceObject*>(o);
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(o, &start, &stop, &step)) throw PythonError();
  return {s->start == Py_None ? kNone : start, s->stop == Py_None ? kNone : stop, step};
}

// Lists and arrays of integers and bools.
Tensor read_positions(PyObject* o) {
  Tensor t = tensor_from(o, std::nullopt);
  return t.numel() == 0 && t.dtype().is_floating_point() ? to(t, i64) : t;  // [] holds no floats
}

template <class E> [[noreturn]] void refuse(PyObject* o, Py_ssize_t at) {
  fail<E>(
      "index: an index has the wrong type: index {} is {}; it takes ints, slices, None, ..., bools, and tensors or lists of "
      "integers or bools",
      at, Py_TYPE(o)->tp_name);
}

void read_entry(PyObject* o, Key& key, Py_ssize_t at) {
  if (PyLong_CheckExact(o)) {
    key.add(int64_t(position(o)));
  } else if (PySlice_Check(o)) {
    key.add(read_slice(o));
  } else if (o == Py_None) {
    key.add(Index(Index::Kind::new_axis));
  } else if (o == Py_Ellipsis) {
    key.add(Index(Index::Kind::ellipsis));
  } else if (is_tensor(o)) {
    key.add(tensor_of(o));
  } else if (PyBool_Check(o)) {
    key.add(o == Py_True);
  } else if (PyFloat_Check(o)) {
    refuse<IndexError>(o, at);
  } else if (PyUnicode_Check(o)) {
    refuse<TypeError>(o, at);
  } else if (PySequence_Check(o) || PyObject_CheckBuffer(o)) {
    key.add(read_positions(o));
  } else if (PyIndex_Check(o)) {
    key.add(int64_t(position(o)));
  } else {
    refuse<TypeError>(o, at);
  }
}

// A short list stands for a tuple where it holds what a list of positions cannot: as PyTorch. (Of nested lists PyTorch will
// make positions, as numpy does.)
bool is_tuple(PyObject* o) {
  if (!PyList_Check(o) || PyList_GET_SIZE(o) >= 32) return PyTuple_Check(o);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) {
    PyObject* item = PyList_GET_ITEM(o, i);
    if (is_tensor(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis) return true;
  }
  return false;
}

void read_key(PyObject* o, Key& key) {
  if (!is_tuple(o)) return read_entry(o, key, 0);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) read_entry(PySequence_Fast_GET_ITEM(o, i), key, i);
}

}  // namespace

Tensor read_index(const Tensor& self, PyObject* object) {
  if (PyLong_CheckExact(object)) return select(self, 0, position(object));
  Key key;
  read_key(object, key);
  Tensor t = index(self, key.span());
  if (!t.is_same(self)) return t;
  return self.dim() ? slice(self) : view(self, {});  // x[:] is another tensor than x
}

void assign_index(const Tensor& t, PyObject* object, PyObject* value) {
  Key key;
  read_key(object, key);
  const auto number = read_number(value);
  if (key.only_views) {
    const Tensor target = index(t, key.span());
    if (number) {
      target.fill_(*number);
      return;
    }
    if (is_tensor(value)) {  // x[0] += 1 ends with x[0] = x[0]
      const Tensor& source = tensor_of(value);
      const TensorImpl &a = *target.impl(), &b = *source.impl();
      if (a.storage == b.storage && a.offset == b.offset && a.shape() == b.shape() && a.dtype == b.dtype &&
          target.strides() == source.strides())
        return;
    }
  }
  index_put_(t, key.span(),
             number             ? scalar_tensor(*number)
             : is_tensor(value) ? tensor_of(value)
                                : tensor_from(value, std::nullopt));
}

}  // namespace dyadic::inline v1::python
