// A machine for pickles (protocols 0 to 5) that runs nothing: it knows by name what makes plain data (collections.OrderedDict,
// torch.Size, numpy's scalars ...) and does that itself; all other names become objects, which are listed and left alone.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dyadic/torch_file.h"

namespace dyadic::inline v1::io {

// PyTorch's dtypes that none here is, but whose tensors are read: a Kind::dtype without a dtype, that has this text.
inline constexpr const char *kComplexHalf = "complex32", *kFloat4Pairs = "float4_e2m1fn_x2";

using Node = Value::Node;
inline constexpr int kMostDepth = 256;  // lists in lists

class Pickle {
 public:
  // What a reader of tensors adds. Both give a null node for what they do not know.
  struct Host {
    std::function<Value(const Value& id)> persistent;
    std::function<Value(const std::string& name, const Value& args)> call;
  };
  Pickle(std::string where, std::string_view bytes, const Host& host);  // where: "<path>: data.pkl"
  ~Pickle();
  Pickle(const Pickle&) = delete;
  Value run();                                                          // up to its STOP
  size_t used() const { return at_; }                                   // bytes
  const std::vector<std::string>& globals() const { return globals_; }  // those that are no data

 private:
  std::string where_;
  std::string_view bytes_;
  const Host& host_;
  size_t at_ = 0, op_at_ = 0, copied_ = 0;
  std::vector<Value> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Value> memo_;
  std::vector<std::shared_ptr<Node>> made_;  // all that can hold others
  std::vector<std::string> globals_;
  bool finished_ = false;

  [[noreturn]] void wrong(const std::string& why) const;
  uint64_t number(int width);
  std::string_view take(uint64_t n);
  std::string_view line();
  Value pop();
  Value& top();
  std::vector<Value> pop_mark();
  void spend(size_t n);
  Value container(Value::Kind kind, std::vector<Value> items = {});
  void push_text(std::string_view text, bool may_be_bytes);
  void push_integer(std::string_view little_endian);
  void push_decimal(std::string_view text);
  void push_global(std::string module, std::string name);
  void put(uint64_t index);
  void get(uint64_t index);
  void append(const Value& to, std::vector<Value> items);
  void set_items(const Value& to, std::vector<Value> pairs);
  void build(const Value& to, Value state);
  Value call(const Value& what, const Value& args, bool raw = false);
  Value known(const std::string& name, const Value& args);
  Value known_to_numpy(const std::string& name, const Value::List& args);
  bool step(uint8_t op);
  bool step_numbers(uint8_t op);
  bool step_texts(uint8_t op);
  bool step_memory(uint8_t op);
  bool step_containers(uint8_t op);
  bool step_objects(uint8_t op);
  void check_shape(const Value& root);
};

}  // namespace dyadic::inline v1::io
