// Python's objects behind the interfaces of the data layer.
#include "data.h"

#include <nanobind/stl/vector.h>

namespace dyadic::inline v1::python {
namespace {

using namespace data;

class PythonObject : public Foreign, public Held {
 public:
  using Held::Held;
  void unfold(std::span<Value> values) const override;
  std::string type_name() const override {
    nb::gil_scoped_acquire gil;
    return Py_TYPE(get().ptr())->tp_name;
  }
};

bool is_named_tuple(nb::handle o) { return nb::isinstance<nb::tuple>(o) && nb::hasattr(o, "_fields"); }
bool is_array(PyObject* o) { return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o); }

// What default_collate can look into; anything else stays an object.
Value read_tree(nb::handle o) {
  PyObject* p = o.ptr();
  if (is_tensor(p)) return tensor_of(p);
  if (nb::isinstance<nb::str>(o)) return nb::cast<std::string>(o);
  if (is_array(p)) return tensor_from(p, {});  // numpy's numbers too, which keep their dtype
  if (auto n = read_number(p)) return *n;
  if (nb::isinstance<nb::tuple>(o) || nb::isinstance<nb::list>(o)) {
    Value::List list;
    for (nb::handle item : o) list.push_back(read_tree(item));
    Value out(std::move(list));
    if (is_named_tuple(o)) out.type = std::make_shared<PythonObject>(nb::borrow(o.type()));
    return out;
  }
  if (nb::isinstance<nb::dict>(o)) {
    Value::Named named;
    for (auto [key, item] : nb::borrow<nb::dict>(o)) {
      DY_CHECK_AS(TypeError, nb::isinstance<nb::str>(key),
                  "default_collate: a dict's key is of type {}; only texts name the parts of a batch",
                  Py_TYPE(key.ptr())->tp_name);
      named.emplace_back(nb::cast<std::string>(key), read_tree(item));
    }
    Value out(std::move(named));
    if (!PyDict_CheckExact(p)) out.type = std::make_shared<PythonObject>(nb::borrow(o.type()));
    return out;
  }
  return foreign_value(nb::borrow(o));
}

void PythonObject::unfold(std::span<Value> values) const {
  calling_python([&] {
    for (Value& v : values)
      if (v.kind() == Value::Kind::foreign)
        if (auto* o = dynamic_cast<PythonObject*>(v.foreign().get())) v = read_tree(o->get());
  });
}

// Names the sample in the error that Python has raised: a note on the exception, which keeps its class.
[[noreturn]] void rethrow_with_note(nb::python_error& e, nb::handle index) {
  if (e.matches(PyExc_StopIteration)) nb::raise_from(e, PyExc_RuntimeError, "DataLoader: the dataset raised StopIteration");
  if (nb::hasattr(e.value(), "add_note"))
    e.value().attr("add_note")(nb::str("DataLoader: sample {} of the dataset").attr("format")(index));
  throw std::move(e);
}

class PythonDataset : public Dataset, public Held {
 public:
  using Held::Held;
  int64_t size() override {
    return calling_python([&] { return int64_t(nb::len(get())); });
  }
  Value get(int64_t index) override {
    return calling_python([&] { return fetch(nb::int_(index)); });
  }
  std::vector<Value> get_batch(IntList indices) override {
    return calling_python([&] {
      std::vector<Value> out;
      if (nb::hasattr(Held::get(), "__getitems__")) {
        for (nb::handle item : Held::get().attr("__getitems__")(nb::cast(indices.vec())))
          out.push_back(foreign_value(nb::borrow(item)));
        return out;
      }
      for (int64_t i : indices) {
        if (stopping()) break;
        out.push_back(fetch(nb::int_(i)));
      }
      return out;
    });
  }
  using Held::get;

 private:
  Value fetch(nb::object index) {
    try {
      return foreign_value(nb::borrow(get())[index]);
    } catch (nb::python_error& e) { rethrow_with_note(e, index); }
  }
};

// Python's iterator, from any thread; the value that it gives is read by `take`.
class PythonIterator : public Held {
 public:
  explicit PythonIterator(nb::handle iterable) : Held(nb::steal(PyObject_GetIter(iterable.ptr()))) {
    if (!get().is_valid()) throw PythonError();
  }
  template <class F> bool next(F&& take) {
    return calling_python([&] {
      nb::object item = nb::steal(PyIter_Next(get().ptr()));
      if (!item.is_valid() && PyErr_Occurred()) throw PythonError();
      if (item.is_valid())
        take(std::move(item));
      else
        return false;
      return true;
    });
  }
};

class PythonIterable : public IterableDataset, public Held {
 public:
  using Held::get;
  using Held::Held;
  int64_t size() override {
    return calling_python([&] { return int64_t(nb::len(get())); });
  }
  std::unique_ptr<ValueStream> iter() override {
    struct Stream : ValueStream {
      PythonIterator items;
      explicit Stream(nb::handle o) : items(o) {}
      bool next(Value& v) override {
        return items.next([&](nb::object item) { v = foreign_value(std::move(item)); });
      }
    };
    return calling_python([&] { return std::make_unique<Stream>(get()); });
  }
};

Generators generator_of(nb::handle o) {
  return calling_python([&] {
    nb::object g = nb::getattr(o, "generator", nb::none());
    return nb::isinstance<Generator>(g) ? nb::cast<Generators>(g) : Generators();
  });
}

class PythonSampler : public Sampler, public Held {
 public:
  using Held::Held;
  int64_t size() override {
    return calling_python([&] { return int64_t(nb::len(get())); });
  }
  Generators generator() const override { return generator_of(get()); }
  std::unique_ptr<IndexStream> iter() override {
    struct Stream : IndexStream {
      PythonIterator items;
      explicit Stream(nb::handle o) : items(o) {}
      bool next(int64_t& index) override {
        return items.next([&](nb::object item) { index = nb::cast<int64_t>(nb::int_(item)); });
      }
    };
    return calling_python([&] { return std::make_unique<Stream>(get()); });
  }
};

class PythonBatchSampler : public BatchSampler, public Held {
 public:
  using Held::Held;
  int64_t size() override {
    return calling_python([&] { return int64_t(nb::len(get())); });
  }
  Generators generator() const override {
    if (Generators own = generator_of(get())) return own;
    return calling_python([&] { return generator_of(nb::getattr(get(), "sampler", nb::none())); });
  }
  std::unique_ptr<BatchStream> iter() override {
    struct Stream : BatchStream {
      PythonIterator items;
      explicit Stream(nb::handle o) : items(o) {}
      bool next(std::vector<int64_t>& out) override {
        out.clear();
        return items.next([&](nb::object batch) {
          for (nb::handle i : batch) out.push_back(nb::cast<int64_t>(nb::int_(i)));
        });
      }
    };
    return calling_python([&] { return std::make_unique<Stream>(get()); });
  }
};

template <class T> bool is_own(nb::handle o) { return nb::isinstance<T>(o) && !nb::inst_python_derived(o); }

template <class Adapter, class T> nb::object object_of(const std::shared_ptr<T>& p) {
  if (!p) return nb::none();
  if (auto* adapter = dynamic_cast<Adapter*>(p.get())) return nb::borrow(static_cast<Held*>(adapter)->get());
  return nb::cast(p);
}

}  // namespace

Value foreign_value(nb::object o) { return Value(std::shared_ptr<Foreign>(std::make_shared<PythonObject>(std::move(o)))); }

nb::object to_object(const Value& v, bool as_tuples) {
  switch (v.kind()) {
    case Value::Kind::none:
      return nb::none();
    case Value::Kind::tensor:
      return nb::steal(wrap(v.tensor()));
    case Value::Kind::number:
      return nb::steal(to_python(v.number()));
    case Value::Kind::text:
      return nb::str(v.text().c_str(), v.text().size());
    case Value::Kind::foreign:
      return nb::borrow(dynamic_cast<const PythonObject&>(*v.foreign()).get());
    case Value::Kind::list: {
      nb::list items;
      for (const Value& item : v.list()) items.append(to_object(item, as_tuples));
      if (v.type) return nb::borrow(dynamic_cast<const PythonObject&>(*v.type).get())(*nb::tuple(items));
      return as_tuples || v.tuple ? nb::object(nb::tuple(items)) : nb::object(items);
    }
    default: {
      nb::dict items;
      for (auto& [name, item] : v.named()) items[nb::str(name.c_str(), name.size())] = to_object(item, as_tuples);
      return v.type ? nb::borrow(dynamic_cast<const PythonObject&>(*v.type).get())(items) : nb::object(items);
    }
  }
}

std::vector<Value> read_samples(nb::handle list) {
  std::vector<Value> out;
  for (nb::handle item : list) out.push_back(foreign_value(nb::borrow(item)));
  return out;
}

std::shared_ptr<Dataset> read_dataset(nb::handle o) {
  if (is_own<Dataset>(o)) return nb::cast<std::shared_ptr<Dataset>>(o);
  if (nb::isinstance<IterableDataset>(o)) return std::make_shared<PythonIterable>(nb::borrow(o));
  return std::make_shared<PythonDataset>(nb::borrow(o));
}
std::shared_ptr<Sampler> read_sampler(nb::handle o) {
  if (o.is_none()) return nullptr;
  if (is_own<Sampler>(o)) return nb::cast<std::shared_ptr<Sampler>>(o);
  return std::make_shared<PythonSampler>(nb::borrow(o));
}
std::shared_ptr<BatchSampler> read_batch_sampler(nb::handle o) {
  if (o.is_none()) return nullptr;
  if (is_own<BatchSampler>(o)) return nb::cast<std::shared_ptr<BatchSampler>>(o);
  return std::make_shared<PythonBatchSampler>(nb::borrow(o));
}
Generators read_generator(nb::handle o) { return o.is_none() ? nullptr : nb::cast<Generators>(o); }

nb::object dataset_object(const std::shared_ptr<Dataset>& d) {
  if (dynamic_cast<PythonIterable*>(d.get())) return object_of<PythonIterable>(d);
  return object_of<PythonDataset>(d);
}
nb::object sampler_object(const std::shared_ptr<Sampler>& s) { return object_of<PythonSampler>(s); }
nb::object batch_sampler_object(const std::shared_ptr<BatchSampler>& s) { return object_of<PythonBatchSampler>(s); }

}  // namespace dyadic::inline v1::python
