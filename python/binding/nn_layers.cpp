// dyadic.nn's layers and containers: the C++ classes.
#include "nn.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "dyadic/generator.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::python {
namespace {

// A parameter that is a member of a C++ module. When it was deleted, any tensor may take its place.
template <class M> void member(nb::class_<M, Module, Derived<M>>& c, const char* name, Tensor M::* slot) {
  c.def_prop_rw(
      name,
      [slot, name](M& m) {
        if (find(m.own_parameters(), name)) return parameter_object(m.*slot);
        if (!(m.*slot).defined() && !find(m.computed(), name))
          throw nb::attribute_error(fmt::format("'{}' object has no attribute '{}'", m.kind(), name).c_str());
        return nb::steal(wrap(m.*slot));
      },
      [slot, name](M& m, nb::object value) {
        const bool registered = find(m.own_parameters(), name);
        DY_CHECK_AS(TypeError, value.is_none() || is_parameter(value.ptr()) || (!registered && is_tensor(value.ptr())),
                    "Module: {} is a parameter: assign an nn.Parameter or None, not {}", name, Py_TYPE(value.ptr())->tp_name);
        m.*slot = value.is_none() ? Tensor() : tensor_of(value.ptr());
        if ((value.is_none() || is_parameter(value.ptr())) && !registered) m.add_parameter(name, m.*slot);
      },
      nb::arg("value").none());
}

void add_leaves(nb::module_& m) {
  auto none = nb::none();
  auto linear = bind<nn::Linear>(m, "Linear", "y = x W^T + b; weight is [out_features, in_features].");
  linear
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::Linear> self, int64_t in, int64_t out, Flag bias, nb::object device, nb::object dtype) {
            construct(self, in, out, bias, read_options(dtype, device));
          },
          nb::arg("in_features"), nb::arg("out_features"), nb::arg("bias") = Flag{true}, nb::arg("device") = none,
          nb::arg("dtype") = none)
      .def_rw("in_features", &nn::Linear::in_features)
      .def_rw("out_features", &nn::Linear::out_features);
  member(linear, "weight", &nn::Linear::weight);
  member(linear, "bias", &nn::Linear::bias);

  auto embedding = bind<nn::Embedding>(m, "Embedding", "Rows of weight [num_embeddings, embedding_dim] by index.");
  embedding
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::Embedding> self, int64_t n, int64_t dim, std::optional<int64_t> padding, Flag by_freq,
             std::optional<double> max_norm, double norm_type, nb::object dtype, nb::object device) {
            const nn::Options made = read_options(dtype, device);
            construct(self, n, dim,
                      nn::EmbeddingOptions{.padding_idx = padding,
                                           .max_norm = max_norm,
                                           .norm_type = norm_type,
                                           .scale_grad_by_freq = by_freq,
                                           .dtype = made.dtype,
                                           .device = made.device});
          },
          nb::arg("num_embeddings"), nb::arg("embedding_dim"), nb::arg("padding_idx") = none,
          nb::arg("scale_grad_by_freq") = Flag{false}, nb::arg("max_norm") = none, nb::arg("norm_type") = 2.0, nb::kw_only(),
          nb::arg("dtype") = none, nb::arg("device") = none)
      .def_rw("num_embeddings", &nn::Embedding::num_embeddings)
      .def_rw("embedding_dim", &nn::Embedding::embedding_dim)
      .def_rw("padding_idx", &nn::Embedding::padding_idx, nb::arg("value").none())
      .def_rw("scale_grad_by_freq", &nn::Embedding::scale_grad_by_freq)
      .def_rw("max_norm", &nn::Embedding::max_norm, nb::arg("value").none())
      .def_rw("norm_type", &nn::Embedding::norm_type);
  m.def("embedding_renorm_", nn::embedding_renorm_, nb::arg("weight"), nb::arg("indices"), nb::arg("max_norm"),
        nb::arg("norm_type") = 2.0, "Scales the rows of weight that indices name to a norm of at most max_norm, in place.");
  member(embedding, "weight", &nn::Embedding::weight);

  auto norm = bind<nn::LayerNorm>(m, "LayerNorm",
                                  "(x - mean) / sqrt(variance + eps) over the last dimensions, times weight plus bias.");
  norm.def(
          "__init__",
          [](nb::pointer_and_handle<nn::LayerNorm> self, std::variant<int64_t, std::vector<int64_t>> shape, double eps,
             Flag affine, Flag bias, nb::object device, nb::object dtype) {
            std::vector<int64_t> s = shape.index() ? std::get<1>(shape) : std::vector<int64_t>{std::get<0>(shape)};
            construct(self, IntList(s), eps, affine, bias, read_options(dtype, device));
          },
          nb::arg("normalized_shape"), nb::arg("eps") = 1e-5, nb::arg("elementwise_affine") = Flag{true},
          nb::arg("bias").none() = Flag{true}, nb::arg("device") = none, nb::arg("dtype") = none)
      .def_prop_rw(
          "normalized_shape", [](nn::LayerNorm& n) { return nb::tuple(nb::cast(n.normalized_shape)); },
          [](nn::LayerNorm& n, std::vector<int64_t> shape) { n.normalized_shape = std::move(shape); })
      .def_rw("elementwise_affine", &nn::LayerNorm::elementwise_affine)
      .def_rw("eps", &nn::LayerNorm::eps);
  member(norm, "weight", &nn::LayerNorm::weight);
  member(norm, "bias", &nn::LayerNorm::bias);
}

std::shared_ptr<Module> as_child(nb::handle o, const char* who) {
  if (o.is_none()) return nullptr;
  DY_CHECK_AS(TypeError, is_module(o), "{}: it holds modules, not {}", who, Py_TYPE(o.ptr())->tp_name);
  check_begun(o);
  return nb::cast<std::shared_ptr<Module>>(o);
}
nb::object child_at(nb::handle self, int64_t i) {
  auto& children = nb::cast<Module&>(self).children();
  auto n = int64_t(children.size());
  DY_CHECK_AS(IndexError, i >= -n && i < n, "index: {} is out of range: there are {} modules", i, n);
  auto& [name, child] = children[size_t(i < 0 ? i + n : i)];
  return child_object(self, nb::str(name.c_str()), child);
}
template <class C> void container(C& c) {
  c.def("__len__", [](Module& m) { return m.children().size(); })
      .def("__getitem__", child_at)
      .def("__iter__", [](nb::handle self) { return each_child(self).attr("__iter__")(); });
}

void add_containers(nb::module_& m) {
  auto sequential = bind<nn::Sequential>(m, "Sequential", "Modules run one after the other.");
  sequential
      .def("__init__",
           [](nb::pointer_and_handle<nn::Sequential> self, nb::args modules) {
             construct(self);
             if (modules.size() == 1 && PyDict_Check(modules[0].ptr())) {
               for (auto [name, o] : nb::cast<nb::dict>(modules[0]))
                 self.p->add(nb::cast<std::string>(name), as_child(o, "Sequential"));
               return;
             }
             for (nb::handle o : modules) self.p->append(as_child(o, "Sequential"));
           })
      .def("append", [](nb::handle self, nb::handle o) {
        nb::cast<nn::Sequential&>(self).append(as_child(o, "Sequential"));
        return nb::borrow(self);
      });
  container(sequential);

  using List = nn::ModuleList<Module>;
  auto list = bind<List>(m, "ModuleList", "A list of modules that are called by hand.");
  auto extend = [](List& l, nb::iterable modules) {
    for (nb::handle o : modules) l.append(as_child(o, "ModuleList"));
  };
  list.def(
          "__init__",
          [extend](nb::pointer_and_handle<List> self, nb::iterable modules) {
            construct(self);
            extend(*self.p, modules);
          },
          nb::arg("modules") = nb::tuple())
      .def("append",
           [](nb::handle self, nb::handle o) {
             nb::cast<List&>(self).append(as_child(o, "ModuleList"));
             return nb::borrow(self);
           })
      .def("extend", extend);
  container(list);
}

// nn.init.normal_(t) and t.normal_(): the same functions.
template <class F, class... Extra> void initializer(nb::module_& m, const char* name, F f, const Extra&... extra) {
  m.def(("_init_" + std::string(name)).c_str(), f, nb::arg("tensor"), extra...);
  nb::cpp_function_def(f, nb::scope(nb::handle(reinterpret_cast<PyObject*>(tensor_type))), nb::name(name), nb::is_method(),
                       extra...);
}
std::optional<GeneratorScope> scope_of(const nb::object& generator) {
  if (generator.is_none()) return std::nullopt;
  return std::optional<GeneratorScope>(std::in_place, nb::cast<Generator&>(generator));
}
void add_initializers(nb::module_& m) {
  initializer(
      m, "normal_",
      [](nb::handle t, double mean, double std, nb::object generator) {
        const std::optional<GeneratorScope> scope = scope_of(generator);
        nn::init::normal_(nb::cast<Tensor>(t), mean, std);
        return nb::borrow(t);
      },
      nb::arg("mean") = 0.0, nb::arg("std") = 1.0, nb::arg("generator") = nb::none(),
      "Fills the tensor with N(mean, std^2), unrecorded.");
  initializer(
      m, "uniform_",
      [](nb::handle t, double a, double b, nb::object generator) {
        const std::optional<GeneratorScope> scope = scope_of(generator);
        nn::init::uniform_(nb::cast<Tensor>(t), a, b);
        return nb::borrow(t);
      },
      nb::arg("a") = 0.0, nb::arg("b") = 1.0, nb::arg("generator") = nb::none(), "Fills the tensor with U[a, b), unrecorded.");
  m.def(
      "_init_constant_",
      [](nb::handle t, double value) {
        nn::init::constant_(nb::cast<Tensor>(t), value);
        return nb::borrow(t);
      },
      nb::arg("tensor"), nb::arg("val"), "Fills the tensor with one value, unrecorded.");
}

}  // namespace

nn::Options read_options(nb::object dtype, nb::object device) {
  nn::Options o{.device = default_device()};
  if (!dtype.is_none()) {
    auto d = read_dtype(dtype.ptr());
    DY_CHECK_AS(TypeError, d, "Module: dtype is {}; it takes a dtype", Py_TYPE(dtype.ptr())->tp_name);
    o.dtype = *d;
  }
  if (!device.is_none()) {
    auto d = read_device(device.ptr());
    DY_CHECK_AS(TypeError, d, "Module: device is {}; it takes a device", Py_TYPE(device.ptr())->tp_name);
    o.device = *d;
  }
  return o;
}

void add_layers(nb::module_& m) {
  add_initializers(m);
  add_scaled_initializers(m);
  add_layer_records(m);
  add_leaves(m);
  add_containers(m);
}

}  // namespace dyadic::inline v1::python
