// Memory shared with numpy and other users of Python's buffer protocol, in both directions.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "object.h"

namespace dyadic::inline v1::python {
namespace {

void drop_buffer(void* context) {
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  auto* view = static_cast<Py_buffer*>(context);
  PyBuffer_Release(view);
  delete view;
  PyGILState_Release(state);
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  PyObject* r = guarded([&] {
    const Tensor& t = tensor_of(self);
    const TensorImpl& i = *t.impl();
    const char* format = buffer_format(i.dtype);
    auto refuse = [&](const char* why) {
      PyErr_Format(PyExc_BufferError, "%s: self is %s", why, describe(t).c_str());
      throw PythonError();
    };
    if (!format) refuse("buffer: the dtype has no buffer format; convert it first, as in .float()");
    if (!t.device().is_cpu()) refuse("buffer: the tensor has no data on the host; cpu() brings it");
    if (t.requires_grad()) refuse("buffer: the tensor requires grad; detach() it first");
    const bool read_only = i.storage->read_only;
    if ((flags & PyBUF_WRITABLE) && read_only) refuse("buffer: a file mapped to be read; clone() it to write");
    if (!(flags & PyBUF_STRIDES) && !t.is_contiguous()) refuse("buffer: not contiguous; contiguous() makes it so");
    auto* dims = static_cast<Py_ssize_t*>(std::malloc(sizeof(Py_ssize_t) * size_t(2 * i.ndim + 1)));
    if (!dims) throw std::bad_alloc();
    Py_ssize_t size = Py_ssize_t(i.dtype.itemsize());
    for (int d = 0; d < i.ndim; ++d) {
      dims[d] = Py_ssize_t(i.sizes[d]);
      dims[i.ndim + d] = Py_ssize_t(i.strides[d]) * size;
    }
    *view = Py_buffer{};
    view->buf = t.data_ptr();
    i.storage->lent = true;
    view->obj = Py_NewRef(self);
    view->len = Py_ssize_t(i.numel) * size;
    view->itemsize = size;
    view->ndim = i.ndim;
    view->readonly = read_only;
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = flags & PyBUF_ND ? dims : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims + i.ndim : nullptr;
    view->internal = dims;
    return Py_NewRef(Py_None);
  });
  Py_XDECREF(r);
  return r ? 0 : -1;
}
void release_buffer(PyObject*, Py_buffer* view) { std::free(view->internal); }

Tensor share_buffer(PyObject* object) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object, view.get(), PyBUF_STRIDED_RO | PyBUF_FORMAT)) throw PythonError();
  std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> held(view.get(), PyBuffer_Release);
  const Py_buffer& b = *view;
  DType dtype = default_numpy_dtype(b.format);
  DY_CHECK_AS(TypeError, dtype && dtype.itemsize() == b.itemsize, "from_numpy: no dtype for elements of format \"{}\"",
              b.format);
  DY_CHECK_AS(ValueError, b.ndim <= kMaxDims, "from_numpy: too many dimensions: {} given; at most {}", b.ndim, kMaxDims);
  int64_t sizes[kMaxDims], strides[kMaxDims], extent = 1;
  for (int d = 0; d < b.ndim; ++d) {
    sizes[d] = b.shape[d];
    strides[d] = b.strides[d] / b.itemsize;
    DY_CHECK_AS(ValueError, b.strides[d] >= 0 && b.strides[d] % b.itemsize == 0,
                "from_numpy: a stride is negative or not a multiple of the element: {} bytes in dimension {}; copy the array",
                b.strides[d], d);
    extent = sizes[d] == 0 || extent == 0 ? 0 : extent + (sizes[d] - 1) * strides[d];
  }
  DY_CHECK_AS(ValueError, reinterpret_cast<uintptr_t>(b.buf) % uintptr_t(b.itemsize) == 0 || extent == 0,
              "from_numpy: the array's memory is not aligned to its elements; copy the array");
  int64_t flat[] = {extent};
  Tensor memory = make_foreign(b.buf, flat, dtype, drop_buffer, view.get());
  memory.impl()->storage->read_only = b.readonly;
  memory.impl()->storage->lent = true;
  held.release();
  view.release();
  return make_view(memory, {sizes, size_t(b.ndim)}, {strides, size_t(b.ndim)}, 0);
}

}  // namespace dyadic::inline v1::python
