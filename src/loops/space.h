// The iteration space of elementwise loops: operands broadcast to one shape, dimensions merged, cut into tiles.
#pragma once
#include <algorithm>

#include "base/check.h"
#include "loops/stream_kernel.h"
#include "loops/tile.h"
#include "tensor/operand.h"

namespace dyadic::inline v1::tiles {

inline constexpr int64_t kTileBytes = 8192;  // tiles of all operands stay in L1
inline constexpr int64_t kLongRow = 256;     // rows at least this long are cut on their own: their operands need no gathering
inline constexpr int64_t kGathered = 1024;   // elements of a tile of shorter rows

struct Place {  // of an operand's elements
  const Format* format = nullptr;
  int64_t size = 0;          // bytes of an element
  int64_t stride[kMaxDims];  // in bytes
};

// A tile: at most `rows` entries of dimension `lead`, each of `inside` elements: all that is in the dimensions after it.
struct Cut {
  int lead;
  int64_t rows, inside;
};

// The iteration space after merging dimensions that are dense in every operand.
struct Space {
  int ndim = 0;
  int64_t size[kMaxDims];
  Place op[kMaxOperands + 1];
  int count = 0;

  void add(const Form& i, const Form& shape) {
    Place& x = op[count++];
    x.format = i.format;
    x.size = x.format->itemsize();
    for (int d = 0; d < shape.ndim; ++d) {
      int k = d - (shape.ndim - i.ndim);
      x.stride[d] = k < 0 || i.sizes[k] == 1 ? 0 : i.strides[k] * x.size;
    }
  }
  void skip() { op[count++].format = nullptr; }
  void coalesce(const Form& o) {
    for (int d = 0; d < o.ndim; ++d) {
      if (o.sizes[d] == 1) continue;
      bool merge = ndim > 0;
      for (int k = 0; k < count && merge; ++k)
        if (op[k].format) merge = op[k].stride[ndim - 1] == op[k].stride[d] * o.sizes[d];
      int at = merge ? ndim - 1 : ndim++;
      size[at] = merge ? size[at] * o.sizes[d] : o.sizes[d];
      for (int k = 0; k < count; ++k)
        if (op[k].format) op[k].stride[at] = op[k].stride[d];
    }
    if (ndim == 0) {
      ndim = 1;
      size[0] = 1;
      for (int k = 0; k < count; ++k) op[k].stride[0] = op[k].size;
    }
  }
  // Whether operand k, the result, is large, dense and none of the inputs.
  bool streams(int k, char* const* base) const {
    int64_t bytes = op[k].size;
    for (int d = 0; d < ndim; ++d) bytes *= size[d];
    if (bytes < stream_bytes() || ndim != 1 || op[k].stride[0] != op[k].size) return false;
    for (int i = 0; i < k; ++i)
      if (op[i].format && base[i] == base[k]) return false;
    return true;
  }
  // Whether all operands are dense and of one integer dtype of one or two bytes.
  bool alike() const {
    for (int k = 0; k < count; ++k)
      if (op[k].format != op[0].format || op[k].stride[0] != op[k].size) return false;
    return ndim == 1 && op[0].format && op[0].format->def->kind != Kind::floating && op[0].size <= 2;
  }
  int64_t tile() const {  // elements, as they are stored
    int64_t bytes = 1;
    for (int k = 0; k < count; ++k)
      if (op[k].format) bytes = std::max(bytes, op[k].size);
    return kTileBytes / bytes;
  }
  // Into tiles of at most `most` elements, of whole steps of any format if there are many.
  Cut cut(int64_t most) const {
    constexpr int64_t step = kBf16Step;
    Cut c{ndim - 1, 0, 1};
    if (size[ndim - 1] < kLongRow) {
      most = std::min(most, kGathered);
      while (c.lead > 0 && c.inside * size[c.lead] <= most) c.inside *= size[c.lead--];
    }
    const int64_t rows = std::max<int64_t>(1, most / c.inside);
    c.rows = std::min(size[c.lead], rows > step ? rows / step * step : rows);
    return c;
  }
};

// A way through the tiles of a space, in the result's order.
struct Walk {
  const Space& s;
  const Cut& cut;
  int64_t row;           // of dimension lead, where the tile begins
  int64_t n;             // elements of the tile
  int64_t outer;         // how often dimension lead has been walked
  int64_t at[kMaxDims];  // in the dimensions before lead
  char* base[kMaxOperands + 1];

  static int64_t per_lead(const Space& s, const Cut& c) { return (s.size[c.lead] + c.rows - 1) / c.rows; }
  static int64_t tiles(const Space& s, const Cut& c) {
    int64_t count = per_lead(s, c);
    for (int d = 0; d < c.lead; ++d) count *= s.size[d];
    return count;
  }
  Walk(const Space& space, const Cut& c, char* const* begin, int64_t tile) : s(space), cut(c) {
    const int64_t per = per_lead(s, cut);
    int64_t rest = outer = tile / per;
    row = (tile - outer * per) * cut.rows;
    for (int k = 0; k < s.count; ++k)
      if (s.op[k].format) base[k] = begin[k] + row * s.op[k].stride[cut.lead];
    for (int d = cut.lead - 1; d >= 0; --d) {
      at[d] = d > 0 ? rest % s.size[d] : rest;
      if (d > 0) rest /= s.size[d];
      for (int k = 0; k < s.count; ++k)
        if (s.op[k].format) base[k] += at[d] * s.op[k].stride[d];
    }
    count();
  }
  int64_t index() const { return (outer * s.size[cut.lead] + row) * cut.inside; }  // of the tile's first element
  void next() {
    move(cut.lead, cut.rows);
    row += cut.rows;
    if (row >= s.size[cut.lead]) {
      move(cut.lead, -row);
      row = 0, ++outer;
      for (int d = cut.lead - 1; d >= 0; --d) {
        move(d, 1);
        if (++at[d] < s.size[d]) break;
        move(d, -at[d]);
        at[d] = 0;
      }
    }
    count();
  }

 private:
  void count() { n = std::min(cut.rows, s.size[cut.lead] - row) * cut.inside; }
  void move(int d, int64_t steps) {
    for (int k = 0; k < s.count; ++k)
      if (s.op[k].format) base[k] += steps * s.op[k].stride[d];
  }
};

}  // namespace dyadic::inline v1::tiles
