// Files of tensors of any kind for Python, lazily: serialization.open.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dyadic/tensor_file.h"
#include "object.h"

namespace dyadic::inline v1::python {

void add_tensor_files(nb::module_& m) {
  nb::class_<io::TensorFile>(m, "_TensorFile")
      .def_prop_ro("kind", [](const io::TensorFile& f) { return std::string(f.kind()); })
      .def("metadata", &io::TensorFile::metadata)
      .def(
          "has", [](const io::TensorFile& f, const std::string& name) { return f.has(name); }, nb::arg("name"))
      .def("names",
           [](const io::TensorFile& f) {
             std::vector<std::string> all;
             for (const io::TensorInfo& t : f.tensors()) all.push_back(t.name);
             return all;
           })
      .def(
          "get",
          [](const io::TensorFile& f, const std::string& name) {
            Tensor t;
            {
              Unlocked unlocked;
              t = f.get(name);
            }
            return nb::steal(wrap(t));
          },
          nb::arg("name"));
  m.def(
      "_open_tensors",
      [](const std::filesystem::path& path) {
        Unlocked unlocked;
        return io::open(path.native());
      },
      nb::arg("path"), "A file of tensors, whatever its kind.");
}

}  // namespace dyadic::inline v1::python
