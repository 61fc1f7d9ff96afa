// What Python sees of tensors and dtypes: plain CPython types, because a nanobind instance costs 60 ns more to make. There is
// one Python object per TensorImpl while it lives (TensorImpl::face), so that `x.grad is x.grad` and sets of parameters work; a
// parameter's, and one that was given attributes, lives as long as the TensorImpl (kOwnsFace), so that id(p) says who it is.
// Lives here: the objects, how C++ exceptions reach Python, the GIL, nanobind's casters. Their methods are in tensor_type.cpp,
// operators.cpp, methods.cpp, dtype_type.cpp, device_type.cpp.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>

#include "corridor/call.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::python {
namespace nb = nanobind;

struct PyTensor {
  PyObject_HEAD Tensor tensor;
  PyObject *weak_references, *attributes;
};
struct PyDType {
  PyObject_HEAD DType dtype;
};

extern PyTypeObject *tensor_type, *parameter_type, *dtype_type;
extern PyTypeObject* size_type;  // dyadic.Size: a tuple
extern PyObject *out_of_memory_error, *linalg_error, *dtype_error, *value_error, *index_error;

inline bool is_tensor(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  return t == tensor_type || t == parameter_type || PyType_IsSubtype(t, tensor_type);
}
inline bool is_parameter(PyObject* o) { return PyType_IsSubtype(Py_TYPE(o), parameter_type); }
inline const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->tensor; }
PyObject* wrap(Tensor t);            // new reference; None for an undefined tensor
PyObject* wrap_parameter(Tensor t);  // as nn.Parameter, unless it already has a face
PyObject* wrap(DType d);             // interned: equal dtypes are the same object
inline bool is_dtype(PyObject* o) { return Py_TYPE(o) == dtype_type; }

// A dtype as users give it: a dtype object, its text, or Python's float, int and bool. None when `o` is something else.
std::optional<DType> read_dtype(PyObject* o);
std::optional<Device> read_device(PyObject* o);  // a device object, its text or a GPU's number; an error where there is none
bool names_device(PyObject* o);                  // whether that is what it is, here or not
nb::object place_of(Device d);
Device default_device();                         // this thread's, for what is made without one
std::optional<Scalar> read_number(PyObject* o);  // int, float, bool and numpy's scalars, not tensors
DType default_numpy_dtype(const char* format);   // undefined: no dtype of that buffer format
const char* buffer_format(DType d);              // null: buffers have none

struct PythonError {};  // thrown when Python's error indicator is already set

// Sets Python's error from the exception that is being handled.
void set_python_error() noexcept;
template <class F> PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// Another thread may run Python while it lives. Worth it above some 10 us of work: two switches cost 60 ns when nobody waits.
class Unlocked {
  PyThreadState* state_;

 public:
  explicit Unlocked(bool release = true) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
};

// call_op and call_op_inplace without the GIL where the work is large.
void run_op(Op op, Arg* args, int n, Tensor* out);
std::vector<Tensor> run_op_all(Op op, Arg* args, int n);
void run_op_inplace(Op op, Arg* args, int n);
void run_op_out(Op op, Arg* args, int n, std::span<const Tensor> out);

// Python's objects as values of the other files.
Tensor read_index(const Tensor& t, PyObject* key);
void assign_index(const Tensor& t, PyObject* key, PyObject* value);
Tensor tensor_from(PyObject* data, std::optional<DType> dtype);  // numbers, nested lists, buffers, tensors: a copy
// The memory of an array, kept alive by the tensor; written only where the array may be.
Tensor share_buffer(PyObject* object);
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);
PyObject* to_python(Scalar s);
PyObject* to_list(const Tensor& t);
nb::object grad_fn_of(const Tensor& t);                            // what made it; None of a leaf
void warn_of_cycle(bool create_graph);                             // before a backward into .grad
void track(PyObject* tensor);                                      // by the garbage collector, from now on
int visit_owned(const TensorImpl& t, visitproc visit, void* arg);  // of hooks and functions that end with t
std::shared_ptr<PyObject> hold(nb::object o);  // for C++: the last reference may go on a thread without the GIL

// Each file's part of the module.
void add_tensor_type(nb::module_& m);
void add_dtype_type(nb::module_& m);
void add_device_type(nb::module_& m);
void add_limits(nb::module_& m);
void add_operators(PyType_Slot* slots, int& n);
void add_ops(nb::module_& m);
void add_methods(nb::module_& m);
void add_dlpack(nb::module_& m);
void add_modes(nb::module_& m);
void add_compile(nb::module_& m);
void add_distributed(nb::module_& m);
void add_amp(nb::module_& m);
void add_autograd(nb::module_& m);
void add_einops(nb::module_& m);
void add_accounting(nb::module_& m);
void add_modules(nb::module_& m);  // Module; add_layers the others
void add_layers(nb::module_& m);
void add_optimizers(nb::module_& m);
void add_pickle(nb::module_& m);
void add_data(nb::module_& m);    // dyadic.utils.data
void add_memory(nb::module_& m);  // after add_methods
void add_cuda(nb::module_& m);
void add_random(nb::module_& m);
void add_train(nb::module_& m);             // dyadic.train
void open_metaclass(nb::handle metaclass);  // after all classes

}  // namespace dyadic::inline v1::python

namespace nanobind::detail {

template <> struct type_caster<dyadic::Tensor> {
  NB_TYPE_CASTER(dyadic::Tensor, const_name("Tensor"))
  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    if (!dyadic::python::is_tensor(src.ptr())) return false;
    value = dyadic::python::tensor_of(src.ptr());
    return true;
  }
  static handle from_cpp(const dyadic::Tensor& t, rv_policy, cleanup_list*) noexcept { return dyadic::python::wrap(t); }
};
template <> struct type_caster<dyadic::DType> {
  NB_TYPE_CASTER(dyadic::DType, const_name("dtype"))
  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    try {
      auto d = dyadic::python::read_dtype(src.ptr());
      if (d) value = *d;
      return d.has_value();
    } catch (...) {
      PyErr_Clear();
      return false;
    }
  }
  static handle from_cpp(dyadic::DType d, rv_policy, cleanup_list*) noexcept { return dyadic::python::wrap(d); }
};

}  // namespace nanobind::detail
