// dyadic.tensor(data): numbers and nested lists become tensors, the dtype inferred as PyTorch does; and back to lists.
#include <cmath>
#include <memory>

#include "dyadic/ops.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

bool is_sequence(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) || (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o));
}

bool has_buffer(PyObject* o) { return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o) && !is_tensor(o); }
Tensor copy_buffer(PyObject* o);

// Reads nested lists in one pass: the shape along the first elements, then every number, checked against that shape.
class Reader {
 public:
  std::vector<int64_t> shape;
  DType kind;                            // bool < int64 < default float, and what tensors or numpy scalars inside bring along
  std::vector<double> reals, imaginary;  // imaginary: once a complex number has come
  std::vector<int64_t> integers;         // the same values; exact for integers
  bool huge = false;                     // an integer from 2^63 on was among them

  void measure(PyObject* o) {
    nb::object level = nb::borrow(o);
    while (is_list(level.ptr())) {
      Py_ssize_t n = PySequence_Size(level.ptr());
      if (n < 0) throw PythonError();
      DY_CHECK_AS(ValueError, shape.size() < kMaxDims, "tensor: nested too deeply: more than {} levels", kMaxDims);
      shape.push_back(n);
      if (n == 0) break;
      level = nb::steal(PySequence_GetItem(level.ptr(), 0));
      if (!level.is_valid()) throw PythonError();
    }
  }
  void read(PyObject* o, size_t d) {
    if (d == shape.size()) return number(o);
    DY_CHECK_AS(ValueError, is_list(o), "tensor: the lists are ragged: a number stands at level {} where a list is expected",
                d);
    nb::object items = nb::steal(PySequence_Fast(o, "tensor: not a sequence"));
    if (!items.is_valid()) throw PythonError();
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
    DY_CHECK_AS(ValueError, n == shape[d],
                "tensor: the lists are ragged: a length of {} was expected at dimension {}, it is {}", shape[d], d, n);
    for (Py_ssize_t i = 0; i < n; ++i) read(PySequence_Fast_GET_ITEM(items.ptr(), i), d + 1);
  }

 private:
  static bool is_list(PyObject* o) { return !is_tensor(o) && is_sequence(o); }
  void number(PyObject* o) {
    std::optional<Scalar> s;
    DType brings;
    if (is_tensor(o)) {
      DY_CHECK_AS(ValueError, tensor_of(o).numel() == 1,
                  "tensor: a list holds tensors of more than one element: here is {}; use stack or cat",
                  describe(tensor_of(o)));
      s = tensor_of(o).item_scalar();
      brings = tensor_of(o).dtype();
    } else if (!PyFloat_CheckExact(o) && !PyLong_CheckExact(o) && !is_sequence(o) && has_buffer(o)) {  // a numpy scalar
      const Tensor t = copy_buffer(o);
      s = t.item_scalar();
      brings = t.dtype();
    } else {
      DY_CHECK_AS(ValueError, !is_list(o), "tensor: the lists are ragged: a list stands where a number is expected");
      s = read_number(o);
      DY_CHECK_AS(TypeError, s,
                  "tensor: data has the wrong type: it holds {}; it takes numbers, nested lists of them, and arrays",
                  Py_TYPE(o)->tp_name);
      brings = number_dtype(dyadic::dtype_of(s->kind()));
    }
    kind = kind ? promote_types(kind, brings) : brings;
    reals.push_back(s->real());
    if (kind.is_complex()) imaginary.resize(reals.size() - 1), imaginary.push_back(s->imag());
    integers.push_back(s->kind() >= Scalar::Kind::real ? 0 : s->integer());
    huge |= s->is_unsigned();
  }
};

// An array's values as a tensor of its own. numpy arrays and scalars, memoryviews, array.array.
Tensor copy_buffer(PyObject* o) {
  Py_buffer b;
  if (PyObject_GetBuffer(o, &b, PyBUF_FULL_RO)) throw PythonError();
  std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> held(&b, PyBuffer_Release);
  DType dtype = default_numpy_dtype(b.format);
  DY_CHECK_AS(TypeError, dtype && dtype.itemsize() == b.itemsize, "tensor: no dtype for elements of format \"{}\"", b.format);
  std::vector<int64_t> sizes(b.shape, b.shape + b.ndim);
  Tensor t = make_tensor(sizes, dtype, cpu);
  if (t.numel() && PyBuffer_ToContiguous(t.impl()->data(), &b, b.len, 'C')) throw PythonError();
  return t;
}

// Whole numbers of `wanted` hold the values; the negatives of unsigned ones count from above, as in C.
void check_fits(const Reader& r, bool whole, DType wanted) {
  const FormatDef& f = *wanted.format()->def;
  if (wanted == boolean || !wanted.is_integer() || (whole && f.bits == 64)) return;
  const double low = f.kind == Kind::sint ? -f.max - 1 : -f.max;
  for (size_t i = 0; i < r.reals.size(); ++i) {
    const double v = std::trunc(r.reals[i]);
    DY_CHECK(v >= low && v < f.max + 1, "tensor: a number does not fit: {} at position {} is no {}; its largest is {}",
             r.reals[i], i, wanted.name(), f.max);
  }
}

Tensor from_lists(PyObject* data, std::optional<DType> dtype) {
  Reader r;
  r.measure(data);
  r.read(data, 0);
  DType kind = r.kind ? r.kind : default_dtype();
  DType wanted = dtype.value_or(kind);
  bool whole = !kind.is_floating_point() && !kind.is_scaled() && !kind.is_complex();
  DY_CHECK_AS(ValueError, !r.huge || !whole || (dtype && *dtype == u64),
              "tensor: a number from 2^63 on does not fit int64; ask for dtype=dyadic.uint64");
  DY_CHECK_AS(TypeError, !kind.is_complex() || wanted.is_complex(),
              "tensor: data has the wrong type: it holds complex numbers, dtype is {}", wanted.name());
  check_fits(r, whole, wanted);
  Tensor values = whole ? from_data(r.integers.data(), r.shape, i64) : from_data(r.reals.data(), r.shape, f64);
  if (kind.is_complex()) {
    r.imaginary.resize(r.reals.size());
    values = complex(values, from_data(r.imaginary.data(), r.shape, f64));
  }
  return to(values, wanted);
}

}  // namespace

Tensor tensor_from(PyObject* data, std::optional<DType> dtype) {
  NoGrad guard;
  if (is_tensor(data)) {
    Tensor t = tensor_of(data).detach();
    return dtype && *dtype != t.dtype() ? to(t, *dtype) : t.clone();
  }
  bool number = PyFloat_CheckExact(data) || PyLong_Check(data);
  if (!number && has_buffer(data)) {
    Tensor t = copy_buffer(data);
    return dtype ? to(t, *dtype) : t;
  }
  return from_lists(data, dtype);
}

PyObject* to_python(Scalar s) {
  switch (s.kind()) {
    case Scalar::Kind::boolean:
      return PyBool_FromLong(s.integer() != 0);
    case Scalar::Kind::integer:
      return s.is_unsigned() ? PyLong_FromUnsignedLongLong(uint64_t(s.integer())) : PyLong_FromLongLong(s.integer());
    case Scalar::Kind::complex:
      return PyComplex_FromDoubles(s.real(), s.imag());
    default:
      return PyFloat_FromDouble(s.real());
  }
}

namespace {

PyObject* rows(const Tensor& t, int64_t d, int64_t& at) {
  if (d == t.dim()) {
    int64_t i = at++;
    if (t.dtype() == f64) return PyFloat_FromDouble(t.data<double>()[i]);
    if (t.dtype() == c128) return PyComplex_FromDoubles(t.data<double>()[2 * i], t.data<double>()[2 * i + 1]);
    if (t.dtype() == u64) return PyLong_FromUnsignedLongLong(t.data<uint64_t>()[i]);
    if (t.dtype() == boolean) return PyBool_FromLong(t.data<uint8_t>()[i]);
    return PyLong_FromLongLong(t.data<int64_t>()[i]);
  }
  nb::object list = nb::steal(PyList_New(Py_ssize_t(t.size(d))));
  if (!list.is_valid()) throw PythonError();
  for (int64_t i = 0; i < t.size(d); ++i) PyList_SET_ITEM(list.ptr(), Py_ssize_t(i), rows(t, d + 1, at));
  return list.release().ptr();
}

}  // namespace

PyObject* to_list(const Tensor& t) {
  DY_CHECK_AS(ValueError, !t.is_meta(), "tolist: a meta tensor has no values: self is {}; run on cpu to read them",
              describe(t));
  NoGrad guard;
  const DType d = t.dtype();
  const DType wide = d == boolean || d == u64 ? d : d.is_complex() ? c128 : d.is_integer() ? i64 : f64;
  int64_t at = 0;
  return rows(to(t.detach().to(cpu), wide).contiguous(), 0, at);
}

}  // namespace dyadic::inline v1::python
