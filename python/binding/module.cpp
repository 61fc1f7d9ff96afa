// The extension module dyadic._dyadic.
#include <cstring>
#include <memory>

#include "base/log.h"
#include "corridor/signature.h"
#include "dyadic/nn.h"
#include "dyadic/version.h"
#include "models.h"
#include "object.h"

namespace dyadic::inline v1::python {
void add_study(nb::module_& m);            // dyadic.study
void add_tokenizer(nb::module_& m);        // tokenizer.cpp
void add_finetune(nb::module_& m);         // finetune.cpp
void add_nested(nb::module_& m);           // nested.cpp
void add_program(nb::module_& m);          // program.cpp
void add_prune(nb::module_& m);            // prune.cpp
void add_quant(nb::module_& m);            // quant.cpp
void add_quasirandom(nb::module_& m);      // quasirandom.cpp
void add_vmap(nb::module_& m);             // vmap.cpp
void add_sparse(nb::module_& m);           // sparse.cpp
void add_type_changes(nb::module_& m);     // metaclass.cpp
void add_overrides(nb::module_& m);        // overrides.cpp
void shorten_call_errors(nb::module_& m);  // call_errors.cpp, after all functions
namespace {

PyObject* add_error(nb::module_& m, const char* name, const char* doc, PyObject* bases) {
  PyObject* error = PyErr_NewExceptionWithDoc(name, doc, bases, nullptr);
  if (!error) throw nb::python_error();
  m.attr(std::strrchr(name, '.') + 1) = nb::borrow(error);
  return error;
}
void add_errors(nb::module_& m) {
  out_of_memory_error = add_error(m, "dyadic.OutOfMemoryError",
                                  "An allocation found no memory, or went beyond set_memory_limit.", PyExc_RuntimeError);
  linalg_error =
      add_error(m, "dyadic.linalg.LinAlgError",
                "A matrix is singular, not positive definite, or an algorithm does not converge.", PyExc_RuntimeError);
  // PyTorch raises now one class, now a RuntimeError (or its kind NotImplementedError); code that expects either goes on
  // working.
  dtype_error = add_error(m, "dyadic.DtypeError", "An operand's dtype or an argument's kind does not fit.",
                          nb::make_tuple(nb::borrow(PyExc_TypeError), nb::borrow(PyExc_NotImplementedError)).ptr());
  value_error = add_error(m, "dyadic.ArgumentError", "An argument's value does not fit.",
                          nb::make_tuple(nb::borrow(PyExc_ValueError), nb::borrow(PyExc_RuntimeError)).ptr());
  index_error = add_error(m, "dyadic.RangeError", "An index or a dimension is out of range.",
                          nb::make_tuple(nb::borrow(PyExc_IndexError), nb::borrow(PyExc_RuntimeError)).ptr());
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const PythonError&) {
    } catch (const Error&) { set_python_error(); }
  });
}

int show(void* text) {  // later, on the main thread
  const std::unique_ptr<std::string> own(static_cast<std::string*>(text));
  return PyErr_WarnEx(PyExc_UserWarning, own->c_str(), 1);
}
// C++'s warnings are Python's. A thread without the GIL hands its own over: who has the GIL may be waiting for that thread.
void warn_in_python(std::string_view text) {
  auto own = std::make_unique<std::string>(text);
  if (PyGILState_Check()) {
    if (show(own.release()) < 0) throw nb::python_error();
  } else if (Py_IsInitialized() && Py_AddPendingCall(show, own.get()) == 0) {
    own.release();
  }
}

// What `from ._dyadic import *` takes: ops of a family (linalg_det) are shown by the module of that name alone.
void add_public_names(nb::module_& m) {
  nb::list names;
  for (nb::handle name : m.attr("__dict__").attr("keys")()) {
    const std::string text = nb::cast<std::string>(name);
    if (!text.starts_with("_") && !in_namespace(text)) names.append(name);
  }
  m.attr("__all__") = names;
}

}  // namespace
}  // namespace dyadic::inline v1::python

NB_MODULE(_dyadic, m) {
  using namespace dyadic::python;
  m.doc() = "Dyadic's C++ core.";
  nb::set_leak_warnings(false);  // what a user's own cycles keep at exit is the system's to free, without a page of words
  m.attr("__version__") = DYADIC_VERSION;
  add_errors(m);
  dyadic::set_warning_handler(warn_in_python);
  add_dtype_type(m);
  add_device_type(m);
  add_limits(m);
  add_pickle(m);
  add_tensor_type(m);
  add_methods(m);
  add_dlpack(m);
  add_ops(m);
  add_modes(m);
  add_amp(m);
  add_random(m);
  add_memory(m);
  add_cuda(m);
  add_autograd(m);
  add_einops(m);
  add_accounting(m);
  add_modules(m);
  add_layers(m);
  add_optimizers(m);
  add_data(m);
  add_train(m);
  add_study(m);
  add_models(m);
  add_compile(m);
  add_distributed(m);
  add_tokenizer(m);
  add_quant(m);
  add_sparse(m);
  add_nested(m);
  add_quasirandom(m);
  add_vmap(m);
  add_prune(m);
  add_finetune(m);
  add_program(m);
  add_type_changes(m);
  add_overrides(m);
  shorten_call_errors(m);
  open_metaclass(nb::type<dyadic::nn::Module>().type());
  add_public_names(m);
}
