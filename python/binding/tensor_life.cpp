#include "tensor_life.h"

#include "corridor/tape.h"

namespace dyadic::inline v1::python {

void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}
int visit_owned(const TensorImpl& t, visitproc visit, void* arg) {
  auto each = [&](const Owned& owned) {
    for (auto& o : owned) Py_VISIT(static_cast<PyObject*>(o.get()));
    return 0;
  };
  const NodeExtra* extra = t.node && t.node->refs.load() == 1 ? t.node->extra : nullptr;
  const int r = t.meta ? each(t.meta->owned) : 0;
  return r || !extra ? r : each(extra->owned);
}

namespace life {
namespace {

// The tensor that the object owns. One that owns the object is named by it too, for weak references, but it is not the
// object's.
TensorImpl* owned_by(const PyTensor* o) {
  TensorImpl* impl = o->tensor.impl();
  return impl && impl->flags & kOwnsFace ? nullptr : impl;
}

void forget_hooks(std::vector<Hook>& hooks, Owned& owned) {
  const std::vector<Hook> last = std::move(hooks);  // what goes with them may come back here
  const Owned objects = std::move(owned);
  hooks.clear();
  owned.clear();
}

}  // namespace

void dealloc(PyObject* self) {
  auto* o = reinterpret_cast<PyTensor*>(self);
  PyTypeObject* type = Py_TYPE(self);
  TensorImpl* impl = o->tensor.impl();
  if (impl && impl->refs.load() > 1 && (o->attributes || impl->flags & kParameter) &&
      (type == tensor_type || type == parameter_type)) {
    Py_SET_REFCNT(self, 1);
    impl->flags |= kOwnsFace;
    const Tensor last = Tensor::adopt(impl);  // the object's reference to it, not its name
    return;
  }
  PyObject_GC_UnTrack(self);
  if (o->weak_references) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->attributes);
  if (impl) impl->face = nullptr;
  o->tensor.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* o = reinterpret_cast<PyTensor*>(self);
  const TensorImpl* impl = owned_by(o);
  if (impl && impl->refs.load() > 1) return 0;  // C++ has the tensor too: its attributes stay
  Py_VISIT(o->attributes);
  return impl ? visit_owned(*impl, visit, arg) : 0;
}
int clear(PyObject* self) {
  auto* o = reinterpret_cast<PyTensor*>(self);
  Py_CLEAR(o->attributes);
  TensorImpl* impl = owned_by(o);
  if (!impl || impl->refs.load() != 1) return 0;
  if (impl->meta) forget_hooks(impl->meta->hooks, impl->meta->owned);
  if (impl->node && impl->node->refs.load() == 1 && impl->node->extra) delete std::exchange(impl->node->extra, nullptr);
  return 0;
}
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const int r = PyObject_GenericSetAttr(self, name, value);
  if (reinterpret_cast<PyTensor*>(self)->attributes) track(self);
  return r;
}
PyObject* get_dict(PyObject* self, void* context) {
  PyObject* dict = PyObject_GenericGetDict(self, context);
  if (reinterpret_cast<PyTensor*>(self)->attributes) track(self);
  return dict;
}
int set_dict(PyObject* self, PyObject* value, void* context) {
  const int r = PyObject_GenericSetDict(self, value, context);
  if (reinterpret_cast<PyTensor*>(self)->attributes) track(self);
  return r;
}
void release_face(void* face) noexcept {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  auto* o = static_cast<PyTensor*>(face);
  if (TensorImpl* impl = o->tensor.impl();
      Py_REFCNT(o) > 1) {  // by a weak reference somebody has it: the name becomes a reference
    impl->flags &= uint8_t(~kOwnsFace);
    impl->refs.store(1);
  } else {
    new (&o->tensor) Tensor;
  }
  Py_DECREF(reinterpret_cast<PyObject*>(o));
  PyGILState_Release(state);
}

}  // namespace life
}  // namespace dyadic::inline v1::python
