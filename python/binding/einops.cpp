// dyadic.einops: dimensions by name.
#include "dyadic/einops.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "object.h"

namespace dyadic::inline v1::python {
namespace {

// **axes_lengths as the library takes them; the names live in the keywords.
std::vector<std::pair<std::string_view, int64_t>> sizes_of(const nb::kwargs& given) {
  std::vector<std::pair<std::string_view, int64_t>> sizes;
  for (auto [key, value] : given) {
    Py_ssize_t n;
    const char* name = PyUnicode_AsUTF8AndSize(key.ptr(), &n);
    if (!name) throw PythonError();
    DY_CHECK_AS(TypeError, PyLong_Check(value.ptr()), "einops: the size of \"{}\" is no integer: it is {}", name,
                Py_TYPE(value.ptr())->tp_name);
    sizes.emplace_back(std::string_view(name, size_t(n)), nb::cast<int64_t>(value));
  }
  return sizes;
}

}  // namespace

void add_einops(nb::module_& m) {
  nb::module_ e = m.def_submodule("_einops", "Dimensions by name.");
  e.def(
      "rearrange",
      [](const Tensor& tensor, const std::string& pattern, const nb::kwargs& axes) {
        return rearrange(tensor, pattern, sizes_of(axes));
      },
      nb::arg("tensor"), nb::arg("pattern"), nb::arg("axes_lengths"),
      "rearrange(x, \"b t (h d) -> b h t d\", h=8): the same elements, dimensions split, merged and permuted.");
  e.def(
      "reduce",
      [](const Tensor& tensor, const std::string& pattern, const std::string& reduction, const nb::kwargs& axes) {
        return reduce(tensor, pattern, reduction, sizes_of(axes));
      },
      nb::arg("tensor"), nb::arg("pattern"), nb::arg("reduction"), nb::arg("axes_lengths"),
      "reduce(x, \"b t c -> b c\", \"mean\"): names that are on the left only are reduced.");
  e.def(
      "repeat",
      [](const Tensor& tensor, const std::string& pattern, const nb::kwargs& axes) {
        return repeat(tensor, pattern, sizes_of(axes));
      },
      nb::arg("tensor"), nb::arg("pattern"), nb::arg("axes_lengths"),
      "repeat(x, \"h w -> h w c\", c=3): names and numbers that are on the right only repeat the elements.");
  e.def(
      "parse_shape", [](const Tensor& x, const std::string& pattern) { return parse_shape(x, pattern); }, nb::arg("x"),
      nb::arg("pattern"), "The sizes by name; \"_\" is not wanted.");
  e.def(
      "pack",
      [](const std::vector<Tensor>& tensors, const std::string& pattern) {
        Packed p = pack(tensors, pattern);
        nb::list shapes;
        for (const auto& s : p.shapes) shapes.append(nb::tuple(nb::cast(s)));
        return nb::make_tuple(p.tensor, shapes);
      },
      nb::arg("tensors"), nb::arg("pattern"), "Several tensors as one, joined along \"*\": (tensor, shapes).");
  e.def(
      "unpack",
      [](const Tensor& tensor, const std::vector<std::vector<int64_t>>& shapes, const std::string& pattern) {
        return unpack(tensor, shapes, pattern);
      },
      nb::arg("tensor"), nb::arg("packed_shapes"), nb::arg("pattern"), "What pack has joined, apart again.");
  e.def(
      "einsum",
      [](const nb::args& given) {
        DY_CHECK_AS(TypeError, given.size() >= 2, "einsum: it takes tensors, then the pattern");
        std::vector<Tensor> operands;
        for (size_t i = 0; i + 1 < given.size(); ++i) operands.push_back(nb::cast<Tensor>(given[i]));
        return einsum_named(operands, nb::cast<std::string>(given[given.size() - 1]));
      },
      "einsum(q, k, \"batch i head, batch j head -> batch i j\"): words for letters.");
}

}  // namespace dyadic::inline v1::python
