// Files of torch.save, read and written as plain values. Nothing that a file asks for is ever run.
//
//   dy::io::Value state = dy::io::load_torch("checkpoint.pt");
//   dy::Tensor w = state["model"]["fc.weight"].tensor();
//   dy::io::save_torch("weights.pt", dy::io::Value::dict({{"w", w}, {"step", 3}}));
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::io {

// What a pickle may hold: numbers, texts, tensors, and lists, tuples, sets and dicts of values. Lists and the like are shared,
// not copied: two Values may be one list.
class Value {
 public:
  struct Node;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::shared_ptr<Node>> v_;

 public:
  // big: an integer beyond int64. object: what another class or function would make; global: such a class or function itself.
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    real,
    complex,
    big,
    text,
    bytes,
    dtype,
    device,
    tensor,
    list,
    tuple,
    set,
    dict,
    object,
    global
  };
  using List = std::vector<Value>;
  using Entries = std::vector<std::pair<Value, Value>>;

  Value() = default;
  template <std::integral T> Value(T n) {
    if constexpr (std::is_same_v<T, bool>)
      v_ = n;
    else
      v_ = int64_t(n);
  }
  Value(double x) : v_(x) {}
  Value(std::string text);
  Value(const char* text) : Value(std::string(text)) {}
  Value(Tensor t);
  explicit Value(std::shared_ptr<Node> node) : v_(std::move(node)) {}
  static Value list(List items);
  static Value tuple(List items);
  static Value dict(Entries entries);

  Kind kind() const;
  // TypeError naming what is there instead.
  bool boolean() const;
  int64_t integer() const;
  double real() const;  // of integers too
  const std::string& text() const;
  const Tensor& tensor() const;
  const List& items() const;                            // of a list, tuple or set
  const Entries& entries() const;                       // of a dict; a key that is there twice counts where it is last
  const Value* find(std::string_view key) const;        // null: none
  const Value& operator[](std::string_view key) const;  // ValueError naming the nearest
  Node* node() const;                                   // null of none, bools, integers and reals
};

struct Value::Node {
  Kind kind = Kind::none;
  bool parameter = false, requires_grad = false;  // of a tensor
  bool raw = false;                               // of an object: made by __new__ and its state, not by a call
  uint8_t seen = 0;                               // of a walk
  uint16_t height = 0;                            // lists in lists below it
  int32_t index = -1;                             // of a reader: which of its tensors
  double re = 0, im = 0;                          // of a complex number
  // A text; bytes; a big number's, two's complement from the lowest on; "cuda:0"; "os.system" of objects and globals; of
  // tuples, sets and dicts the class they are where it is not the plain one: "torch.Size", "builtins.frozenset",
  // "collections.OrderedDict".
  std::string text;
  DType dtype;
  Tensor tensor;
  List items;
  Entries entries;
  Value args, state;  // of an object: what it would be called with; what it would then be given, an OrderedDict's attributes
};

inline Value::Node* Value::node() const {
  const auto* p = std::get_if<std::shared_ptr<Node>>(&v_);
  return p ? p->get() : nullptr;
}

struct TorchFile {
  Value value;
  std::vector<std::string> globals;  // what the file asks for that is no data, each once: "os.system"
};
// A zip or the older form, in any byte order. Tensors are read into memory, those that share their memory share it again.
// ValueError
// "<path>: ..." for what is not as it must be, and for a file with `globals` unless they are in `allowed`: "*" allows all. They
// are objects then, for the caller to judge.
TorchFile read_torch(const std::string& path, const std::vector<std::string>& allowed);
Value load_torch(const std::string& path);

// As PyTorch 2 writes it: torch.load(path, weights_only=True) opens it. Tensors that share their memory share it in the file,
// which appears whole or not at all. ValueError for objects other than sparse tensors as PyTorch makes them, dtypes that
// PyTorch has not, and what contains itself.
void save_torch(const std::string& path, const Value& value);

}  // namespace dyadic::inline v1::io
