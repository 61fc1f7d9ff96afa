// The ledger and the counters, for Python.

#include <memory>

#include "base/parallel.h"
#include "dyadic/counters.h"
#include "dyadic/device.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

Device device_argument(nb::object device) {
  auto d = read_device(device.ptr());
  DY_CHECK_AS(TypeError, d, "device: it is a device or its text, not {}", Py_TYPE(device.ptr())->tp_name);
  return *d;
}

nb::dict stats(nb::object device) {
  MemoryStats s = memory_stats(device_argument(device));
  nb::dict d;
  for (int c = 0; c < kCategories; ++c) {
    std::string name = category_name(Category(c));
    d[(name + ".live").c_str()] = s.live[size_t(c)];
    d[(name + ".peak").c_str()] = s.peak[size_t(c)];
  }
  d["total.live"] = s.total;
  d["total.peak"] = s.total_peak;
  d["allocations"] = s.allocations;
  return d;
}

template <class Scope> struct Counter {
  std::unique_ptr<Scope> scope;
};

nb::list op_counts() {
  nb::list l;
  for (const OpCount& c : Counting::counts()) {
    nb::dict d;
    d["op"] = c.op;
    d["dtype"] = nb::steal(wrap(c.dtype));
    d["calls"] = c.calls;
    d["flops"] = c.flops;
    d["bytes"] = c.bytes;
    l.append(d);
  }
  return l;
}
nb::list rounding_counts() {
  nb::list l;
  for (const RoundingCount& c : RoundingCounting::counts()) {
    nb::dict d;
    d["op"] = c.op;
    d["module"] = c.module;
    d["dtype"] = nb::steal(wrap(c.dtype));
    d["calls"] = c.calls;
    d["elements"] = c.elements;
    d["overflows"] = c.overflows;
    d["flushed"] = c.flushed;
    d["saturated"] = c.saturated;
    d["nans"] = c.nans;
    l.append(d);
  }
  return l;
}

// with dyadic.counting() as c: ...; c.counts(), print(c)
template <class Scope> auto bind_counter(nb::module_& m, const char* name, nb::list (*counts)(), const char* doc) {
  using C = Counter<Scope>;
  return nb::class_<C>(m, name, doc)
      .def(nb::init<>())
      .def("__enter__",
           [](nb::handle self) {
             Scope::clear();
             nb::cast<C&>(self).scope = std::make_unique<Scope>();
             return nb::borrow(self);
           })
      .def("__exit__", [](C& c, nb::args) { c.scope.reset(); })
      .def(
          "counts", [counts](C&) { return counts(); }, "One dict per op and dtype, of the calls since the scope was entered.")
      .def("__str__", [](C&) { return Scope::table(); });
}

}  // namespace

void add_accounting(nb::module_& m) {
  nb::object cpu_text = nb::str("cpu");
  auto device = [&] { return nb::arg("device") = cpu_text; };
  m.def("memory_stats", stats, device(), "Live and peak bytes by category, as the allocator rounds them.");
  m.def("memory_allocated", [](nb::object d) { return memory_allocated(device_argument(d)); }, device());
  m.def("max_memory_allocated", [](nb::object d) { return max_memory_allocated(device_argument(d)); }, device());
  m.def("reset_peak_memory_stats", [](nb::object d) { reset_peak_memory_stats(device_argument(d)); }, device());
  m.def(
      "memory_summary", [](nb::object d) { return memory_summary(device_argument(d)); }, device(),
      "A table of what the bytes are for and which modules hold them.");
  m.def("empty_cache", &empty_cache, "Gives cached pages back to the system.");
  m.def(
      "set_memory_limit", [](int64_t bytes, nb::object d) { set_memory_limit(bytes, device_argument(d)); }, nb::arg("bytes"),
      device(), "Allocations beyond it raise OutOfMemoryError; 0 lifts the limit.");
  bind_counter<Counting>(m, "counting", op_counts,
                         "Counts calls, FLOPs and bytes of every op of this thread while it is entered.")
      .def("flops", [](Counter<Counting>&) { return Counting::flops(); });
  bind_counter<RoundingCounting>(m, "rounding_counting", rounding_counts,
                                 "Counts by op, module and dtype what rounding makes of results while it is entered, against a "
                                 "wider shadow: overflows to infinity, flushes to zero, saturation, and NaN that no input had.")
      .def(
          "table", [](Counter<RoundingCounting>&, bool all) { return RoundingCounting::table(all); }, nb::arg("all") = false,
          "As text, the most events first; all: rows without events too.");
}

}  // namespace dyadic::inline v1::python
