// Samplers and the DataLoader for Python.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "base/workers.h"
#include "data.h"
#include "ignored.h"

namespace dyadic::inline v1::python {
namespace {

using namespace data;

struct PlainSampler : Sampler {
  std::unique_ptr<IndexStream> iter() override { fail<TypeError>("Sampler: __iter__ is not defined"); }
  int64_t size() override { fail<TypeError>("Sampler: __len__ is not defined"); }
};
static_assert(sizeof(PlainSampler) == sizeof(Sampler));

struct Indices {
  std::unique_ptr<IndexStream> stream;
};
struct Batches {
  std::unique_ptr<BatchStream> stream;
};

template <class S> int visit_members(const S& s, visitproc visit, void* arg) {
  if constexpr (requires { s.dataset(); }) return visit_sole_owner(s.dataset(), visit, arg);
  return 0;
}
int visit_sampler(const BatchSampler& s, visitproc visit, void* arg) { return visit_sole_owner(s.sampler(), visit, arg); }

// Samplers that Python made remember what it asks them for.
struct GivenRandomSampler : RandomSampler {
  bool replacement;
  std::optional<int64_t> num_samples;
  GivenRandomSampler(std::shared_ptr<data::Dataset> d, bool r, std::optional<int64_t> n, Generators g)
      : RandomSampler(std::move(d), r, n, std::move(g)), replacement(r), num_samples(n) {}
};
struct GivenSequentialSampler : SequentialSampler {
  std::shared_ptr<data::Dataset> source;
  explicit GivenSequentialSampler(nb::handle o) : SequentialSampler(int64_t(nb::len(o))), source(read_dataset(o)) {}
};

template <class S, class... As> auto bind_sampler(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<S, Sampler, As...>(m, name, doc, collected<S, visit_members<S>>())
      .def("__len__", [](S& s) { return s.size(); })
      .def("__iter__", [](S& s) { return std::make_unique<Indices>(Indices{s.iter()}); })
      .def_prop_ro("generator", [](S& s) { return s.generator(); });
}

std::vector<double> read_weights(nb::handle weights) {
  return is_tensor(weights.ptr()) ? tensor_of(weights.ptr()).to_vector() : nb::cast<std::vector<double>>(weights);
}

void add_random_samplers(nb::module_& m) {
  const auto none = nb::none();
  const auto given = [](RandomSampler& s) { return dynamic_cast<GivenRandomSampler*>(&s); };
  bind_sampler<RandomSampler, GivenRandomSampler>(m, "RandomSampler", "Indices in random order, a new one each epoch.")
      .def(
          "__init__",
          [](RandomSampler* self, nb::handle source, bool replacement, std::optional<int64_t> n, nb::object g) {
            new (self) GivenRandomSampler(read_dataset(source), replacement, n, read_generator(g));
          },
          nb::arg("data_source"), nb::arg("replacement") = false, nb::arg("num_samples") = none, nb::arg("generator") = none)
      .def_prop_ro("data_source", [](RandomSampler& s) { return dataset_object(s.dataset()); })
      .def_prop_rw(
          "generator", [](RandomSampler& s) { return s.generator(); },
          [=](RandomSampler& s, nb::object g) {
            const auto n = given(s) ? given(s)->num_samples : std::optional<int64_t>(s.size());
            s = RandomSampler(s.dataset(), given(s) && given(s)->replacement, n, read_generator(g));
          },
          nb::arg("value").none())
      .def_prop_ro("replacement", [=](RandomSampler& s) { return given(s) && given(s)->replacement; })
      .def_prop_ro("_num_samples",
                   [=](RandomSampler& s) { return given(s) ? given(s)->num_samples : std::optional<int64_t>(); })
      .def_prop_ro("num_samples", &RandomSampler::size);
  bind_sampler<SubsetRandomSampler>(m, "SubsetRandomSampler", "Given indices in random order.")
      .def(
          "__init__",
          [](SubsetRandomSampler* self, std::vector<int64_t> indices, nb::object g) {
            new (self) SubsetRandomSampler(std::move(indices), read_generator(g));
          },
          nb::arg("indices"), nb::arg("generator") = none);
  bind_sampler<WeightedRandomSampler>(m, "WeightedRandomSampler", "Index i with probability weights[i] / sum(weights).")
      .def(
          "__init__",
          [](WeightedRandomSampler* self, nb::handle weights, int64_t n, bool replacement, nb::object g) {
            new (self) WeightedRandomSampler(read_weights(weights), n, replacement, read_generator(g));
          },
          nb::arg("weights"), nb::arg("num_samples"), nb::arg("replacement") = true, nb::arg("generator") = none)
      .def_prop_ro("num_samples", &WeightedRandomSampler::size);
  bind_sampler<DistributedSampler>(m, "DistributedSampler", "Each of num_replicas processes gets its share of the indices.")
      .def(
          "__init__",
          [](DistributedSampler* self, nb::handle dataset, int64_t replicas, int64_t rank, bool shuffle, uint64_t seed,
             bool drop_last) {
            new (self) DistributedSampler(read_dataset(dataset), replicas, rank, shuffle, seed, drop_last);
          },
          nb::arg("dataset"), nb::arg("num_replicas") = 1, nb::arg("rank") = 0, nb::arg("shuffle") = true, nb::arg("seed") = 0,
          nb::arg("drop_last") = false)
      .def("set_epoch", &DistributedSampler::set_epoch, nb::arg("epoch"));
}

// What is waited for: without the GIL, ten times a second looking for Ctrl-C.
void check_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals()) throw nb::python_error();
}

class PyEpoch {
  std::unique_ptr<Epoch> epoch_;
  nb::object loader_;

 public:
  PyEpoch(std::unique_ptr<Epoch> epoch, nb::object loader) : epoch_(std::move(epoch)), loader_(std::move(loader)) {}
  ~PyEpoch() {
    Unlocked unlocked;  // workers may need the GIL to end
    epoch_.reset();
  }
  nb::object next() {
    std::optional<Value> batch;
    {
      nb::gil_scoped_release released;
      batch = epoch_->next(check_signals);
    }
    if (!batch) throw nb::stop_iteration();
    return to_object(*batch, false);
  }
  static int visit(const PyEpoch& e, visitproc visit, void* arg) {
    Py_VISIT(e.loader_.ptr());
    return 0;
  }
};

using Function = std::shared_ptr<Held>;
struct PyLoader {
  std::unique_ptr<DataLoader> loader;
  Function collate_fn, worker_init_fn;
  nb::object generator;
  bool pin_memory = false;
  ~PyLoader() {
    Unlocked unlocked;
    loader.reset();
  }
  static int visit(const PyLoader& l, visitproc visit, void* arg) {
    if (!l.loader) return 0;
    if (int stop = visit_owner(l.loader->dataset(), visit, arg)) return stop;
    if (int stop = visit_owner(l.loader->sampler(), visit, arg)) return stop;
    if (int stop = visit_owner(l.loader->batch_sampler(), visit, arg)) return stop;
    Py_VISIT(l.collate_fn->get().ptr());
    Py_VISIT(l.worker_init_fn->get().ptr());
    return 0;
  }
};

Callback<Value(std::vector<Value>)> call_collate(Function f, bool batched) {
  if (f->get().is_none()) return {};
  return [f, batched](std::vector<Value> samples) {
    return calling_python([&] {
      if (!batched) return foreign_value(f->get()(to_object(samples[0], true)));
      nb::list batch;
      for (const Value& v : samples) batch.append(to_object(v, true));
      return foreign_value(f->get()(batch));
    });
  };
}
Callback<void(int)> call_init(Function f) {
  if (f->get().is_none()) return {};
  return [f](int worker) { calling_python([&] { f->get()(worker); }); };
}

void make_loader(PyLoader* self, nb::handle dataset, std::optional<int64_t> batch_size, std::optional<bool> shuffle,
                 nb::object sampler, nb::object batch_sampler, int num_workers, nb::object collate_fn, bool pin_memory,
                 bool drop_last, double timeout, nb::object worker_init_fn, nb::object, nb::object generator,
                 std::optional<int> prefetch_factor, bool persistent_workers, const std::string&, bool) {
  DataLoaderOptions o;
  Function collate = std::make_shared<Held>(collate_fn), init = std::make_shared<Held>(worker_init_fn);
  o.batch_size = batch_size;
  o.shuffle = shuffle.value_or(false);
  o.sampler = read_sampler(sampler);
  o.batch_sampler = read_batch_sampler(batch_sampler);
  o.num_workers = num_workers;
  o.collate_fn = call_collate(collate, batch_size.has_value());
  o.drop_last = drop_last;
  o.timeout = timeout;
  o.worker_init_fn = call_init(init);
  o.generator = read_generator(generator);
  o.prefetch_factor = prefetch_factor;
  o.persistent_workers = persistent_workers;
  auto loader = std::make_unique<DataLoader>(read_dataset(dataset), std::move(o));
  if (collate_fn.is_none()) {
    nb::object module = nb::module_::import_("dyadic._dyadic").attr("_data");
    collate = std::make_shared<Held>(module.attr(batch_size ? "default_collate" : "default_convert"));
  }
  new (self) PyLoader{std::move(loader), collate, init, generator, pin_memory};
}

void add_loader_class(nb::module_& m) {
  const auto none = nb::none();
  auto option = [](auto get) { return [get](PyLoader& l) { return get(l.loader->options()); }; };
  nb::class_<PyLoader>(
      m, "DataLoader",
      "Batches of a dataset. Their order, their contents and the random numbers drawn for them are the same for "
      "any number of workers, which are threads.",
      nb::dynamic_attr(), collected<PyLoader, PyLoader::visit>())
      .def("__init__", make_loader, nb::arg("dataset"), nb::arg("batch_size") = 1, nb::arg("shuffle") = none,
           nb::arg("sampler") = none, nb::arg("batch_sampler") = none, nb::arg("num_workers") = 0, nb::arg("collate_fn") = none,
           ignored({"utils.data.DataLoader", "pin_memory", "there is one device"}) = false, nb::arg("drop_last") = false,
           nb::arg("timeout") = 0.0, nb::arg("worker_init_fn") = none,
           ignored({"utils.data.DataLoader", "multiprocessing_context", "workers are threads"}) = none,
           nb::arg("generator") = none, nb::kw_only(), nb::arg("prefetch_factor") = none, nb::arg("persistent_workers") = false,
           ignored({"utils.data.DataLoader", "pin_memory_device", "there is one device"}) = "",
           ignored({"utils.data.DataLoader", "in_order", "batches always come in their order"}) = true)
      .def("__len__", [](PyLoader& l) { return l.loader->size(); })
      .def("__iter__",
           [](nb::handle self) {
             DataLoader& loader = *nb::cast<PyLoader&>(self).loader;
             std::unique_ptr<Epoch> epoch;
             {
               nb::gil_scoped_release released;
               epoch = loader.iter();
             }
             return std::make_unique<PyEpoch>(std::move(epoch), nb::borrow(self));
           })
      .def(
          "state_dict", [](PyLoader& l) { return l.loader->state_dict(); },
          "Where the loader is: with load_state_dict, the next epoch is what is left of this one.")
      .def(
          "load_state_dict", [](PyLoader& l, const LoaderState& s) { l.loader->load_state_dict(s); }, nb::arg("state_dict"))
      .def_prop_ro("dataset", [](PyLoader& l) { return dataset_object(l.loader->dataset()); })
      .def_prop_ro("sampler", [](PyLoader& l) { return sampler_object(l.loader->sampler()); })
      .def_prop_ro("batch_sampler", [](PyLoader& l) { return batch_sampler_object(l.loader->batch_sampler()); })
      .def_prop_ro("batch_size",
                   [](PyLoader& l) {
                     auto& o = l.loader->options();
                     return o.batch_sampler ? std::optional<int64_t>() : o.batch_size;
                   })
      .def_prop_ro("num_workers", option([](auto& o) { return o.num_workers; }))
      .def_prop_ro("drop_last", option([](auto& o) { return o.drop_last; }))
      .def_prop_ro("timeout", option([](auto& o) { return o.timeout; }))
      .def_prop_ro("prefetch_factor",
                   option([](auto& o) { return o.num_workers ? std::optional(o.prefetch_factor.value_or(2)) : std::nullopt; }))
      .def_prop_ro("persistent_workers", option([](auto& o) { return o.persistent_workers; }))
      .def_prop_ro("collate_fn", [](PyLoader& l) { return nb::borrow(l.collate_fn->get()); })
      .def_prop_ro("worker_init_fn", [](PyLoader& l) { return nb::borrow(l.worker_init_fn->get()); })
      .def_ro("generator", &PyLoader::generator)
      .def_ro("pin_memory", &PyLoader::pin_memory);
  nb::class_<PyEpoch>(m, "_Epoch", collected<PyEpoch, PyEpoch::visit>())
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &PyEpoch::next);
}

}  // namespace

void add_samplers(nb::module_& m) {
  auto itself = [](nb::handle self) { return nb::borrow(self); };
  nb::class_<Indices>(m, "_Indices").def("__iter__", itself).def("__next__", [](Indices& s) {
    int64_t i;
    if (!s.stream->next(i)) throw nb::stop_iteration();
    return i;
  });
  nb::class_<Batches>(m, "_Batches").def("__iter__", itself).def("__next__", [](Batches& s) {
    std::vector<int64_t> batch;
    if (!s.stream->next(batch)) throw nb::stop_iteration();
    return batch;
  });
  nb::class_<Sampler>(m, "Sampler", "The indices of an epoch: __iter__, and __len__ where it is known, are yours to define.")
      .def(
          "__init__", [](Sampler* self, nb::object) { new (self) PlainSampler(); },
          ignored({"utils.data.Sampler", "data_source", "a sampler of your own keeps what it needs"}) = nb::none());
  bind_sampler<SequentialSampler, GivenSequentialSampler>(m, "SequentialSampler", "Indices in order.")
      .def(
          "__init__", [](SequentialSampler* self, nb::handle source) { new (self) GivenSequentialSampler(source); },
          nb::arg("data_source"))
      .def_prop_ro("data_source", [](SequentialSampler& s) {
        auto* given = dynamic_cast<GivenSequentialSampler*>(&s);
        return given ? dataset_object(given->source) : nb::none();
      });
  add_random_samplers(m);
  nb::class_<BatchSampler>(m, "BatchSampler", "Runs of batch_size indices of a sampler.",
                           collected<BatchSampler, visit_sampler>())
      .def(
          "__init__",
          [](BatchSampler* self, nb::handle sampler, int64_t batch_size, bool drop_last) {
            new (self) BatchSampler(read_sampler(sampler), batch_size, drop_last);
          },
          nb::arg("sampler"), nb::arg("batch_size"), nb::arg("drop_last"))
      .def("__len__", [](BatchSampler& s) { return s.size(); })
      .def("__iter__", [](BatchSampler& s) { return std::make_unique<Batches>(Batches{s.iter()}); })
      .def_prop_rw(
          "sampler", [](BatchSampler& s) { return sampler_object(s.sampler()); },
          [](BatchSampler& s, nb::handle o) { s = BatchSampler(read_sampler(o), s.batch_size(), s.drop_last()); })
      .def_prop_rw("batch_size", &BatchSampler::batch_size,
                   [](BatchSampler& s, int64_t n) { s = BatchSampler(s.sampler(), n, s.drop_last()); })
      .def_prop_rw("drop_last", &BatchSampler::drop_last,
                   [](BatchSampler& s, bool on) { s = BatchSampler(s.sampler(), s.batch_size(), on); });
}

data::DataLoader* read_loader(nb::handle o) {
  return nb::isinstance<PyLoader>(o) ? nb::cast<PyLoader&>(o).loader.get() : nullptr;
}

void add_loader(nb::module_& m) {
  add_loader_class(m);
  nb::class_<WorkerInfo>(m, "WorkerInfo")
      .def_ro("id", &WorkerInfo::id)
      .def_ro("num_workers", &WorkerInfo::num_workers)
      .def_ro("seed", &WorkerInfo::seed)
      .def_prop_ro("dataset", [](WorkerInfo& w) { return dataset_object(w.dataset); })
      .def_prop_ro("worker_method", [](WorkerInfo&) { return "thread"; });
  m.def(
      "get_worker_info",
      []() -> std::optional<WorkerInfo> {
        const WorkerInfo* w = get_worker_info();
        return w ? std::optional(*w) : std::nullopt;
      },
      "In a worker: its id, how many there are, the seed of the epoch plus id, the dataset. None elsewhere.");
  // Before the interpreter goes away, while workers can still take the GIL.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    Unlocked unlocked;
    Workers::stop_all();
  }));
}

}  // namespace dyadic::inline v1::python
