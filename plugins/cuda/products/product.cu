#include "plugins/cuda/products/product.h"

#include <algorithm>
#include <utility>

#include "plugins/cuda/copies/assign.h"

namespace dyadic::gpu {
Math math_of(DType d) {
  switch (code_of(d.format())) {
    case Code::f64:
      return Math::f64;
    case Code::bf16:
      return Math::bf16;
    case Code::f16:
      return Math::f16;
    case Code::c64:
      return Math::c64;
    case Code::c128:
      return Math::c128;
    case Code::f8e4m3fn:
    case Code::f8e5m2:
    case Code::f8e4m3fnuz:
    case Code::f8e5m2fnuz:
    case Code::f8e3m4:
      return Math::bf16;
    case Code::i64:
    case Code::u64:
      return Math::i64;
    case Code::i8:
    case Code::i16:
    case Code::i32:
    case Code::u8:
    case Code::u16:
    case Code::u32:
    case Code::boolean:
      return Math::i32;
    case Code::none: {  // packed: i4 is i32's, f4 and f6 bf16's as f8 is
      const FormatDef& f = *d.format()->def;
      return f.kind == Kind::floating ? Math::bf16 : f.kind == Kind::scaled ? Math::f32 : Math::i32;
    }
    default:
      return Math::f32;
  }
}

const Format& own_format(Code code) {
  static const FormatDef defs[] = {
      {.name = "f32", .kind = Kind::floating, .compute = Compute::f32, .bits = 32, .exponent_bits = 8, .mantissa_bits = 23},
      {.name = "f64", .kind = Kind::floating, .compute = Compute::f64, .bits = 64, .exponent_bits = 11, .mantissa_bits = 52},
      {.name = "bf16", .kind = Kind::floating, .compute = Compute::f32, .bits = 16, .exponent_bits = 8, .mantissa_bits = 7},
      {.name = "f16", .kind = Kind::floating, .compute = Compute::f32, .bits = 16, .exponent_bits = 5, .mantissa_bits = 10},
      {.name = "i32", .kind = Kind::sint, .compute = Compute::i32, .bits = 32},
      {.name = "i64", .kind = Kind::sint, .compute = Compute::i64, .bits = 64},
  };
  static const Format formats[] = {{&defs[0]}, {&defs[1]}, {&defs[2]}, {&defs[3]}, {&defs[4]}, {&defs[5]}};
  for (const Format& f : formats)
    if (code_of(&f) == code) return f;
  return formats[0];
}

void ProductOperand::plan(const char* who, const Operand& o, const Format* copy_as, bool copy, bool in_order) {
  given_ = read = o;
  copied_ = copy;
  if (!copy) return;
  from_ = o;
  const bool turned = !in_order && o.ndim >= 2 && o.steps[o.ndim - 2] == 1 && o.steps[o.ndim - 1] >= o.lengths[o.ndim - 2];
  const auto turn = [](Operand& t) {
    std::swap(t.lengths[t.ndim - 2], t.lengths[t.ndim - 1]), std::swap(t.steps[t.ndim - 2], t.steps[t.ndim - 1]);
  };
  if (turned) turn(from_);
  to_ = Operand(from_.sizes(), DType(copy_as));
  read = to_;
  if (turned) turn(read), read.dense = false, from_.dense = false;
  bytes_ = padded(o.count * copy_as->itemsize());
  room_ = assign_room(to_, from_);
  DY_CHECK(room_ >= 0, "{}: no kernel for device cuda reads {}; convert it with .to", who, o.format->text);
  room_ = padded(room_);
}

GemmSide ProductOperand::side() const {
  GemmSide s;
  s.code = code_of(read.format);
  if (s.code == Code::none) s.format = read.format, s.geometry = read.geometry, s.first = read.offset;
  return s;
}

const void* ProductOperand::load(const void* data, char*& workspace) const {
  if (!copied_) return data;
  char* const to = workspace;
  assign(Array(to_, static_cast<void*>(to)), Array(from_, data), Round{}, to + bytes_);
  workspace += bytes_ + room_;
  return to;
}

bool rows_of(const Operand& o, int count, int64_t* stride) {
  int64_t step = 0, next = 0;  // of the last dimension that has some; what one further in front must have
  for (int d = count - 1; d >= 0; --d) {
    if (o.lengths[d] == 1) continue;
    if (next && o.steps[d] != next) return false;
    if (!next) step = o.steps[d];
    next = o.steps[d] * o.lengths[d];
    if (!next) return o.count == 0;  // broadcast, or without elements
  }
  *stride = step;
  return true;
}

void merge_batch(Gemm& g) {
  ProductShape& s = g.shape;
  int64_t* const steps[] = {g.a.steps.entries, g.b.steps.entries, g.entries};
  int dims = 0;
  s.batch = 1;
  for (int d = 0; d < s.dims; ++d) {
    const int64_t size = s.sizes[d];
    s.batch *= size;
    if (size == 1) continue;
    const bool follows = dims && std::ranges::all_of(steps, [&](int64_t* t) { return t[dims - 1] == t[d] * size; });
    dims += !follows;
    for (int64_t* t : steps) t[dims - 1] = t[d];
    s.sizes[dims - 1] = follows ? s.sizes[dims - 1] * size : size;
  }
  s.dims = dims;
}

void begin_product(Call& c, Product& p) {
  p = Product{};
  p.gemm.math = math_of(c.spec[0].dtype);
  constexpr int kDropped[] = {0, 13, 16};  // by ops::FewerBits
  if (p.gemm.math == Math::f32) p.gemm.dropped = kDropped[c.fewer_bits];
}

void plan_product(Call& c, Product& p) {
  Gemm& g = p.gemm;
  p.out = c.result();
  g.out = code_of(p.out.format);
  if (g.out == own_code(g.math)) g.bias_as = g.out;
  if (!p.direct) p.result = Operand(p.out.sizes(), p.out.dtype());
  merge_batch(g);
  plan_gemm(g);
  const int64_t result = p.direct ? 0 : padded(p.out.count * p.out.itemsize()) + padded(assign_room(p.out, p.result));
  c.plan.workspace = p.a.bytes() + p.b.bytes() + result + g.workspace;
}

void run_product(const Product& p, const Pointers& at) {
  char* w = static_cast<char*>(at.workspace);
  GemmPointers g{};
  g.a = p.a.load(at.in[0], w), g.b = p.b.load(at.in[1], w);
  g.bias = p.biased ? at.in[2] : nullptr;
  g.c = p.direct ? at.out[0] : w;
  char* const room = w + (p.direct ? 0 : padded(p.out.count * p.out.itemsize()));
  if (!p.direct) w = room + padded(assign_room(p.out, p.result));
  g.workspace = w;
  run_gemm(p.gemm, g);
  if (!p.direct) assign(Array(p.out, at.out[0]), Array(p.result, g.c), Round{}, room);
}

}  // namespace dyadic::gpu
