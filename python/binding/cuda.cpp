// dyadic._dyadic._cuda: what torch.cuda (python/dyadic/cuda) is made of.
#include "dyadic/cuda.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <tuple>

#include "object.h"

namespace dyadic::inline v1::python {
namespace {

// A scope: entered and left by Python's `with`.
template <class Guard, class... A> struct Scope {
  std::tuple<A...> made_of;
  std::optional<Guard> guard;
  explicit Scope(A... a) : made_of(std::move(a)...) {}
  void enter() {
    DY_CHECK(!guard, "cuda: the scope is entered twice");
    std::apply([this](const auto&... a) { guard.emplace(a...); }, made_of);
  }
  void leave() { guard.reset(); }
};
using Fallback = Scope<CpuFallback, bool>;
using StreamScope = Scope<cuda::StreamGuard, cuda::Stream>;

template <class S> void add_scope(nb::class_<S> type) {
  type.def("__enter__", [](nb::handle self) {
    nb::cast<S&>(self).enter();
    return nb::borrow(self);
  });
  type.def("__exit__", [](S& s, nb::args) { s.leave(); });
}

}  // namespace

void add_cuda(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_cuda", "Devices of the kind cuda.");
  const nb::arg_v index = nb::arg("device") = -1;
  m.def("is_available", cuda::is_available);
  m.def("device_count", cuda::device_count);
  m.def("why_unavailable", cuda::why_unavailable);
  m.def("current_device", cuda::current_device);
  m.def("set_device", cuda::set_device, nb::arg("device"));
  m.def("versions", cuda::versions);
  m.def("architectures", cuda::architectures);
  m.def(
      "synchronize",
      [](int64_t i) {
        nb::gil_scoped_release free;
        cuda::synchronize(i);
      },
      index);
  m.def("memory_reserved", cuda::memory_reserved, index);
  m.def("driver_allocations", cuda::driver_allocations, index);
  m.def("mem_get_info", cuda::mem_get_info, index);
  m.def("cpu_fallback_calls", cpu_fallback_calls);
  m.def("properties", cuda::properties, index);
  nb::class_<cuda::Properties>(m, "_CudaDeviceProperties", "What a device is.")
      .def_ro("name", &cuda::Properties::name)
      .def_ro("major", &cuda::Properties::major)
      .def_ro("minor", &cuda::Properties::minor)
      .def_ro("total_memory", &cuda::Properties::total_memory)
      .def_ro("multi_processor_count", &cuda::Properties::multi_processor_count)
      .def_ro("L2_cache_size", &cuda::Properties::l2_cache_size)
      .def("__repr__", [](const cuda::Properties& p) {
        return fmt::format(
            "_CudaDeviceProperties(name='{}', major={}, minor={}, total_memory={}MB, multi_processor_count={}, "
            "L2_cache_size={}MB)",
            p.name, p.major, p.minor, p.total_memory >> 20, p.multi_processor_count, p.l2_cache_size >> 20);
      });
  nb::class_<cuda::Stream>(m, "Stream", "A queue of work in order; work of different streams may overlap.")
      .def(
          "__init__",
          [](cuda::Stream* s, nb::object device, int priority) {
            new (s) cuda::Stream(device.is_none() ? -1 : read_device(device.ptr()).value_or(Device(DeviceType::cuda)).index(),
                                 priority);
          },
          nb::arg("device") = nb::none(), nb::arg("priority") = 0)
      .def("synchronize",
           [](const cuda::Stream& s) {
             nb::gil_scoped_release free;
             s.synchronize();
           })
      .def("query", &cuda::Stream::query)
      .def("wait_stream", &cuda::Stream::wait_stream, nb::arg("stream"))
      .def(
          "wait_event", [](const cuda::Stream& s, const cuda::Event& e) { e.wait(s); }, nb::arg("event"))
      .def(
          "record_event",
          [](const cuda::Stream& s, std::optional<cuda::Event> e) {
            if (!e) e.emplace();
            e->record(s);
            return *e;
          },
          nb::arg("event") = nb::none())
      .def_prop_ro("device", [](const cuda::Stream& s) { return place_of(s.device()); })
      .def_prop_ro("cuda_stream", [](const cuda::Stream& s) { return reinterpret_cast<uintptr_t>(s.handle()); })
      .def("__eq__", [](const cuda::Stream& a,
                        nb::handle b) { return nb::isinstance<cuda::Stream>(b) && nb::cast<cuda::Stream>(b) == a; })
      .def("__hash__", [](const cuda::Stream& s) { return reinterpret_cast<uintptr_t>(s.handle()); });
  m.def("current_stream", cuda::Stream::current, index);
  m.def("default_stream", cuda::Stream::of_default, index);
  nb::class_<cuda::Event>(m, "Event", "A place in a stream: recorded, waited for, and its time.")
      .def(
          "__init__", [](cuda::Event* e, bool enable_timing, bool, bool) { new (e) cuda::Event(enable_timing); },
          nb::arg("enable_timing") = false, nb::arg("blocking") = false, nb::arg("interprocess") = false)
      .def(
          "record", [](cuda::Event& e, std::optional<cuda::Stream> s) { e.record(s ? *s : cuda::Stream::current()); },
          nb::arg("stream") = nb::none())
      .def(
          "wait", [](cuda::Event& e, std::optional<cuda::Stream> s) { e.wait(s ? *s : cuda::Stream::current()); },
          nb::arg("stream") = nb::none())
      .def("query", &cuda::Event::query)
      .def("synchronize",
           [](const cuda::Event& e) {
             nb::gil_scoped_release free;
             e.synchronize();
           })
      .def("elapsed_time", &cuda::Event::elapsed_time, nb::arg("end_event"));
  add_scope(nb::class_<Fallback>(m, "cpu_fallback", "Within it calls that their device has no kernel for run on the host.")
                .def(nb::init<bool>(), nb::arg("enabled") = true));
  add_scope(nb::class_<StreamScope>(m, "stream", "This thread's calls go to the stream within it.")
                .def(nb::init<cuda::Stream>(), nb::arg("stream")));
}

}  // namespace dyadic::inline v1::python
