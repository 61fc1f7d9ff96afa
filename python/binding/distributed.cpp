// What dyadic.distributed is made of: the group of processes that were started together. distributed/ has PyTorch's names.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "data.h"
#include "dyadic/data_parallel.h"
#include "dyadic/fully_shard.h"
#include "nn.h"

namespace dyadic::inline v1::python {
namespace {

using distributed::Group;
using distributed::Reduce;

Reduce read_reduce(const std::string& name) {
  constexpr const char* kNames[] = {"sum", "avg", "product", "min", "max"};
  for (int k = 0; k < 5; ++k)
    if (name == kNames[k]) return Reduce(k);
  fail<ValueError>("distributed: there is no ReduceOp {}; it is SUM, AVG, PRODUCT, MIN or MAX", name);
}

// A call of the world's that waits for other processes.
template <class F> void waiting(F f) {
  Group& group = distributed::world();
  Unlocked unlocked;
  f(group);
}

nb::list all_gather_bytes(nb::bytes mine) {
  std::vector<std::string> all;
  waiting([&, text = std::string_view(mine.c_str(), mine.size())](Group& g) { all = g.all_gather(text); });
  nb::list out;
  for (const std::string& s : all) out.append(nb::bytes(s.data(), s.size()));
  return out;
}

// Tensors and lists, tuples and dicts of them, as C++ has batches.
Value read_batch(nb::handle o) {
  Value v = foreign_value(nb::borrow(o));
  if (v.kind() == Value::Kind::foreign) {
    Value unfolded = v;
    v.foreign()->unfold({&unfolded, 1});
    return unfolded;
  }
  return v;
}

double sharded_backward(distributed::DataParallel& p, nb::handle batch, nb::callable loss, double scale) {
  const Value value = read_batch(batch);
  const data::Callback<Tensor(const Value&)> loss_of = [held = std::make_shared<Held>(loss)](const Value& shard) {
    return calling_python([&] {
      const nb::object result = held->get()(to_object(shard, false));
      DY_CHECK_AS(TypeError, is_tensor(result.ptr()), "DataParallel.backward: the loss is a {}, not a tensor",
                  Py_TYPE(result.ptr())->tp_name);
      return tensor_of(result.ptr());
    });
  };
  Unlocked unlocked;
  return p.backward(value, loss_of, scale);
}

nn::NamedTensors unnamed(nb::list params) {
  nn::NamedTensors all;
  for (nb::handle p : params) all.emplace_back("", tensor_of(p.ptr()));
  return all;
}

}  // namespace

void add_distributed(nb::module_& m) {
  using distributed::DataParallel;
  using distributed::GradientMean;
  nb::module_ d = m.def_submodule("_distributed", "What dyadic.distributed is made of.");
  d.def("launched", distributed::launched);
  d.def("rank", [] { return distributed::world().rank(); });
  d.def("size", [] { return distributed::world().size(); });
  d.def("finish", [] { distributed::finish(); });
  d.def("set_timeout", distributed::set_timeout);
  d.def("barrier", [] { waiting([](Group& g) { g.barrier(); }); });
  d.def("broadcast", [](const Tensor& t, int root) { waiting([&](Group& g) { g.broadcast(t, root); }); });
  d.def("all_reduce",
        [](const Tensor& t, const std::string& how) { waiting([&, r = read_reduce(how)](Group& g) { g.all_reduce(t, r); }); });
  d.def("all_gather", [](const Tensor& all, const Tensor& t) { waiting([&](Group& g) { g.all_gather(all, t); }); });
  d.def("reduce_scatter", [](const Tensor& t, const Tensor& all, const std::string& how) {
    waiting([&, r = read_reduce(how)](Group& g) { g.reduce_scatter(t, all, r); });
  });
  d.def("all_to_all", [](const Tensor& to, const Tensor& from) { waiting([&](Group& g) { g.all_to_all(to, from); }); });
  d.def("send", [](const Tensor& t, int to, int tag) { waiting([&](Group& g) { g.send(t, to, tag); }); });
  d.def("receive", [](const Tensor& t, int from, int tag) { waiting([&](Group& g) { g.receive(t, from, tag); }); });
  d.def("all_gather_bytes", all_gather_bytes);
  d.def("begin_equal", [](nn::Module& model) { waiting([&](Group& g) { begin_equal(model, g); }); });

  d.def("fully_shard",
        [](nn::Module& m, bool reshard) { waiting([&](Group& g) { distributed::fully_shard(m, reshard, g); }); });
  d.def("unshard", [](nn::Module& m) { waiting([&](Group& g) { distributed::unshard(m, g); }); });
  d.def("reshard", [](nn::Module& m) { waiting([&](Group& g) { distributed::reshard(m, g); }); });
  d.def("is_spread", [](const Tensor& t) { return distributed::is_spread(t); });
  d.def("spread_norm", [](nb::list params) {
    double norm = 0;
    waiting([&, all = unnamed(params)](Group& g) { norm = distributed::spread_norm(all, g); });
    return norm;
  });

  nb::class_<GradientMean>(d, "GradientMean")
      .def("__init__",
           [](GradientMean* self, nb::list params, int64_t bucket_bytes) {
             std::vector<Tensor> all;
             for (nb::handle p : params) all.push_back(tensor_of(p.ptr()));
             new (self) GradientMean(std::move(all), distributed::world(), bucket_bytes);
           })
      .def_prop_rw("on", &GradientMean::on, &GradientMean::set);
  nb::class_<distributed::Gathered>(d, "Gathered");
  nb::class_<DataParallel>(d, "DataParallel")
      .def("__init__",
           [](DataParallel* self, nn::Module& model, int64_t shards, const std::string& spread) {
             const distributed::Spread what = distributed::parse_spread(spread);
             Unlocked unlocked;
             new (self) DataParallel(model, distributed::world(), shards, what);
           })
      .def("share",
           [](DataParallel& p) {
             Unlocked unlocked;
             p.share();
           })
      .def("grad_norm",
           [](DataParallel& p, nb::list params) {
             const nn::NamedTensors all = unnamed(params);
             Unlocked unlocked;
             return p.grad_norm(all);
           })
      .def("gathered",
           [](DataParallel& p) {
             Unlocked unlocked;
             return std::make_unique<distributed::Gathered>(p);
           })
      .def("backward", sharded_backward, nb::arg("batch"), nb::arg("loss"), nb::arg("scale") = 1.0)
      .def_prop_ro("shards", &DataParallel::shards);
}

}  // namespace dyadic::inline v1::python
