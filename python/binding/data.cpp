// dyadic.utils.data: datasets, collation. Samplers and the loader: data_loader.cpp.
#include "data.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace dyadic::inline v1::python {
namespace {

using namespace data;

// Python derives from these; what it overrides is reached by adapters (data_objects.cpp), so that __init__ need not be called.
struct Plain : Dataset {
  int64_t size() override { fail<TypeError>("Dataset: __len__ is not defined"); }
  Value get(int64_t) override { fail<TypeError>("Dataset: __getitem__ is not defined"); }
};
struct PlainIterable : IterableDataset {
  std::unique_ptr<ValueStream> iter() override { fail<TypeError>("IterableDataset: __iter__ is not defined"); }
};
static_assert(sizeof(Plain) == sizeof(Dataset) && sizeof(PlainIterable) == sizeof(IterableDataset));

std::vector<std::shared_ptr<Dataset>> read_datasets(nb::handle list) {
  std::vector<std::shared_ptr<Dataset>> out;
  for (nb::handle d : list) out.push_back(read_dataset(d));
  return out;
}
std::vector<std::shared_ptr<IterableDataset>> read_iterables(nb::handle list) {
  std::vector<std::shared_ptr<IterableDataset>> out;
  for (auto& d : read_datasets(list)) {
    auto i = std::dynamic_pointer_cast<IterableDataset>(d);
    DY_CHECK_AS(TypeError, i, "ChainDataset: only IterableDatasets can be chained");
    out.push_back(i);
  }
  return out;
}

nb::object tensor_rows(TensorDataset& d, nb::object key) {
  if (nb::isinstance<nb::int_>(key)) return to_object(d[nb::cast<int64_t>(key)], true);
  nb::list parts;
  for (const Tensor& t : d.tensors()) parts.append(read_index(t, key.ptr()));
  return nb::tuple(parts);
}

int visit_subset(const Subset& s, visitproc visit, void* arg) { return visit_sole_owner(s.dataset(), visit, arg); }
template <class D> int visit_parts(const D& d, visitproc visit, void* arg) {
  for (auto& part : d.datasets())
    if (int stop = visit_sole_owner(part, visit, arg)) return stop;
  return 0;
}

void add_iterables(nb::module_& m) {
  nb::class_<Samples>(m, "_Samples")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", [](Samples& s) {
        Value v;
        if (!s.stream->next(v)) throw nb::stop_iteration();
        return to_object(v, true);
      });
  nb::class_<IterableDataset, Dataset>(
      m, "IterableDataset",
      "Samples one after the other: __iter__ is yours to define. One worker at a time reads it, in "
      "order, whatever num_workers is.")
      .def("__init__", [](IterableDataset* self) { new (self) PlainIterable(); })
      .def("__add__", [](nb::handle self, nb::handle other) {
        return std::make_shared<ChainDataset>(read_iterables(nb::make_tuple(self, other)));
      });
  nb::class_<ChainDataset, IterableDataset>(m, "ChainDataset", "One IterableDataset after the other.",
                                            collected<ChainDataset, visit_parts<ChainDataset>>())
      .def(
          "__init__", [](ChainDataset* self, nb::handle datasets) { new (self) ChainDataset(read_iterables(datasets)); },
          nb::arg("datasets"))
      .def("__len__", [](ChainDataset& d) { return d.size(); })
      .def("__iter__", [](ChainDataset& d) { return Samples{d.iter()}; });
}

void add_datasets(nb::module_& m) {
  nb::class_<Dataset>(m, "Dataset", "Samples by index: __getitem__ and __len__ are yours to define.")
      .def("__init__", [](Dataset* self) { new (self) Plain(); })
      .def("__add__", [](nb::handle self, nb::handle other) {
        return std::make_shared<ConcatDataset>(std::vector{read_dataset(self), read_dataset(other)});
      });
  bind_dataset<TensorDataset, visit_nothing<TensorDataset>>(m, "TensorDataset", "Rows of tensors: sample i is (t[i], ...).")
      .def("__init__",
           [](TensorDataset* self, nb::args tensors) {
             std::vector<Tensor> all;
             for (nb::handle t : tensors) all.push_back(nb::cast<Tensor>(t));
             new (self) TensorDataset(std::move(all));
           })
      .def("__getitem__", tensor_rows, nb::arg("index"))
      .def_prop_ro("tensors", [](TensorDataset& d) {
        nb::list all;
        for (const Tensor& t : d.tensors()) all.append(t);
        return nb::tuple(all);
      });
  bind_dataset<Subset, visit_subset>(m, "Subset", "The samples of a dataset at some indices.")
      .def(
          "__init__",
          [](Subset* self, nb::handle dataset, std::vector<int64_t> indices) {
            new (self) Subset(read_dataset(dataset), std::move(indices));
          },
          nb::arg("dataset"), nb::arg("indices"))
      .def_prop_ro("dataset", [](Subset& s) { return dataset_object(s.dataset()); })
      .def_prop_ro("indices", &Subset::indices);
  bind_dataset<ConcatDataset, visit_parts<ConcatDataset>>(m, "ConcatDataset", "One dataset after the other.")
      .def(
          "__init__", [](ConcatDataset* self, nb::handle datasets) { new (self) ConcatDataset(read_datasets(datasets)); },
          nb::arg("datasets"))
      .def_prop_ro("datasets",
                   [](ConcatDataset& c) {
                     nb::list all;
                     for (auto& d : c.datasets()) all.append(dataset_object(d));
                     return all;
                   })
      .def_prop_ro("cumulative_sizes", &ConcatDataset::cumulative_sizes);
}

nb::list split(nb::handle dataset, nb::sequence lengths, nb::object generator) {
  std::vector<double> fractions;
  std::vector<int64_t> counts;
  bool whole = true;
  for (nb::handle l : lengths) {
    whole = whole && nb::isinstance<nb::int_>(l);
    fractions.push_back(nb::cast<double>(l));
  }
  for (double f : fractions) counts.push_back(int64_t(f));
  const auto d = read_dataset(dataset);
  const auto g = read_generator(generator);
  nb::list parts;  // each with a reference of its own, for the garbage collector
  for (auto& part : whole ? random_split(d, counts, g) : random_split(d, fractions, g))
    parts.append(nb::cast(std::make_shared<Subset>(read_dataset(dataset), part->indices())));
  return parts;
}

}  // namespace

void add_data(nb::module_& m) {
  nb::module_ d = m.def_submodule("_data", "What dyadic.utils.data is made of.");
  add_datasets(d);
  add_iterables(d);
  d.def("random_split", split, nb::arg("dataset"), nb::arg("lengths"), nb::arg("generator") = nb::none(),
        "Parts in random order that do not overlap: of these sizes, or of these fractions.");
  d.def(
      "default_collate", [](nb::handle batch) { return to_object(default_collate(read_samples(batch)), false); },
      nb::arg("batch"), "Samples to a batch: tensors stacked, numbers a tensor, lists, tuples and dicts entry by entry.");
  d.def(
      "default_convert", [](nb::object data) { return to_object(default_convert(foreign_value(data)), false); },
      nb::arg("data"), "A sample as it comes without batching: arrays as tensors.");
  add_samplers(d);
  add_loader(d);

  for (const char* name : {"Dataset", "IterableDataset", "Sampler", "DataLoader"}) make_generic(d.attr(name));
  add_data_files(d);
  add_images(d);
}

}  // namespace dyadic::inline v1::python
