// How long a tensor's Python object lives.
#pragma once
#include "object.h"

// Who comes to own whom: while Python has the object, it keeps the TensorImpl. When Python lets go of a parameter's object, or
// of one with attributes, and C++ still has the tensor, the TensorImpl keeps the object. The garbage collector sees the
// attributes, and is told of a tensor from its first one on; a module shows it the objects that its own slots alone keep.
namespace dyadic::inline v1::python::life {

// Slots of the type.
void dealloc(PyObject* self);
int traverse(PyObject* self, visitproc visit, void* arg);
int clear(PyObject* self);
int set_attribute(PyObject* self, PyObject* name, PyObject* value);
PyObject* get_dict(PyObject* self, void*);
int set_dict(PyObject* self, PyObject* value, void*);

void release_face(void* face) noexcept;  // of a TensorImpl that ends

}  // namespace dyadic::inline v1::python::life
