// Files of torch.save for Python: their values as Python's own, and back. What a file asks for beyond data is made by a
// function of Python's (dyadic/_torch_file.py), which knows what the user has allowed.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include <unordered_map>

#include "dyadic/torch_file.h"
#include "io/file_kinds.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

using io::Value;
using Kind = Value::Kind;
using Node = Value::Node;
using Path = std::filesystem::path;
constexpr int kMostDepth = 256;

nb::object checked(PyObject* o) {
  if (!o) throw nb::python_error();
  return nb::steal(o);
}
nb::object of_module(const char* module, const char* name) { return nb::module_::import_(module).attr(name); }

class ToPython {
  nb::object make_;
  std::unordered_map<const Node*, nb::object> made_;

 public:
  explicit ToPython(nb::object make) : make_(std::move(make)) {}

  nb::object value(const Value& v) {
    const Node* n = v.node();
    if (!n) {
      if (v.kind() == Kind::boolean) return nb::bool_(v.boolean());
      if (v.kind() == Kind::integer) return nb::int_(v.integer());
      return v.kind() == Kind::real ? nb::object(nb::float_(v.real())) : nb::none();
    }
    if (const auto it = made_.find(n); it != made_.end()) return it->second;
    nb::object o = whole(*n);
    made_.emplace(n, o);
    return o;
  }

 private:
  nb::object text(const Node& n) {
    return checked(PyUnicode_DecodeUTF8(n.text.data(), Py_ssize_t(n.text.size()), "surrogatepass"));
  }
  nb::list list(const Value::List& items) {
    nb::list out;
    for (const Value& v : items) out.append(value(v));
    return out;
  }
  nb::object dict(const Node& n) {
    nb::object out = nb::dict();
    if (n.text == "collections.OrderedDict") out = of_module("collections", "OrderedDict")();
    if (n.text == "collections.Counter") out = of_module("collections", "Counter")();
    for (auto& [key, v] : n.entries)
      if (PyObject_SetItem(out.ptr(), value(key).ptr(), value(v).ptr()) != 0) throw nb::python_error();
    if (n.text == "collections.OrderedDict" && n.state.kind() == Kind::dict)
      if (const Value* versions = n.state.find("_metadata")) out.attr("_metadata") = value(*versions);
    return out;
  }
  // numpy's, from what it is given: a version, shape, dtype, whether it lies by columns, bytes.
  nb::object array(const Node& n) {
    const Value::List empty, &s = n.state.kind() == Kind::tuple ? n.state.items() : empty;
    const bool right = s.size() == 5 && s[2].kind() == Kind::dtype && s[2].node()->dtype &&
                       (s[4].kind() == Kind::bytes || (s[4].kind() == Kind::object && s[4].node()->text == "builtins.bytes"));
    DY_CHECK_AS(ValueError, right, "it has an array of numpy's that is no plain numbers");
    const Node& type = *s[2].node();
    return of_module("dyadic._torch_file", "numpy_array")(value(s[1]), type.dtype.long_name(), type.text == ">" ? ">" : "<",
                                                          value(s[3]), value(s[4]));
  }
  nb::object object(const Node& n) {
    if (n.text.starts_with("numpy.") && n.text.ends_with("multiarray._reconstruct")) return array(n);
    const nb::object args = n.kind == Kind::global ? nb::object(nb::none()) : value(n.args);
    nb::list entries;
    for (auto& [key, v] : n.entries) entries.append(nb::make_tuple(value(key), value(v)));
    return make_(text(n), n.raw, args, list(n.items), entries, value(n.state));
  }
  nb::object whole(const Node& n) {
    switch (n.kind) {
      case Kind::tensor:
        return checked(n.parameter ? wrap_parameter(n.tensor) : wrap(n.tensor));
      case Kind::text:
        return text(n);
      case Kind::bytes:
        return nb::bytes(n.text.data(), n.text.size());
      case Kind::big:
        return of_module("builtins", "int")
            .attr("from_bytes")(nb::bytes(n.text.data(), n.text.size()), "little", nb::arg("signed") = true);
      case Kind::complex:
        return checked(PyComplex_FromDoubles(n.re, n.im));
      case Kind::dtype:
        return n.dtype ? checked(wrap(n.dtype)) : text(n);
      case Kind::device:
        return place_of(cpu);  // tensors are read to the CPU, wherever they were
      case Kind::list:
        return list(n.items);
      case Kind::tuple:
        if (n.text.empty()) return nb::tuple(list(n.items));
        return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), list(n.items).ptr()));
      case Kind::set:
        return checked(n.text.empty() ? PySet_New(list(n.items).ptr()) : PyFrozenSet_New(list(n.items).ptr()));
      case Kind::dict:
        return dict(n);
      default:
        return object(n);
    }
  }
};

class FromPython {
  std::unordered_map<PyObject*, Value> made_;
  std::vector<nb::object> kept_;  // made on the way: made_ knows objects by their address
  nb::object ordered_ = of_module("collections", "OrderedDict"), counter_ = of_module("collections", "Counter");
  int depth_ = 0;

 public:
  Value value(nb::handle o) {
    if (o.is_none()) return {};
    if (PyBool_Check(o.ptr())) return o.ptr() == Py_True;
    if (PyLong_Check(o.ptr())) return integer(o);
    if (PyFloat_Check(o.ptr())) return PyFloat_AsDouble(o.ptr());
    if (PyUnicode_Check(o.ptr())) return text(o);
    if (const auto it = made_.find(o.ptr()); it != made_.end()) return it->second;
    DY_CHECK_AS(ValueError, ++depth_ <= kMostDepth, "save: lists in lists, deeper than {}, or one in itself", kMostDepth);
    Value v = whole(o);
    --depth_;
    made_.emplace(o.ptr(), v);
    return v;
  }

 private:
  static Value leaf(Kind kind, std::string text) {
    Value v(std::move(text));
    v.node()->kind = kind;
    return v;
  }
  static std::string bytes(nb::handle o) {
    const nb::bytes b = nb::bytes(o);
    return {b.c_str(), b.size()};
  }
  static Value integer(nb::handle o) {
    int overflow = 0;
    const long long n = PyLong_AsLongLongAndOverflow(o.ptr(), &overflow);
    if (!overflow) return int64_t(n);
    const int bits = nb::cast<int>(o.attr("bit_length")());
    return leaf(Kind::big, bytes(o.attr("to_bytes")(bits / 8 + 1, "little", nb::arg("signed") = true)));
  }
  static Value text(nb::handle o) {
    const nb::object encoded = checked(PyUnicode_AsEncodedString(o.ptr(), "utf-8", "surrogatepass"));
    return bytes(encoded);
  }
  Value::List items(nb::handle o) {
    Value::List out;
    for (nb::handle item : nb::cast<nb::object>(o.attr("__iter__")())) out.push_back(value(item));
    return out;
  }
  Value dict(nb::handle o) {
    Value::Entries entries;
    for (nb::handle pair : nb::cast<nb::object>(o.attr("items")())) entries.emplace_back(value(pair[0]), value(pair[1]));
    Value v = Value::dict(std::move(entries));
    if (nb::isinstance(o, ordered_)) v.node()->text = "collections.OrderedDict";
    if (nb::isinstance(o, counter_)) v.node()->text = "collections.Counter";
    if (nb::hasattr(o, "_metadata")) v.node()->state = Value::dict({{"_metadata", value(o.attr("_metadata"))}});
    return v;
  }
  static Value object(const char* name, Value args) {
    Value v = leaf(Kind::object, name);
    v.node()->args = std::move(args);
    return v;
  }
  // (layout, (indices ..., values, size)).
  Value sparse(const nb::object& parts) {
    kept_.push_back(parts);
    const Value layout = object("torch.serialization._get_layout", Value::tuple({value(parts[0])}));
    return object("torch._utils._rebuild_sparse_tensor", Value::tuple({layout, value(parts[1])}));
  }
  Value whole(nb::handle o) {
    if (is_tensor(o.ptr())) {
      if (tensor_of(o.ptr()).is_meta())
        if (const nb::object parts = of_module("dyadic._torch_file", "sparse_parts")(o); !parts.is_none()) return sparse(parts);
      Value v(tensor_of(o.ptr()));
      v.node()->parameter = is_parameter(o.ptr());
      return v;
    }
    if (PyDict_Check(o.ptr())) return dict(o);
    if (PyList_Check(o.ptr())) return Value::list(items(o));
    if (PyTuple_Check(o.ptr())) {
      Value v = Value::tuple(items(o));
      if (Py_TYPE(o.ptr()) == size_type) v.node()->text = "torch.Size";
      return v;
    }
    if (PyAnySet_Check(o.ptr())) {
      Value v = Value::list(items(o));
      v.node()->kind = Kind::set;
      if (PyFrozenSet_Check(o.ptr())) v.node()->text = "builtins.frozenset";
      return v;
    }
    if (PyBytes_Check(o.ptr()) || PyByteArray_Check(o.ptr())) return leaf(Kind::bytes, bytes(o));
    if (PyComplex_Check(o.ptr())) {
      Value v = leaf(Kind::complex, "");
      v.node()->re = PyComplex_RealAsDouble(o.ptr()), v.node()->im = PyComplex_ImagAsDouble(o.ptr());
      return v;
    }
    if (is_dtype(o.ptr())) {
      Value v = leaf(Kind::dtype, "");
      v.node()->dtype = nb::cast<DType>(o);
      return v;
    }
    if (nb::isinstance(o, of_module("dyadic", "device"))) return leaf(Kind::device, nb::cast<std::string>(nb::str(o)));
    if (const auto n = read_number(o.ptr())) {
      if (n->isBoolean()) return n->toBool();
      return n->isFloatingPoint() ? Value(n->real()) : Value(n->integer());
    }
    fail<TypeError>(
        "save: PyTorch's files hold tensors, numbers, texts, and lists, tuples, sets and dicts of them, not {}: save a "
        "module's "
        "state_dict()",
        nb::cast<std::string>(nb::type_name(o.type())));
  }
};

}  // namespace

void add_torch_files(nb::module_& m) {
  m.def(
      "_load_torch",
      [](const Path& path, const std::vector<std::string>& allowed, nb::object make) {
        io::TorchFile file;
        {
          Unlocked unlocked;
          file = io::read_torch(path.native(), allowed);
        }
        return ToPython(std::move(make)).value(file.value);
      },
      nb::arg("path"), nb::arg("allowed"), nb::arg("make"), "What PyTorch saved. make: makes an allowed class's object.");
  m.def(
      "_save_torch",
      [](nb::object obj, const Path& path) {
        const Value v = FromPython().value(obj);
        Unlocked unlocked;
        io::save_torch(path.native(), v);
      },
      nb::arg("obj"), nb::arg("path"), "Writes what PyTorch's torch.load(weights_only=True) reads.");
  m.def(
      "_is_torch_name", [](const std::string& path) { return io::has_ending(path, io::torch_writer.endings); }, nb::arg("path"),
      "Whether a name is that of PyTorch's files.");
}

}  // namespace dyadic::inline v1::python
