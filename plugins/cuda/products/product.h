// What matmul and linear share: operands of any layout and format made into those of a Gemm, in place where it reads them so,
// else as a copy in the workspace.
#pragma once
#include "corridor/call.h"
#include "plugins/cuda/products/gemm.h"

namespace dyadic::gpu {

// What a product of results of dtype `d` multiplies: f8 is bf16 exactly, but for powers of two, whose range is f32's; integers
// are taken modulo 2^32 or 2^64.
Math math_of(DType d);
// A format of the plug-in's own, which tells as much of itself as code_of() asks: the program's objects are not known here.
const Format& own_format(Code code);

class ProductOperand {
  Operand given_, to_, from_;  // to_ = from_: the copy, in the order in which its source is stored
  bool copied_ = false;
  int64_t bytes_ = 0, room_ = 0;

 public:
  Operand read{};  // sizes and steps as the product sees them

  // copy: as `copy_as`; in_order: row by row.
  void plan(const char* who, const Operand& o, const Format* copy_as, bool copy, bool in_order = false);
  int64_t bytes() const { return bytes_ + room_; }
  const void* load(const void* data, char*& workspace) const;
  int64_t step(int back) const { return read.ndim < back ? 0 : read.steps[read.ndim - back]; }
  GemmSide side() const;  // without steps
  int64_t batch_step(int back) const { return read.ndim < back || read.lengths[read.ndim - back] == 1 ? 0 : step(back); }
};

struct Product {
  Gemm gemm;
  ProductOperand a, b;
  Operand out, result;  // result: what the product writes, where that is not `out`
  bool direct, biased;
};

void begin_product(Call& c, Product& p);  // what it multiplies
// Sizes, operands, and strides of gemm and whether the result is written in place are set: decides the rest.
void plan_product(Call& c, Product& p);
void run_product(const Product& p, const Pointers& at);

// Batch dimensions in which all three step on as in the one behind them become one with it.
void merge_batch(Gemm& g);
// Whether the first `count` dimensions are one of this stride.
bool rows_of(const Operand& o, int count, int64_t* stride);

}  // namespace dyadic::gpu
