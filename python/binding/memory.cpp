// The memory under tensors: storages, tensors that become other views, files that are mapped, checkpoints.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "corridor/tape.h"
#include "dyadic/checkpoint.h"
#include "dyadic/memmap.h"
#include "io/shared_memory.h"
#include "object.h"
#include "tensor/resize.h"
#include "tensor/transfer.h"

namespace dyadic::inline v1::python {
namespace {

nb::object resized(nb::handle self, nb::args sizes) {
  std::vector<int64_t> list;
  const bool one = sizes.size() == 1 && PySequence_Check(sizes[0].ptr());
  for (nb::handle h : one ? nb::handle(sizes[0]) : nb::handle(sizes)) list.push_back(nb::cast<int64_t>(h));
  const Tensor& t = tensor_of(self.ptr());
  DY_CHECK(!io::is_shared(t) || t.sizes() == IntList(list), "resize_: memory that processes share keeps its size: self is {}",
           describe(t));
  resize("resize_", t, list);
  return nb::borrow(self);
}

Tensor map_file(const std::string& path, nb::object dtype, std::optional<std::vector<int64_t>> shape, const std::string& mode,
                int64_t offset) {
  MemmapOptions o;
  if (!dtype.is_none()) {
    const auto d = read_dtype(dtype.ptr());
    DY_CHECK_AS(TypeError, d, "memmap: an argument has the wrong type: dtype is {}; it takes a dtype",
                Py_TYPE(dtype.ptr())->tp_name);
    o.dtype = *d;
  }
  o.shape = std::move(shape);
  o.mode = mode;
  o.offset = offset;
  return memmap(path, o);
}

// A Python function of tensors; its last reference may go on a thread without the GIL.
std::vector<Tensor> checkpointed(nb::object f, std::vector<Tensor> inputs) {
  std::shared_ptr<void> held(f.release().ptr(), [](void* o) {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    Py_DECREF(static_cast<PyObject*>(o));
  });
  const auto call = [](void* function, const std::vector<Tensor>& x) {
    nb::gil_scoped_acquire gil;
    nb::list args;
    for (const Tensor& t : x) args.append(t);
    nb::object result = nb::handle(static_cast<PyObject*>(function))(*nb::tuple(args));
    std::vector<Tensor> out;
    for (nb::handle h : result) out.push_back(nb::cast<Tensor>(h));
    return out;
  };
  return detail::checkpoint(std::move(held), call, std::move(inputs));
}

// Out of the graph, whatever made it.
nb::object detached(nb::handle self) {
  TensorImpl& t = *tensor_of(self.ptr()).impl();
  drop_base(t);
  if (Node* n = std::exchange(t.node, nullptr)) release(n);
  t.flags &= uint8_t(~kRequiresGrad);
  return nb::borrow(self);
}

}  // namespace

void add_memory(nb::module_& m) {
  const nb::handle type = reinterpret_cast<PyObject*>(tensor_type);
  nb::cpp_function_def(resized, nb::scope(type), nb::name("resize_"), nb::is_method(), nb::arg("sizes"),
                       "Other sizes over the same memory, or over new memory that begins with the same elements.");
  nb::cpp_function_def(detached, nb::scope(type), nb::name("detach_"), nb::is_method(), "Takes self out of its history.");
  m.def("_become", [](const Tensor& t, const Tensor& source) { become_view(t, source); });
  m.def("_storage_row", storage_row, nb::arg("tensor"), nb::arg("dtype"));
  m.def("_same_storage", [](const Tensor& a, const Tensor& b) { return a.impl()->storage == b.impl()->storage; });
  m.def("_set_size_type", [](nb::handle t) { size_type = reinterpret_cast<PyTypeObject*>(t.inc_ref().ptr()); });
  m.def(
      "_share_buffer", [](nb::handle o) { return share_buffer(o.ptr()); },
      "A tensor over the memory of a buffer, which may be read-only.");
  m.def("_memmap", map_file, nb::arg("path"), nb::arg("dtype").none(), nb::arg("shape").none(), nb::arg("mode"),
        nb::arg("offset"));
  m.def("_checkpoint", checkpointed);
  m.def("_share_memory", io::share_memory);
  m.def("_is_shared", io::is_shared);
  m.def("_shared_part", [](const Tensor& t) {
    const io::FilePart p = io::shared_part(t);
    return nb::make_tuple(p.file, p.offset, p.bytes);
  });
  m.def("_map_shared", [](int file, int64_t offset, int64_t bytes) {
    const int64_t shape[] = {bytes};
    return io::map_shared(file, "shared memory", shape, u8, offset);
  });
}

}  // namespace dyadic::inline v1::python
