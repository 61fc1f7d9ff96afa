// Calls that are handed over to Python (dyadic/_own_classes.py): with objects of classes of somebody's own that derive from
// Tensor, to their __torch_function__; and all calls, while a TorchFunctionMode is entered.
#pragma once
#include <array>
#include <initializer_list>

#include "dyadic/ops.h"
#include "object.h"

namespace dyadic::inline v1::python {

extern PyObject* g_override;           // what is called then; null until there is such a class or mode
extern thread_local bool t_overrides;  // false while one of them runs what it was asked
extern thread_local bool t_mode;       // whether a mode is entered
extern std::array<PyObject*, size_t(kOps)> g_functions, g_in_place_functions;  // the ops as Python sees them
bool is_of_own_class(PyObject* o);                                             // a tensor, but no plain one and no parameter

inline bool may_override() { return g_override && t_overrides; }
inline bool mode_takes_over() { return t_mode && may_override(); }
// A method's self is asked by attributes of its class; a mode is asked of methods, too.
inline bool may_override(PyObject* self) { return self ? mode_takes_over() : may_override(); }

// The result of `function` where an argument, or a mode, takes the call over; null, and no error, where none does.
PyObject* overridden(PyObject* function, PyObject* self, PyObject* const* given, Py_ssize_t n, PyObject* keywords);
// The same of a call by position.
PyObject* handed_to_mode(PyObject* function, std::initializer_list<PyObject*> given);

}  // namespace dyadic::inline v1::python
