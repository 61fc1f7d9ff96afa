// target = source between device tensors, converted and rounded once: what every op that moves values is made of.
#pragma once
#include "dyadic/tensor.h"
#include "formats/format.h"
#include "plugins/cuda/copies/space.h"
#include "plugins/cuda/elements.h"
#include "tensor/operand.h"

namespace dyadic::gpu {

// Of scalar formats, planned from geometry; `source` is broadcast.
struct Transfer {
  Code to, from;
  double max;      // of the target's format
  Space<2> space;  // target, source

  // Where rounding is stochastic (which plan_transfer() was told), element i of the target, in its logical order, draws word i.
  void run(void* target, const void* source, const Round& round = {}) const;
};
Transfer plan_transfer(const Operand& target, const Operand& source, bool stochastic = false);

// Of any formats; blocked ones through `workspace`, of as many bytes as assign_room() says. False, and nothing is done, where a
// format has no device code: assign_room() is then -1.
int64_t assign_room(const Operand& target, const Operand& source);
bool assign(const Array& target, const Array& source, const Round& round, void* workspace);

// Every element of a scalar array becomes the same, `value` as it is stored.
struct Filling {
  Space<1> space;
  int width;
  alignas(16) unsigned char value[16];
  void run(void* target) const;
};
Filling plan_filling(const Operand& target, const void* value);
// A number as an element of a format that is not blocked, on the host; `stored` holds 16 bytes.
void encode_number(const Scalar& value, const Format* format, void* stored);

// f(a word of so many bytes).
template <class F> void with_word(int width, F f) {
  switch (width) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Word16{});
  }
}
// f(a value of the type that a format is computed in).
template <class F> void with_value(Code code, F f) {
  switch (code) {
    case Code::f64:
      return f(double{});
    case Code::i64:
    case Code::u32:
      return f(int64_t{});
    case Code::u64:
      return f(uint64_t{});
    case Code::i8:
    case Code::i16:
    case Code::i32:
    case Code::u8:
    case Code::u16:
    case Code::boolean:
      return f(int32_t{});
    case Code::c64:
      return f(Parts<float>{});
    case Code::c128:
      return f(Parts<double>{});
    default:
      return f(float{});
  }
}

}  // namespace dyadic::gpu
