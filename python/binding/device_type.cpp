// dyadic.device: where a tensor is, or could be on another machine. PyTorch's names all make objects; only cpu, meta and, where
// the plug-in and a GPU are, cuda have tensors.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <vector>

#include "object.h"

namespace dyadic::inline v1::python {
namespace {

constexpr const char* kTypes[] = {"cpu", "meta", "cuda", "mps", "xpu",  "mkldnn", "opengl", "opencl", "ideep", "hip",
                                  "ve",  "fpga", "maia", "xla", "lazy", "vulkan", "ipu",    "hpu",    "mtia",  "privateuseone"};

struct Place {
  const char* type;  // one of kTypes
  int index = -1;    // none
  bool operator==(const Place&) const = default;
  std::string text() const { return index < 0 ? type : fmt::format("{}:{}", type, index); }
  std::string repr() const {
    return index < 0 ? fmt::format("device(type='{}')", type) : fmt::format("device(type='{}', index={})", type, index);
  }
};

const char* known(std::string_view type) {
  for (const char* t : kTypes)
    if (type == t) return t;
  return nullptr;
}

Place parse(std::string_view text) {
  const size_t colon = text.find(':');
  const char* type = known(text.substr(0, colon));
  DY_CHECK(type, "device: unknown device \"{}\"; the known ones are cpu and meta, and PyTorch's names of what is not here",
           text);
  if (colon == text.npos) return {type};
  const std::string_view digits = text.substr(colon + 1);
  const bool number =
      !digits.empty() && digits.size() < 4 && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  DY_CHECK(number, "device: the index is no number: \"{}\"", text);
  return {type, std::stoi(std::string(digits))};
}
std::string_view text_of(PyObject* o) {
  Py_ssize_t n;
  const char* s = PyUnicode_AsUTF8AndSize(o, &n);
  if (!s) throw PythonError();
  return {s, size_t(n)};
}

std::optional<Place> read_place(PyObject* o) {
  if (PyUnicode_Check(o)) return parse(text_of(o));
  if (nb::isinstance<Place>(o)) return nb::cast<Place>(nb::handle(o));
  if (PyLong_Check(o) && !PyBool_Check(o)) return Place{kTypes[2], nb::cast<int>(nb::handle(o))};  // a GPU, as in PyTorch
  return std::nullopt;
}
Device real(const Place& p) {
  if (p.type == kTypes[2]) return {DeviceType::cuda, p.index};
  const Device d{p.type == kTypes[1] ? DeviceType::meta : DeviceType::cpu};
  DY_CHECK(p.type == d.name(), "device: there is no {} here: the device is \"{}\"; use \"cpu\", and ask is_available() first",
           p.type, p.text());
  return d;
}

Place make(nb::object type, nb::object index) {
  const std::optional<Place> read = read_place(type.ptr());
  DY_CHECK_AS(TypeError, read, "device: it is made from text such as \"cpu\", not from {}", Py_TYPE(type.ptr())->tp_name);
  if (index.is_none()) {
    DY_CHECK(!PyLong_Check(type.ptr()) || read->index >= 0, "device: the index is negative: it is {}", read->index);
    return *read;
  }
  const int i = nb::cast<int>(index);
  DY_CHECK(i >= 0, "device: the index is negative: it is {}", i);
  DY_CHECK(read->index < 0, "device: there are two indices: \"{}\" and {}", read->text(), i);
  return {read->type, i};
}

constinit thread_local Device t_default;
thread_local std::vector<Device> t_before;  // of the scopes that this thread is in

}  // namespace

Device default_device() { return t_default; }

std::optional<Device> read_device(PyObject* o) {
  const std::optional<Place> p = read_place(o);
  return p ? std::optional(real(*p)) : std::nullopt;
}
bool names_device(PyObject* o) {
  if (!PyUnicode_Check(o)) return nb::isinstance<Place>(o) || (PyLong_Check(o) && !PyBool_Check(o));
  const std::string_view text = text_of(o);
  return known(text.substr(0, text.find(':')));
}
nb::object place_of(Device d) { return nb::cast(Place{kTypes[int(d.type())], int(d.index())}); }

void add_device_type(nb::module_& m) {
  nb::class_<Place>(
      m, "device",
      "Where the elements of a tensor are: \"cpu\", \"cuda:0\", or \"meta\" (shapes and accounting only). Inside of `with "
      "device(...)` tensors are made there unless told otherwise.")
      .def(
          "__init__", [](Place* p, nb::object type, nb::object index) { new (p) Place(make(type, index)); }, nb::arg("type"),
          nb::arg("index") = nb::none())
      .def_prop_ro("type", [](const Place& p) { return p.type; })
      .def_prop_ro("index", [](const Place& p) { return p.index < 0 ? std::nullopt : std::optional(p.index); })
      .def(
          "__eq__", [](const Place& a, nb::handle b) { return nb::isinstance<Place>(b) && nb::cast<Place>(b) == a; },
          nb::arg("other").none())
      .def("__hash__", [](const Place& p) { return std::hash<std::string>()(p.text()); })
      .def("__enter__",
           [](nb::handle self) {
             const Device d = real(nb::cast<Place>(self));
             t_before.push_back(std::exchange(t_default, d));
             return nb::borrow(self);
           })
      .def("__exit__",
           [](const Place&, nb::args) {
             DY_CHECK(!t_before.empty(), "exit: the scope was not entered");
             t_default = t_before.back();
             t_before.pop_back();
           })
      .def("__str__", &Place::text)
      .def("__repr__", &Place::repr);
  m.def("get_default_device", [] { return place_of(t_default); }, "Where tensors are made unless told otherwise.");
  m.def(
      "set_default_device",
      [](nb::object device) {
        const auto d = device.is_none() ? cpu : read_device(device.ptr());
        DY_CHECK_AS(TypeError, d, "set_default_device: it takes a device or its text, not {}", Py_TYPE(device.ptr())->tp_name);
        t_default = *d;
      },
      nb::arg("device").none(), "Where this thread makes tensors unless told otherwise; None: on the CPU.");
}

}  // namespace dyadic::inline v1::python
