// dyadic.nn.init: the initializers under _init_<name>; python/dyadic/nn/init.py names them.
#include <nanobind/stl/optional.h>

#include "nn.h"

namespace dyadic::inline v1::python {
namespace {

template <class F, class... Extra> void initializer(nb::module_& m, const char* name, F f, const Extra&... extra) {
  m.def((std::string("_init_") + name).c_str(), f, nb::arg("tensor"), extra...);
}
// f(tensor, ...) as a function that gives the tensor back.
template <auto F, class... A> auto in_place() {
  return [](nb::handle t, A... a) {
    F(nb::cast<Tensor>(t), a...);
    return nb::borrow(t);
  };
}
using Kaiming = void (*)(const Tensor&, double, std::string_view, std::string_view);
template <Kaiming F> auto kaiming() {
  return [](nb::handle t, double a, const std::string& mode, const std::string& nonlinearity) {
    F(nb::cast<Tensor>(t), a, mode, nonlinearity);
    return nb::borrow(t);
  };
}

}  // namespace

void add_scaled_initializers(nb::module_& m) {
  using namespace nn::init;
  initializer(m, "trunc_normal_", in_place<trunc_normal_, double, double, double, double>(), nb::arg("mean") = 0.0,
              nb::arg("std") = 1.0, nb::arg("a") = -2.0, nb::arg("b") = 2.0, "N(mean, std^2), only values within [a, b].");
  initializer(m, "eye_", in_place<eye_>(), "The identity matrix.");
  initializer(m, "dirac_", in_place<dirac_, int64_t>(), nb::arg("groups") = 1,
              "A convolution's weight that passes each channel on.");
  initializer(m, "xavier_uniform_", in_place<xavier_uniform_, double>(), nb::arg("gain") = 1.0,
              "Uniform, with variance gain^2 2 / (fan_in + fan_out). (Glorot and Bengio 2010.)");
  initializer(m, "xavier_normal_", in_place<xavier_normal_, double>(), nb::arg("gain") = 1.0,
              "Normal, with variance gain^2 2 / (fan_in + fan_out). (Glorot and Bengio 2010.)");
  initializer(m, "kaiming_uniform_", kaiming<kaiming_uniform_>(), nb::arg("a") = 0.0, nb::arg("mode") = "fan_in",
              nb::arg("nonlinearity") = "leaky_relu", "Uniform, with variance gain^2 / fan. (He et al. 2015.)");
  initializer(m, "kaiming_normal_", kaiming<kaiming_normal_>(), nb::arg("a") = 0.0, nb::arg("mode") = "fan_in",
              nb::arg("nonlinearity") = "leaky_relu", "Normal, with variance gain^2 / fan. (He et al. 2015.)");
  initializer(m, "orthogonal_", in_place<orthogonal_, double>(), nb::arg("gain") = 1.0,
              "Orthonormal rows or columns, times gain. (Saxe et al. 2013.)");
  initializer(m, "sparse_", in_place<sparse_, double, double>(), nb::arg("sparsity"), nb::arg("std") = 0.01,
              "N(0, std^2), a share of each column zero. (Martens 2010.)");
  m.def(
      "_init_calculate_gain",
      [](const std::string& nonlinearity, std::optional<double> param) { return calculate_gain(nonlinearity, param); },
      nb::arg("nonlinearity"), nb::arg("param") = nb::none(), "The gain that keeps variance through a nonlinearity.");
}

}  // namespace dyadic::inline v1::python
