// The small language of a record's `samples` and `bad` lines (README.md): `op(randn(2, 3), [1], 1e-05, None, True, 'mean',
// bf16)`.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "corridor/signature.h"

namespace dyadic::op_suite {

struct Value {
  enum class Kind : uint8_t { none, boolean, integer, real, text, word, list, tensor } kind = Kind::none;
  int64_t integer = 0;  // also of a boolean
  double real = 0;
  std::string text;         // of a text or word; a tensor's maker
  std::vector<Value> list;  // of a list
  // Of a tensor: randn, rand, steps, zeros, ones, mask, indices, spd.
  std::vector<int64_t> shape;
  int64_t classes = 0;   // indices(classes; ...)
  bool complex = false;  // randn(...; complex): c64, or c128 where the call's dtype is f64
  bool wide = false;     // randn(...; wide): f32 where the call's dtype is narrower, as statistics are kept
};
struct Sample {
  Op op{};
  std::vector<Value> args;
  std::string line;  // as written
};

// Throws Error naming the line and what was expected.
Sample parse_sample(std::string_view line);
std::vector<std::string> lines_of(const char* text);

// A call's arguments as a frame. Tensor values take `tensors` in order; missing arguments take the signature's defaults.
class CallFrame {
  std::vector<Tensor> given_;
  std::vector<std::vector<Tensor>> lists_;
  std::vector<std::vector<int64_t>> ints_;
  std::vector<Arg> args_;
  Op op_;

 public:
  CallFrame(const Sample& sample, const std::vector<Tensor>& tensors);
  std::vector<Tensor> run();  // its outputs; undefined ones stay so
  void run_inplace();         // writes into the first tensor
  const std::vector<Arg>& arguments() const { return args_; }
};
// The tensor values of a sample in order.
std::vector<const Value*> tensor_values(const Sample& sample);

}  // namespace dyadic::op_suite
