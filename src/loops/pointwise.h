// The one loop of all pointwise ops: broadcasting, strides and dtypes are dealt with here, a tile at a time, so that kernels
// see dense arrays of their compute type. (Kernels templated on stored dtypes and layouts: 23 s and 1.56 MB for 24 ops; this
// way 0.5 s and 23 KB, and bf16 ran slightly faster.)
#pragma once
#include "loops/space.h"

namespace dyadic::inline v1 {

// What is done to each element.
struct Elementwise {
  Compute compute = Compute::f32;
  Tile tile = nullptr;
  Tile bf16_tile = nullptr;            // the same on bf16, if there is one
  const Tile* narrow_tiles = nullptr;  // and on narrow integers
  bool takes_one = false;              // `tile` reads single elements
  bool mask_out = false;               // the tile writes one byte per element, 0 or 1
  bool real_out = false;               // of complex numbers the tile writes real ones
  bool bits = false;                   // each bit of an integer is computed by itself
  double params[2 * kMaxParams];       // loops/tile.h
};

struct PointwisePlan : Elementwise {
  // Where the elements lie: laid out by place().
  bool small = false;   // one tile, without the search for a way through strides
  bool direct = false;  // a tile of the compute type writes what is stored
  uint8_t singles = 0;  // bit i: input i is a single element
  int inputs = 0;
  int64_t numel = 0;
  const Format* rounded[kMaxOperands]{};    // set: input i, a single element, is rounded to this format before it is read
  const Format* given[kMaxOperands];        // what it lies in
  const Format* formats[kMaxOperands + 1];  // what is read and written; null: none
  tiles::Space space;                       // not of small ones

  // Inputs, null where the tile does not read one, broadcast to the shape of out; any strides and dtypes but blocked ones. Out
  // may be one of the inputs, not overlap otherwise.
  void place(const Form* const* in, int count, const Form& out);
  void run(const void* const* in, void* out) const;
};

// dst = src, elementwise, both of one shape after broadcasting src; converts. Neither blocked.
void copy_elements(const Form& dst, void* to, const Form& src, const void* from, const Round& round = {});
inline void copy_elements(const Array& dst, const Array& src, const Round& round = {}) {
  copy_elements(dst, dst.at, src, src.at, round);
}
inline void copy_elements(const Tensor& dst, const Tensor& src, const Round& round = {}) {
  copy_elements(*dst.impl(), dst.impl()->data(), *src.impl(), src.impl()->data(), round);
}

}  // namespace dyadic::inline v1
