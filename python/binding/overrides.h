// Calls with objects of classes of somebody's own that derive from Tensor: they go to __torch_function__
// (dyadic/_own_classes.py).
#pragma once
#include "object.h"

namespace dyadic::inline v1::python {

extern PyObject* g_override;           // what is called then; null until there is such a class
extern thread_local bool t_overrides;  // false while one of them runs what it was asked
bool is_of_own_class(PyObject* o);     // a tensor, but no plain one and no parameter

// The result of `function` where an argument takes the call over; null, and no error, where none does.
PyObject* overridden(PyObject* function, PyObject* const* given, Py_ssize_t n, PyObject* keywords);
inline bool may_override() { return g_override && t_overrides; }

}  // namespace dyadic::inline v1::python
