// What a pickle asks to be called. What is known to be data is made here; the rest is written down as objects.
#include <algorithm>
#include <cstring>

#include "dyadic/ops.h"
#include "io/bad_file.h"
#include "io/npy.h"
#include "io/pickle.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

using Kind = Value::Kind;

// Names that are no reason to refuse a file: those that known() and a reader of tensors (torch_tensors.cpp) answer, and the
// classes they are called with.
constexpr std::string_view kData[] = {"_codecs.encode",
                                      "builtins.bytearray",
                                      "builtins.complex",
                                      "builtins.frozenset",
                                      "builtins.set",
                                      "collections.Counter",
                                      "collections.OrderedDict",
                                      "numpy._core.multiarray.scalar",
                                      "numpy.core.multiarray.scalar",
                                      "numpy.dtype",
                                      "torch.Size",
                                      "torch.Tensor",
                                      "torch._tensor._rebuild_from_type_v2",
                                      "torch._utils._rebuild_parameter",
                                      "torch._utils._rebuild_parameter_with_state",
                                      "torch._utils._rebuild_qtensor",
                                      "torch._utils._rebuild_tensor",
                                      "torch._utils._rebuild_tensor_v2",
                                      "torch._utils._rebuild_tensor_v3",
                                      "torch.device",
                                      "torch.nn.parameter.Parameter",
                                      "torch.per_channel_affine",
                                      "torch.per_channel_affine_float_qparams",
                                      "torch.per_channel_symmetric",
                                      "torch.per_tensor_affine",
                                      "torch.per_tensor_symmetric",
                                      "torch.storage.UntypedStorage"};

bool is_data(std::string_view name) {
  return std::ranges::binary_search(kData, name) || (name.starts_with("torch.") && name.ends_with("Storage"));
}

DType torch_dtype(std::string_view name) {
  for (const DType d : registered_dtypes())
    if (!d.is_blocked() && d.long_name() == name) return d;
  return {};
}

std::string latin1(std::string_view utf8, bool& fits) {
  std::string out;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto c = uint8_t(utf8[i]);
    fits = fits && c < 0xc4;
    out += c < 0x80 || i + 1 == utf8.size() ? char(c) : char(c << 6 | (uint8_t(utf8[++i]) & 0x3f));
  }
  return out;
}

Value node(Kind kind, std::string text) {
  Value v(std::move(text));
  v.node()->kind = kind;
  return v;
}

// numpy's scalar: its dtype, which knows the byte order, and its bytes.
Value number_of(const Node& type, std::string bytes) {
  if (type.text == ">") {
    const size_t part = type.dtype.is_complex() ? bytes.size() / 2 : bytes.size();
    for (size_t i = 0; i < bytes.size(); i += part)
      std::reverse(bytes.begin() + ptrdiff_t(i), bytes.begin() + ptrdiff_t(i + part));
  }
  const Tensor t = make_tensor({}, type.dtype, cpu);
  std::memcpy(t.impl()->data(), bytes.data(), bytes.size());
  const Scalar s = t.item_scalar();
  if (s.kind() == Scalar::Kind::boolean) return s.toBool();
  if (s.kind() == Scalar::Kind::real) return s.real();
  if (s.kind() == Scalar::Kind::integer && !s.is_unsigned()) return s.integer();
  if (s.kind() == Scalar::Kind::integer) return node(Kind::big, bytes + '\0');
  Value v = node(Kind::complex, "");
  v.node()->re = s.real(), v.node()->im = s.imag();
  return v;
}

}  // namespace

void Pickle::push_global(std::string module, std::string name) {
  if (module == "__builtin__") module = "builtins";  // Python 2's names, which protocols up to 2 keep
  if (module == "copy_reg") module = "copyreg";
  if (module.size() + name.size() > 1000) wrong("the name of a class is longer than 1000 bytes");
  if (module == "torch")
    if (const DType d = torch_dtype(name)) {
      stack_.push_back(node(Kind::dtype, ""));
      top().node()->dtype = d;
      return;
    }
  if (module == "torch" && (name == kComplexHalf || name == kFloat4Pairs)) return stack_.push_back(node(Kind::dtype, name));
  std::string full = module + "." + name;
  if (!is_data(full) && std::ranges::find(globals_, full) == globals_.end()) {
    if (globals_.size() == 10000) wrong("it asks for more than 10000 classes and functions");
    globals_.push_back(full);
  }
  stack_.push_back(node(Kind::global, std::move(full)));
}

Value Pickle::call(const Value& what, const Value& args, bool raw) {
  const Node* n = what.node();
  if (!n || (n->kind != Kind::global && n->kind != Kind::object)) wrong("something is called that is no class or function");
  if (n->kind == Kind::global && is_data(n->text)) {
    if (args.kind() != Kind::tuple) wrong(fmt::format("{} is called without a tuple of arguments", n->text));
    Value made = known(n->text, args);
    if (made.kind() == Kind::none && host_.call) made = host_.call(n->text, args);
    if (made.kind() == Kind::none) wrong(fmt::format("{} is called with arguments that it does not take", n->text));
    return made;
  }
  Value made = container(Kind::object);
  made.node()->text = n->text;
  made.node()->args = args;
  made.node()->raw = raw;
  return made;
}

Value Pickle::known_to_numpy(const std::string& name, const Value::List& a) {
  if (name == "numpy.dtype") {
    if (a.empty() || a[0].kind() != Kind::text) return {};
    Value made = node(Kind::dtype, "");
    made.node()->dtype = dtype_of_numpy(a[0].text());
    if (!made.node()->dtype) wrong(fmt::format("numpy's dtype {} is none of plain numbers", quote_name(a[0].text())));
    return made;
  }
  if (a.size() != 2 || a[0].kind() != Kind::dtype || a[1].kind() != Kind::bytes) return {};
  const std::string& bytes = a[1].node()->text;
  if (!a[0].node()->dtype) return {};
  return int64_t(bytes.size()) == a[0].node()->dtype.itemsize() ? number_of(*a[0].node(), bytes) : Value();
}

// None: not with these arguments, or not here.
Value Pickle::known(const std::string& name, const Value& args) {
  const Value::List& a = args.items();
  const auto is = [&](size_t i, Kind kind) { return i < a.size() && a[i].kind() == kind; };
  const auto listed = [&](Kind kind) {
    if (a.empty()) return container(kind);
    if (!is(0, Kind::list) && !is(0, Kind::tuple) && !is(0, Kind::set)) return Value();
    spend(a[0].items().size() * sizeof(Value) / 4);
    return container(kind, a[0].items());
  };
  Value made;
  if (name == "builtins.set" || name == "builtins.frozenset") {
    made = listed(Kind::set);
    if (made.node() && name == "builtins.frozenset") made.node()->text = name;
  } else if (name == "torch.Size") {
    made = listed(Kind::tuple);
    if (made.node()) made.node()->text = name;
  } else if (name == "collections.OrderedDict" || name == "collections.Counter") {
    made = container(Kind::dict);
    made.node()->text = name;
    if (is(0, Kind::dict)) {
      spend(a[0].entries().size() * sizeof(Value) / 2);
      made.node()->entries = a[0].entries();
    } else if (is(0, Kind::list)) {
      spend(a[0].items().size() * sizeof(Value) / 2);
      for (const Value& pair : a[0].items()) {
        if ((pair.kind() != Kind::list && pair.kind() != Kind::tuple) || pair.items().size() != 2) return {};
        made.node()->entries.emplace_back(pair.items()[0], pair.items()[1]);
      }
    } else if (!a.empty()) {
      return {};
    }
  } else if (name == "_codecs.encode" || name == "builtins.bytearray") {
    if (is(0, Kind::bytes)) return a[0];
    if (a.empty()) return node(Kind::bytes, "");
    if (!is(0, Kind::text) || !is(1, Kind::text) || (a[1].text() != "latin1" && a[1].text() != "latin-1")) return {};
    spend(a[0].text().size());
    bool fits = true;
    made = node(Kind::bytes, latin1(a[0].text(), fits));
    if (!fits) return {};
  } else if (name == "builtins.complex") {
    if (a.size() != 2 || (!is(0, Kind::real) && !is(0, Kind::integer)) || (!is(1, Kind::real) && !is(1, Kind::integer)))
      return {};
    made = node(Kind::complex, "");
    made.node()->re = a[0].real(), made.node()->im = a[1].real();
  } else if (name == "torch.device") {
    if (!is(0, Kind::text)) return {};
    spend(a[0].text().size());
    made = node(Kind::device, a[0].text() + (is(1, Kind::integer) ? fmt::format(":{}", a[1].integer()) : ""));
  } else if (name.starts_with("numpy.")) {
    return known_to_numpy(name, a);
  }
  return made;
}

void Pickle::build(const Value& to, Value state) {
  Node* n = to.node();
  const Kind kind = to.kind();
  if (kind == Kind::dtype && n->dtype) {  // numpy's: its version, byte order ...
    if (state.kind() == Kind::tuple && state.items().size() > 1 && state.items()[1].kind() == Kind::text)
      n->text = state.items()[1].text();
  } else if (kind == Kind::dict || kind == Kind::object) {
    n->state = std::move(state);
  } else if (kind != Kind::tensor && kind != Kind::set) {
    wrong("attributes for what has none");
  }
}

bool Pickle::step_objects(uint8_t op) {
  const auto two = [&](bool with_keywords, bool raw) {  // a class and its arguments
    Value keywords = with_keywords ? pop() : Value(), args = pop(), what = pop();
    if (with_keywords && (keywords.kind() != Kind::dict || !keywords.entries().empty())) {
      args = container(Kind::tuple, {args, keywords});
      if (what.kind() != Kind::global || is_data(what.node()->text))
        wrong("a class is called with keywords that it does not take");
    }
    stack_.push_back(call(what, args, raw));
  };
  switch (op) {
    case 'c': {
      const std::string_view module = line(), name = line();
      push_global(std::string(module), std::string(name));
      return true;
    }
    case 0x93: {
      const Value name = pop(), module = pop();
      if (name.kind() != Kind::text || module.kind() != Kind::text) wrong("the name of a class is no text");
      push_global(module.text(), name.text());
      return true;
    }
    case 'R':
      return two(false, false), true;
    case 0x81:
      return two(false, true), true;
    case 0x92:
      return two(true, true), true;
    case 'b': {
      Value state = pop();
      build(top(), std::move(state));
      return true;
    }
    case 'i': {
      const std::string_view module = line(), name = line();
      Value args = container(Kind::tuple, pop_mark());
      push_global(std::string(module), std::string(name));
      const Value what = pop();
      stack_.push_back(call(what, args));
      return true;
    }
    case 'o': {
      std::vector<Value> all = pop_mark();
      if (all.empty()) wrong("a class is wanted, none is there");
      const Value what = all.front();
      all.erase(all.begin());
      stack_.push_back(call(what, container(Kind::tuple, std::move(all))));
      return true;
    }
    case 'Q': {
      const Value id = pop();
      Value found = host_.persistent ? host_.persistent(id) : Value();
      if (found.kind() == Kind::none) wrong("a reference to something outside that is no memory of tensors");
      stack_.push_back(std::move(found));
      return true;
    }
    case 0x82:
    case 0x83:
    case 0x84:
      wrong("it names classes by the numbers of one program's registry");
    default:
      return false;
  }
}

}  // namespace dyadic::inline v1::io
