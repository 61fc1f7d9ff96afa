// Faces of tensors, exceptions on their way to Python, and when the GIL is given up.
#include "object.h"

#include <algorithm>

namespace dyadic::inline v1::python {

PyTypeObject *tensor_type = nullptr, *parameter_type = nullptr, *size_type = &PyTuple_Type;
PyObject *out_of_memory_error = nullptr, *linalg_error = nullptr, *dtype_error = nullptr, *value_error = nullptr,
         *index_error = nullptr;

PyObject* wrap(Tensor t) {
  TensorImpl* impl = t.impl();
  if (!impl) Py_RETURN_NONE;
  if (impl->face) {
    auto* o = static_cast<PyTensor*>(impl->face);
    if (!(impl->flags & kOwnsFace)) return Py_NewRef(reinterpret_cast<PyObject*>(o));
    impl->flags &= uint8_t(~kOwnsFace);
    new (&o->tensor) Tensor(std::move(t));  // the name becomes a reference
    return reinterpret_cast<PyObject*>(o);
  }
  PyTypeObject* type = impl->flags & kParameter ? parameter_type : tensor_type;
  auto* o = PyObject_GC_New(PyTensor, type);
  if (!o) return nullptr;
  new (&o->tensor) Tensor(std::move(t));
  o->weak_references = o->attributes = nullptr;
  impl->face = o;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap_parameter(Tensor t) {
  if (t.defined()) t.impl()->flags |= kParameter;
  return wrap(std::move(t));
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (nb::python_error& e) { e.restore(); } catch (const IndexError& e) {
    PyErr_SetString(index_error, e.what());
  } catch (const TypeError& e) { PyErr_SetString(dtype_error, e.what()); } catch (const ValueError& e) {
    PyErr_SetString(value_error, e.what());
  } catch (const LinAlgError& e) { PyErr_SetString(linalg_error, e.what()); } catch (const OutOfMemoryError& e) {
    PyErr_SetString(out_of_memory_error, e.what());
  } catch (const std::bad_alloc&) { PyErr_NoMemory(); } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) { PyErr_SetString(PyExc_SystemError, "dyadic: an exception of unknown type"); }
}

namespace {

// Elements that a call will touch, roughly: views none, pointwise work the largest operand, kernels a few times that.
bool is_long(const OpDef& op, const Arg* args, int n) {
  if (op.kind == OpKind::view) return false;
  constexpr int64_t kPointwise = 1 << 15, kKernel = 1 << 12;
  int64_t most = 0, created = 0;
  for_each_tensor(args, n, [&](const Tensor& t, int) { most = std::max(most, t.impl()->numel); });
  for (int i = 0; i < n; ++i)
    if (args[i].kind == Arg::Kind::ints && args[0].kind != Arg::Kind::tensor) {
      created = 1;
      for (uint32_t k = 0; k < args[i].n; ++k)
        if (__builtin_mul_overflow(created, args[i].ints[k], &created)) return false;  // refused before any work
    }
  return std::max(most, created) >= (op.kind == OpKind::pointwise ? kPointwise : kKernel);
}

}  // namespace

void run_op(Op op, Arg* args, int n, Tensor* out) {
  if (!is_long(op_def(op), args, n)) return call_op(op, args, n, out);
  Unlocked unlocked;
  call_op(op, args, n, out);
}
std::vector<Tensor> run_op_all(Op op, Arg* args, int n) {
  if (!is_long(op_def(op), args, n)) return call_op_all(op, args, n);
  Unlocked unlocked;
  return call_op_all(op, args, n);
}
void run_op_out(Op op, Arg* args, int n, std::span<const Tensor> out) {
  if (!is_long(op_def(op), args, n)) return call_op_out(op, args, n, out);
  Unlocked unlocked;
  call_op_out(op, args, n, out);
}
void run_op_inplace(Op op, Arg* args, int n) {
  if (!is_long(op_def(op), args, n)) return call_op_inplace(op, args, n);
  Unlocked unlocked;
  call_op_inplace(op, args, n);
}

}  // namespace dyadic::inline v1::python
