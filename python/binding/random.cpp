// Generators of random numbers. Their state is two numbers; PyTorch shows states as tensors of bytes.
#include <cstring>
#include <random>

#include "dyadic/generator.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

Tensor state_bytes(const GeneratorState& s) { return from_data(&s, {int64_t(sizeof(s))}, u8); }
GeneratorState state_from(const Tensor& t) {
  GeneratorState s;
  DY_CHECK_AS(TypeError, t.dtype() == u8 && t.numel() == int64_t(sizeof(s)) && t.is_contiguous(),
              "set_state: it takes what get_state gave, u8[{}]: state is {}", sizeof(s), describe(t));
  std::memcpy(&s, t.data_ptr(), sizeof(s));
  return s;
}
constexpr uint64_t kSeed = 67280421310721;                   // PyTorch's, of one that was given none
uint64_t read_seed(int64_t seed) { return uint64_t(seed); }  // negative seeds wrap, as in PyTorch
uint64_t random_seed() {
  std::random_device d;
  return (uint64_t(d()) << 32 | d()) >> 1;
}

}  // namespace

void add_random(nb::module_& m) {
  nb::class_<Generator>(m, "Generator", "A generator of random numbers beside the default one: randn(3, generator=g).")
      .def(
          "__init__",
          [](Generator* g, nb::handle device) {
            if (!device.is_none()) (void)read_device(device.ptr());
            new (g) Generator(kSeed);
          },
          nb::arg("device").none() = "cpu")
      .def(
          "manual_seed",
          [](nb::handle self, int64_t seed) {
            nb::cast<Generator&>(self).manual_seed(read_seed(seed));
            return nb::borrow(self);
          },
          nb::arg("seed"), "Restarts it.")
      .def(
          "seed", [](Generator& g) { return g.manual_seed(random_seed()).initial_seed(); },
          "Restarts it with a seed of the system's, which it returns.")
      .def("initial_seed", &Generator::initial_seed)
      .def(
          "get_state", [](const Generator& g) { return state_bytes(g.state()); }, "All that the next numbers depend on.")
      .def(
          "set_state", [](Generator& g, const Tensor& state) { g.set_state(state_from(state)); }, nb::arg("new_state"))
      .def_prop_ro("device", [](const Generator&) { return place_of(cpu); });
  m.attr("default_generator") = nb::cast(&default_generator(), nb::rv_policy::reference);
  m.def("manual_seed", [](int64_t seed) { manual_seed(read_seed(seed)); }, nb::arg("seed"), "Restarts the random numbers.");
  m.def(
      "seed",
      [] {
        manual_seed(random_seed());
        return generator_state().seed;
      },
      "Restarts the random numbers with a seed of the system's, which it returns.");
  m.def("initial_seed", [] { return generator_state().seed; }, "The seed of the random numbers.");
  m.def("get_rng_state", [] { return state_bytes(generator_state()); }, "All that the next random numbers depend on.");
  m.def("set_rng_state", [](const Tensor& state) { set_generator_state(state_from(state)); }, nb::arg("new_state"));
}

}  // namespace dyadic::inline v1::python
