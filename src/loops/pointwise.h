// The one loop of all pointwise ops: broadcasting, strides and dtypes are dealt with here, a tile at a time, so that kernels
// see dense arrays of their compute type. (Kernels templated on stored dtypes and layouts: 23 s and 1.56 MB for 24 ops; this
// way 0.5 s and 23 KB, and bf16 ran slightly faster.)
#pragma once
#include "loops/tile.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {

struct PointwiseLoop {
  static constexpr int kOperands = 6;
  Compute compute = Compute::f32;
  Tile tile = nullptr;
  Tile bf16_tile = nullptr;            // the same on bf16, if there is one
  const Tile* narrow_tiles = nullptr;  // and on narrow integers
  bool takes_one = false;              // `tile` reads single elements
  bool mask_out = false;               // the tile writes one byte per element, 0 or 1
  bool real_out = false;               // of complex numbers the tile writes real ones
  bool bits = false;                   // each bit of an integer is computed by itself
  const Tensor* in[kOperands]{};       // null: the tile does not read it
  int inputs = 0;
  const double* params = nullptr;
  // Inputs broadcast to the shape of out; any strides and dtypes but scaled ones. Out may be one of the inputs, not overlap
  // otherwise.
  void run(const Tensor& out) const;
};

// dst = src, elementwise, both of one shape after broadcasting src; converts. Neither scaled.
void copy_elements(const Tensor& dst, const Tensor& src, const Round& round = {});

}  // namespace dyadic::inline v1
