// dyadic.dtype: one object per format, made when first asked for and never freed. And reading dtypes, devices and numbers.
#include <cstring>
#include <unordered_map>

#include "object.h"

namespace dyadic::inline v1::python {

PyTypeObject* dtype_type = nullptr;

namespace {

DType dtype_of(PyObject* o) { return reinterpret_cast<PyDType*>(o)->dtype; }

// A dtype's text as an identifier: "i4(group=32)" is dyadic.i4_group32.
std::string identifier(std::string text) {
  std::string name;
  for (char c : text)
    if (c == '(' || c == ',')
      name += '_';
    else if (c != ')' && c != '=')
      name += c;
  return name;
}

bool is_registered(DType d) {
  for (DType r : registered_dtypes())
    if (r == d) return true;
  return false;
}
// Its usual name as an attribute of the module: "bfloat16", "nf4", and "i8_row" where "i8" is another.
std::string attribute_name(DType d) {
  if (!d.is_scaled()) return d.long_name();
  std::string name = d.format()->def->name;
  return DType::parse(name) == d ? name : identifier(d.name());
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    DType d = dtype_of(self);
    const auto package = nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(dtype_type)).attr("__module__"));
    std::string s = is_registered(d) ? "." + attribute_name(d) : ".dtype(\"" + d.name() + "\")";
    return PyUnicode_FromString((package + s).c_str());
  });
}
PyObject* new_dtype(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"text", nullptr};
  PyObject* given = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:dtype", const_cast<char**>(names), &given)) return nullptr;
  return guarded([&] {
    auto d = read_dtype(given);
    DY_CHECK_AS(TypeError, d, "dtype: it is made from text such as \"bf16\" or \"nf4(block=128)\", not from {}",
                Py_TYPE(given)->tp_name);
    return wrap(*d);
  });
}
PyObject* reduce(PyObject* self, PyObject*) { return Py_BuildValue("O(s)", dtype_type, dtype_of(self).name().c_str()); }

template <class F> PyObject* get(PyObject* self, F f) {
  return guarded([&] { return f(dtype_of(self)); });
}
PyObject* get_name(PyObject* s, void*) {
  return get(s, [](DType d) { return PyUnicode_FromString(d.name().c_str()); });
}
PyObject* get_long_name(PyObject* s, void*) {
  return get(s, [](DType d) { return PyUnicode_FromString(d.long_name().c_str()); });
}
PyObject* get_itemsize(PyObject* s, void*) {
  return get(s, [](DType d) { return PyLong_FromLongLong(d.itemsize()); });
}
PyObject* get_bits(PyObject* s, void*) {
  return get(s, [](DType d) { return PyFloat_FromDouble(d.bits()); });
}
PyObject* get_floating(PyObject* s, void*) {
  return get(s, [](DType d) { return PyBool_FromLong(d.is_floating_point()); });
}
PyObject* get_integer(PyObject* s, void*) {
  return get(s, [](DType d) { return PyBool_FromLong(d.is_integer()); });
}
PyObject* get_complex(PyObject* s, void*) {
  return get(s, [](DType d) { return PyBool_FromLong(d.is_complex()); });
}
PyObject* get_signed(PyObject* s, void*) {
  return get(s, [](DType d) { return PyBool_FromLong(d.format()->def->kind != Kind::uint && d != boolean); });
}
PyObject* to_real(PyObject* self, PyObject*) {
  return get(self, [](DType d) { return wrap(d.to_real()); });
}
PyObject* to_complex(PyObject* self, PyObject*) {
  return get(self, [](DType d) { return wrap(d.to_complex()); });
}
PyObject* get_scaled(PyObject* s, void*) {
  return get(s, [](DType d) { return PyBool_FromLong(d.is_scaled()); });
}
PyObject* get_doc(PyObject* s, void*) {
  return get(s, [](DType d) { return PyUnicode_FromString(d.format()->def->doc); });
}

PyGetSetDef properties[] = {
    {"name", get_name, nullptr, "The short canonical text: \"bf16\", \"nf4(block=64,double)\".", nullptr},
    {"long_name", get_long_name, nullptr, "\"bfloat16\"; for scaled formats the same as name.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of an element; an error for scaled formats.", nullptr},
    {"bits", get_bits, nullptr, "Bits of an element's code, scales not counted.", nullptr},
    {"is_floating_point", get_floating, nullptr, "A plain float format.", nullptr},
    {"is_integer", get_integer, nullptr, "A plain integer format; bool is none.", nullptr},
    {"is_complex", get_complex, nullptr, "complex64 or complex128.", nullptr},
    {"is_signed", get_signed, nullptr, "Has negative numbers.", nullptr},
    {"is_scaled", get_scaled, nullptr, "Codes with scales.", nullptr},
    {"doc", get_doc, nullptr, "What it is and where it comes from.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"to_real", to_real, METH_NOARGS, "The dtype of a complex dtype's parts; else itself."},
    {"to_complex", to_complex, METH_NOARGS, "The complex dtype whose parts hold a float dtype; else itself."},
    {nullptr, nullptr, 0, nullptr}};

struct BufferFormat {
  DType dtype;
  const char* code;  // as in Python's struct module
};
constexpr BufferFormat kFormats[] = {{f64, "d"}, {f32, "f"}, {f16, "e"}, {i64, "q"}, {i32, "i"},     {i16, "h"},  {i8, "b"},
                                     {u8, "B"},  {u16, "H"}, {u32, "I"}, {u64, "Q"}, {boolean, "?"}, {c64, "Zf"}, {c128, "Zd"}};

}  // namespace

PyObject* wrap(DType d) {
  static std::unordered_map<const Format*, PyObject*> made;
  if (!d) Py_RETURN_NONE;
  PyObject*& o = made[d.format()];
  if (!o) {
    o = dtype_type->tp_alloc(dtype_type, 0);
    if (!o) return nullptr;
    reinterpret_cast<PyDType*>(o)->dtype = d;
  }
  return Py_NewRef(o);
}

std::optional<DType> read_dtype(PyObject* o) {
  if (is_dtype(o)) return dtype_of(o);
  if (PyUnicode_Check(o)) {
    Py_ssize_t n;
    const char* s = PyUnicode_AsUTF8AndSize(o, &n);
    if (!s) throw PythonError();
    return DType::parse({s, size_t(n)});
  }
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return f64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return i64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return boolean;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return c128;
  return std::nullopt;
}

std::optional<Scalar> read_number(PyObject* o) {
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  auto whole = [](PyObject* i) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(i, &overflow);
    if (overflow > 0) {
      const unsigned long long u = PyLong_AsUnsignedLongLong(i);
      if (PyErr_Occurred()) throw PythonError();
      return Scalar(size_t(u));
    }
    if (overflow < 0) PyErr_SetString(PyExc_OverflowError, "dyadic: a number below -2^63 fits no integer dtype");
    if (PyErr_Occurred()) throw PythonError();
    return Scalar(v);
  };
  if (PyLong_Check(o)) return whole(o);
  if (PyComplex_Check(o)) return Scalar(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  // numpy's scalars are mappings too; its arrays of one element convert to float as well, but are sequences.
  bool numpy = std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0;
  if (is_tensor(o) || PySequence_Check(o) || (PyMapping_Check(o) && !numpy)) return std::nullopt;
  PyNumberMethods* number = Py_TYPE(o)->tp_as_number;
  if (numpy && std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) == 0) return Scalar(PyObject_IsTrue(o) == 1);
  if (PyIndex_Check(o)) {
    nb::object i = nb::steal(PyNumber_Index(o));
    if (!i.is_valid()) throw PythonError();
    return whole(i.ptr());
  }
  if (numpy && std::strncmp(Py_TYPE(o)->tp_name, "numpy.complex", 13) == 0) {
    const Py_complex v = PyComplex_AsCComplex(o);
    if (PyErr_Occurred()) throw PythonError();
    return Scalar(v.real, v.imag);
  }
  if (number && number->nb_float) {
    double v = PyFloat_AsDouble(o);
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    return Scalar(v);
  }
  return std::nullopt;
}

const char* buffer_format(DType d) {
  for (const BufferFormat& f : kFormats)
    if (f.dtype == d) return f.code;
  return nullptr;
}

DType default_numpy_dtype(const char* format) {
  if (!format) return u8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  std::string_view code = format;
  if (code == "l") code = sizeof(long) == 8 ? "q" : "i";
  if (code == "L") code = sizeof(long) == 8 ? "Q" : "I";
  for (const BufferFormat& f : kFormats)
    if (f.code == code) return f.dtype;
  return {};
}

void add_dtype_type(nb::module_& m) {
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(new_dtype)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>("dtype(text)\n--\n\nWhat an element of a tensor is: any number format, such "
                                    "as \"bf16\", \"i8\" or \"nf4(block=128,double)\".")},
      {0, nullptr}};
  PyType_Spec spec{"dyadic.dtype", int(sizeof(PyDType)), 0, Py_TPFLAGS_DEFAULT, slots};
  dtype_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!dtype_type) throw nb::python_error();
  m.attr("dtype") = nb::borrow(reinterpret_cast<PyObject*>(dtype_type));

  nb::list names;
  auto put = [&](const std::string& name, DType d) {
    if (nb::hasattr(m, name.c_str())) return;
    m.attr(name.c_str()) = nb::steal(wrap(d));
    names.append(name);
  };
  for (DType d : registered_dtypes()) {
    put(attribute_name(d), d);
    put(identifier(d.name()), d);
  }
  const std::pair<const char*, DType> torch_names[] = {{"double", f64}, {"float", f32}, {"half", f16},   {"long", i64},
                                                       {"int", i32},    {"short", i16}, {"cfloat", c64}, {"cdouble", c128}};
  for (auto& [name, d] : torch_names) put(name, d);
  m.attr("_dtype_names") = names;
  m.def("registered_dtypes", [] {
    nb::list all;
    for (DType d : registered_dtypes()) all.append(nb::steal(wrap(d)));
    return all;
  });
}

}  // namespace dyadic::inline v1::python
