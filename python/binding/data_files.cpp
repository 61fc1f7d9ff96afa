// Readers of data files for Python, and the datasets over them.
#include "dyadic/data_files.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "data.h"
#include "dyadic/numpy_file.h"

namespace dyadic::inline v1::python {
namespace {

using namespace data;
using Path = std::filesystem::path;  // a text or anything that os.fspath takes

// Readers work without the GIL.
template <class F> auto reader(F read) {
  return [read](const Path& path) {
    Unlocked unlocked;
    return read(path.native());
  };
}

void add_readers(nb::module_& m) {
  m.def(
      "read_csv",
      [](const Path& path, const std::string& delimiter, int64_t skip_rows, std::optional<DType> dtype) {
        DY_CHECK_AS(ValueError, delimiter.size() == 1, "read_csv: the delimiter is one character: it is \"{}\"", delimiter);
        Unlocked unlocked;
        return read_csv(path.native(), {delimiter[0], skip_rows, dtype.value_or(default_dtype())});
      },
      nb::arg("path"), nb::arg("delimiter") = ",", nb::arg("skip_rows") = 0, nb::arg("dtype") = nb::none(),
      "The numbers of a CSV file, plain or gzip: [rows, columns]. Empty fields are NaN; skip_rows passes over a header.");
  m.def("read_idx", reader(read_idx), nb::arg("path"), "An array in IDX format (MNIST and its family), plain or gzip.");
  m.def("load_npy", reader(load_npy), nb::arg("path"), "An array that numpy.save wrote.");
  m.def("save_npy", [](const Path& path, const Tensor& t) { save_npy(path.native(), t); }, nb::arg("path"), nb::arg("tensor"));
  m.def(
      "load_npz",
      [](const Path& path) {
        io::NamedTensors all;
        {
          Unlocked unlocked;
          all = io::load_npz(path.native());
        }
        nb::dict out;
        for (auto& [name, t] : all) out[nb::str(name.c_str(), name.size())] = t;
        return out;
      },
      nb::arg("path"), "The arrays that numpy.savez or savez_compressed wrote, by name.");
  m.def(
      "save_npz",
      [](const Path& path, nb::dict tensors, bool compressed) {
        io::NamedTensors all;
        for (auto [name, t] : tensors) all.emplace_back(nb::cast<std::string>(name), nb::cast<Tensor>(t));
        Unlocked unlocked;
        io::save_npz(path.native(), all, {.compressed = compressed});
      },
      nb::arg("path"), nb::arg("tensors"), nb::arg("compressed") = false, "Writes tensors by name as numpy.load reads them.");
  m.def(
      "read_text",
      [](const Path& path) {
        const std::string s = read_text(path.native());
        return nb::str(s.c_str(), s.size());
      },
      nb::arg("path"), "A text file, plain or gzip.");
}

}  // namespace

void add_data_files(nb::module_& m) {
  add_readers(m);
  nb::class_<TextLines, IterableDataset>(m, "TextLines", "The lines of a text file, plain or gzip.")
      .def(
          "__init__", [](TextLines* self, const Path& path) { new (self) TextLines(path.native()); }, nb::arg("path"))
      .def("__iter__", [](TextLines& d) { return std::make_unique<Samples>(Samples{d.iter()}); });
  bind_dataset<TokenDataset, visit_nothing<TokenDataset>>(
      m, "TokenDataset", "Windows of a mapped file of token ids: sample i is (t[i s : i s + block], the same one further on).")
      .def(
          "__init__",
          [](TokenDataset* self, nb::object tokens, int64_t block, DType dtype, std::optional<int64_t> stride) {
            if (is_tensor(tokens.ptr()))
              new (self) TokenDataset(tensor_of(tokens.ptr()), block, stride);
            else
              new (self) TokenDataset(nb::cast<Path>(tokens).native(), block, dtype, stride);
          },
          nb::arg("tokens"), nb::arg("block_size"), nb::arg("dtype") = u16, nb::arg("stride") = nb::none());
}

}  // namespace dyadic::inline v1::python
