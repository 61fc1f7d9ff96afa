// Python's operators on tensors: the shortest way from a + b to the corridor. The pairing of an operator with an op is Python's
// and PyTorch's; everything else about the ops is in their records.
#include "dyadic/ops.h"
#include "object.h"
#include "overrides.h"

namespace dyadic::inline v1::python {
namespace {

// A tensor, or a number or an array made into one in `held`. Anything else: null, and Python tries the other operand.
inline const Tensor* operand(PyObject* o, Tensor& held) {
  if (is_tensor(o)) [[likely]]
    return &tensor_of(o);
  auto number = read_number(o);
  if (number)
    held = scalar_tensor(*number);
  else if (PyObject_CheckBuffer(o) && PySequence_Check(o) && !PyBytes_Check(o))
    held = tensor_from(o, std::nullopt);
  return held.defined() ? &held : nullptr;
}

template <Op op> PyObject* binary(PyObject* a, PyObject* b) {
  if (mode_takes_over()) [[unlikely]]
    if (PyObject* r = handed_to_mode(g_functions[size_t(op)], {a, b}); r || PyErr_Occurred()) return r;
  return guarded([&] {
    Tensor held, out;
    const Tensor *x = operand(a, held), *y = x ? operand(b, held) : nullptr;
    if (!y) return Py_NewRef(Py_NotImplemented);
    Arg args[] = {Arg(*x), Arg(*y)};
    run_op(op, args, 2, &out);
    return wrap(std::move(out));
  });
}
template <Op op> PyObject* binary_inplace(PyObject* a, PyObject* b) {
  if (mode_takes_over()) [[unlikely]]
    if (PyObject* r = handed_to_mode(g_in_place_functions[size_t(op)], {a, b}); r || PyErr_Occurred()) return r;
  return guarded([&] {
    Tensor held;
    const Tensor* y = is_tensor(a) ? operand(b, held) : nullptr;
    if (!y) return Py_NewRef(Py_NotImplemented);
    Arg args[] = {Arg(tensor_of(a)), Arg(*y)};
    run_op_inplace(op, args, 2);
    return Py_NewRef(a);
  });
}
template <Op op> PyObject* unary(PyObject* a) {
  if (mode_takes_over()) [[unlikely]]
    if (PyObject* r = handed_to_mode(g_functions[size_t(op)], {a}); r || PyErr_Occurred()) return r;
  return guarded([&] {
    Tensor out;
    Arg args[] = {Arg(tensor_of(a))};
    run_op(op, args, 1, &out);
    return wrap(std::move(out));
  });
}
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) return Py_NewRef(Py_NotImplemented);
  return binary<Op::pow_>(a, b);
}
PyObject* power_inplace(PyObject* a, PyObject* b, PyObject*) { return binary_inplace<Op::pow_>(a, b); }
PyObject* matmul(PyObject* a, PyObject* b) {
  if (read_number(a) || read_number(b)) return Py_NewRef(Py_NotImplemented);
  return binary<Op::matmul_>(a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  switch (how) {
    case Py_LT:
      return binary<Op::lt_>(a, b);
    case Py_LE:
      return binary<Op::le_>(a, b);
    case Py_EQ:
      return binary<Op::eq_>(a, b);
    case Py_NE:
      return binary<Op::ne_>(a, b);
    case Py_GT:
      return binary<Op::gt_>(a, b);
    default:
      return binary<Op::ge_>(a, b);
  }
}

int truth(PyObject* self) {
  PyObject* r = guarded([&] {
    const Tensor& t = tensor_of(self);
    DY_CHECK(t.numel() == 1, "bool: the truth of {} elements is ambiguous: self is {}; use any() or all()", t.numel(),
             describe(t));
    const Scalar s = t.item_scalar();
    return PyBool_FromLong(s.real() != 0 || s.imag() != 0);
  });
  if (!r) return -1;
  Py_DECREF(r);
  return r == Py_True;
}
void check_no_imaginary(const char* who, Scalar s) {
  DY_CHECK_AS(ValueError, s.imag() == 0, "{}: the number {} + {}j is not real; use item(), .real or abs()", who, s.real(),
              s.imag());
}
// int() and float() of more than one element are a ValueError, item() is not.
Scalar only_element(PyObject* self, const char* what) {
  const Tensor& t = tensor_of(self);
  DY_CHECK_AS(ValueError, t.numel() == 1, "{}: needs one element: self is {}", what, describe(t));
  return t.item_scalar();
}
// A number has no history: who wants gradients through it should know.
Scalar detached_element(PyObject* self, const char* what) {
  const Scalar s = only_element(self, what);
  constexpr const char* kText =
      "a number of a tensor with requires_grad=True: no gradient goes through it; take it of tensor.detach() if none is meant "
      "to";
  if (tensor_of(self).requires_grad() && PyErr_WarnEx(PyExc_UserWarning, kText, 1) < 0) throw PythonError();
  return s;
}
PyObject* to_float(PyObject* self) {
  return guarded([&] {
    const Scalar s = detached_element(self, "float");
    check_no_imaginary("float", s);
    return PyFloat_FromDouble(s.real());
  });
}
PyObject* to_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    Scalar s = detached_element(self, "int");
    if (s.kind() < Scalar::Kind::real) return to_python(s);
    check_no_imaginary("int", s);
    return PyLong_FromDouble(s.real());
  });
}
PyObject* to_index(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    DY_CHECK_AS(TypeError, t.numel() == 1 && t.dtype().is_integer(),
                "index: only an integer tensor of one element is an index: self is {}", describe(t));
    return PyLong_FromLongLong(t.item_scalar().integer());
  });
}

}  // namespace

void add_operators(PyType_Slot* slots, int& n) {
  auto put = [&](int slot, auto* function) { slots[n++] = {slot, reinterpret_cast<void*>(function)}; };
  put(Py_nb_add, binary<Op::add_>);
  put(Py_nb_subtract, binary<Op::sub_>);
  put(Py_nb_multiply, binary<Op::mul_>);
  put(Py_nb_true_divide, binary<Op::div_>);
  put(Py_nb_matrix_multiply, matmul);
  put(Py_nb_power, power);
  put(Py_nb_inplace_add, binary_inplace<Op::add_>);
  put(Py_nb_inplace_subtract, binary_inplace<Op::sub_>);
  put(Py_nb_inplace_multiply, binary_inplace<Op::mul_>);
  put(Py_nb_inplace_true_divide, binary_inplace<Op::div_>);
  put(Py_nb_inplace_power, power_inplace);
  put(Py_nb_negative, unary<Op::neg_>);
  put(Py_nb_positive, unary<Op::positive_>);
  put(Py_nb_absolute, unary<Op::abs_>);
  put(Py_nb_invert, unary<Op::bitwise_not_>);
  put(Py_nb_and, binary<Op::bitwise_and_>);
  put(Py_nb_or, binary<Op::bitwise_or_>);
  put(Py_nb_xor, binary<Op::bitwise_xor_>);
  put(Py_nb_lshift, binary<Op::bitwise_left_shift_>);
  put(Py_nb_rshift, binary<Op::bitwise_right_shift_>);
  put(Py_nb_floor_divide, binary<Op::floor_divide_>);
  put(Py_nb_remainder, binary<Op::remainder_>);
  put(Py_nb_inplace_floor_divide, binary_inplace<Op::floor_divide_>);
  put(Py_nb_inplace_remainder, binary_inplace<Op::remainder_>);
  put(Py_nb_inplace_and, binary_inplace<Op::bitwise_and_>);
  put(Py_nb_inplace_or, binary_inplace<Op::bitwise_or_>);
  put(Py_nb_inplace_xor, binary_inplace<Op::bitwise_xor_>);
  put(Py_nb_inplace_lshift, binary_inplace<Op::bitwise_left_shift_>);
  put(Py_nb_inplace_rshift, binary_inplace<Op::bitwise_right_shift_>);
  put(Py_nb_bool, truth);
  put(Py_nb_float, to_float);
  put(Py_nb_int, to_int);
  put(Py_nb_index, to_index);
  put(Py_tp_richcompare, compare);
  slots[n] = {0, nullptr};
}

}  // namespace dyadic::inline v1::python
