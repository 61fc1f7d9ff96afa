// dyadic.sparse: what dyadic/sparse.py's tensors hold.
#include "dyadic/sparse.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "object.h"

namespace dyadic::inline v1::python {
namespace {

// A size or None. As std::optional<std::vector> g++ 12 takes it for uninitialized.
std::vector<int64_t> sizes_of(nb::handle o) { return o.is_none() ? std::vector<int64_t>() : nb::cast<std::vector<int64_t>>(o); }
std::optional<IntList> list_of(nb::handle o, const std::vector<int64_t>& sizes) {
  return o.is_none() ? std::nullopt : std::optional<IntList>(sizes);
}

Scalar number(nb::handle o) {
  const std::optional<Scalar> s = read_number(o.ptr());
  DY_CHECK_AS(TypeError, s, "sparse: it is a number: it is {}", Py_TYPE(o.ptr())->tp_name);
  return *s;
}

}  // namespace

void add_sparse(nb::module_& m) {
  nb::module_ s = m.def_submodule("_sparse", "Tensors of which only some elements are there.");
  nb::class_<SparseTensor>(s, "Parts")
      .def_prop_ro("is_csr", [](const SparseTensor& a) { return a.layout() == SparseLayout::csr; })
      .def_prop_ro("sizes", [](const SparseTensor& a) { return nb::tuple(nb::cast(a.sizes().vec())); })
      .def_prop_ro("sparse_dim", &SparseTensor::sparse_dim)
      .def_prop_ro("is_coalesced", &SparseTensor::is_coalesced)
      .def_prop_ro("values", [](const SparseTensor& a) { return a.values(); })
      .def_prop_ro("indices", [](const SparseTensor& a) { return a.indices(); })
      .def_prop_ro("crow_indices", [](const SparseTensor& a) { return a.crow_indices(); })
      .def_prop_ro("col_indices", [](const SparseTensor& a) { return a.col_indices(); })
      .def("coalesce", &SparseTensor::coalesce)
      .def("with_values", &SparseTensor::with_values, nb::arg("values"))
      .def("to_dense", &SparseTensor::to_dense)
      .def("to_coo", &SparseTensor::to_sparse_coo)
      .def("to_csr", &SparseTensor::to_sparse_csr)
      .def("transpose", &SparseTensor::transpose, nb::arg("dim0"), nb::arg("dim1"))
      .def("__str__", &SparseTensor::str);
  s.def(
      "coo",
      [](const Tensor& indices, const Tensor& values, nb::handle size, bool is_coalesced) {
        return sparse_coo_tensor(indices, values, list_of(size, sizes_of(size)), is_coalesced);
      },
      nb::arg("indices"), nb::arg("values"), nb::arg("size") = nb::none(), nb::arg("is_coalesced") = false);
  s.def(
      "csr",
      [](const Tensor& crow, const Tensor& col, const Tensor& values, nb::handle size) {
        return sparse_csr_tensor(crow, col, values, list_of(size, sizes_of(size)));
      },
      nb::arg("crow_indices"), nb::arg("col_indices"), nb::arg("values"), nb::arg("size") = nb::none());
  s.def("of_dense", to_sparse, nb::arg("dense"), nb::arg("sparse_dim") = nb::none());
  s.def("mm", nb::overload_cast<const SparseTensor&, const Tensor&>(sparse::mm), nb::arg("a"), nb::arg("b"));
  s.def("mm_sparse", nb::overload_cast<const SparseTensor&, const SparseTensor&>(sparse::mm), nb::arg("a"), nb::arg("b"));
  s.def(
      "add", [](const SparseTensor& a, const SparseTensor& b, nb::handle alpha) { return sparse::add(a, b, number(alpha)); },
      nb::arg("a"), nb::arg("b"), nb::arg("alpha"));
  s.def("softmax", sparse::softmax, nb::arg("a"), nb::arg("dim"), nb::arg("logarithm"));
  s.def("sum", sparse::sum, nb::arg("a"), nb::arg("dim"));
  s.def("gather", sparse::gather, nb::arg("a"), nb::arg("dense"));
  s.def(
      "sampled_addmm",
      [](const SparseTensor& a, const Tensor& b, const Tensor& c, nb::handle beta, nb::handle alpha) {
        return sparse::sampled_addmm(a, b, c, number(beta), number(alpha));
      },
      nb::arg("a"), nb::arg("b"), nb::arg("c"), nb::arg("beta"), nb::arg("alpha"));
}

}  // namespace dyadic::inline v1::python
