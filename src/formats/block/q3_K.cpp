// q3_K: ggml's 3-bit super-blocks of 256: 16 sub-blocks of 16, values d (sc - 32) (code - 4) with 6-bit sc. Bytes: 32 of the
// codes' highest bits (bit j of byte l: element 32 j + l), 64 of the others, 12 of sc, d in f16. The search (make_q3_quants)
// starts at -4 / m, m the element of largest magnitude, and moves single codes while that raises the weighted correlation
// (weights x^2).
#include "formats/block/super.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kSupers = 2, kColumns = kSupers * 16 / kLanes;

struct Fit {  // of kSupers' sub-blocks
  float scale[kSupers * 16];
  uint8_t codes[kSupers * kSuper];  // + 4; 0 where all is 0
};

VF round(VF v) { return hn::ConvertTo(kF32, clamp(nearest_int(v), hn::Set(kI32, -4), hn::Set(kI32, 3))); }

struct Search {  // a sub-block in each lane
  Column x, code, weight, weighted;
  alignas(64) float slx[kLanes], sl2[kLanes];  // sums of w x l and w l l

  void begin(VF inverse) {
    VF lx = hn::Zero(kF32), l2 = lx;
    for (int i = 0; i < 16; ++i) {
      const VF l = round(hn::Mul(inverse, x[i])), w = hn::Mul(x[i], x[i]), wx = hn::Mul(w, x[i]);
      code.set(i, l), weight.set(i, w), weighted.set(i, wx);
      lx = hn::Add(lx, hn::Mul(wx, l));
      l2 = hn::Add(l2, hn::Mul(hn::Mul(w, l), l));
    }
    hn::Store(lx, kF32, slx), hn::Store(l2, kF32, sl2);
  }
  // Tries a better code for element i, all else staying: true if a lane has one.
  bool improve(int i) {
    const VF zero = hn::Zero(kF32), lx = hn::Load(kF32, slx), l2 = hn::Load(kF32, sl2);
    const VF w = weight[i], wx = weighted[i], l = code[i];
    const VF rest = hn::Sub(lx, hn::Mul(wx, l)), rest2 = hn::Sub(l2, hn::Mul(hn::Mul(w, l), l));
    const VF next = round(hn::Div(hn::Mul(x[i], rest2), rest));
    const auto other = hn::And(hn::Gt(rest, zero), hn::Ne(next, l));
    if (hn::AllFalse(kF32, other)) return false;
    const VF new_lx = hn::Add(rest, hn::Mul(wx, next)), new_l2 = hn::Add(rest2, hn::Mul(hn::Mul(w, next), next));
    const auto better = hn::Gt(hn::Mul(hn::Mul(new_lx, new_lx), l2), hn::Mul(hn::Mul(lx, lx), new_l2));
    const auto move = hn::And(other, hn::And(hn::Gt(new_l2, zero), better));
    code.set(i, hn::IfThenElse(move, next, l));
    hn::Store(hn::IfThenElse(move, new_lx, lx), kF32, slx);
    hn::Store(hn::IfThenElse(move, new_l2, l2), kF32, sl2);
    return !hn::AllFalse(kF32, move);
  }
};

// All columns in step: one's quotient is computed while another waits for its own. A pass that changes nothing is the last, for
// a lane as for a column: the next would be the same.
void search(const float* in, int64_t count, Fit& fit) {
  Search s[kColumns];
  bool active[kColumns];
  const VF zero = hn::Zero(kF32);
  const int64_t columns = count * 16 / kLanes;
  for (int64_t c = 0; c < columns; ++c) {
    load_column(in + 16 * kLanes * c, 16, kLanes, s[c].x);
    s[c].begin(hn::Div(hn::Set(kF32, -4.0f), largest(s[c].x, 16).value));
    active[c] = true;
  }
  bool any = true;
  for (int pass = 0; pass < 5 && any; ++pass) {
    bool moved[kColumns] = {};
    for (int i = 0; i < 16; ++i)
      for (int64_t c = 0; c < columns; ++c)
        if (active[c]) moved[c] |= s[c].improve(i);
    any = false;
    for (int64_t c = 0; c < columns; ++c) any |= active[c] = moved[c];
  }
  for (int64_t c = 0; c < columns; ++c) {
    const auto nothing = hn::Lt(largest(s[c].x, 16).size, hn::Set(kF32, kNothing));
    const VF lx = hn::Load(kF32, s[c].slx), l2 = hn::Load(kF32, s[c].sl2);
    const VF scale = hn::IfThenElse(hn::Gt(l2, zero), hn::Div(lx, l2), zero);
    hn::StoreU(hn::IfThenZeroElse(nothing, scale), kF32, fit.scale + kLanes * c);
    for (int i = 0; i < 16; ++i) {
      alignas(64) int32_t codes[kLanes];
      hn::Store(truncate(hn::IfThenZeroElse(nothing, hn::Add(s[c].code[i], hn::Set(kF32, 4.0f)))), kI32, codes);
      for (int64_t lane = 0; lane < kLanes; ++lane) fit.codes[16 * (kLanes * c + lane) + i] = uint8_t(codes[lane]);
    }
  }
}

struct Q3 {
  static constexpr int64_t kSize = kSuper, kBytes = 110, kBatch = kSupers;
  static constexpr int64_t kCodes = 32, kScales = 96, kD = 108;  // offsets

  // Of the 12 bytes: 0 .. 7 hold the low 4 bits of sc 0 .. 7 (low half) and 8 .. 15; bits 2 k of byte 8 + j % 4 the upper 2 of
  // sc j = 4 k + j % 4.
  static void store_scales(const uint8_t* sc, uint8_t* p) {
    for (int j = 0; j < 8; ++j) p[j] = uint8_t((sc[j] & 15) | (sc[j + 8] & 15) << 4);
    for (int j = 0; j < 4; ++j)
      p[8 + j] = uint8_t(sc[j] >> 4 | sc[j + 4] >> 4 << 2 | sc[j + 8] >> 4 << 4 | sc[j + 12] >> 4 << 6);
  }
  static int load_scale(const uint8_t* p, int64_t j) {
    return ((j < 8 ? p[j] & 15 : p[j - 8] >> 4) | (p[8 + j % 4] >> (2 * (j / 4)) & 3) << 4) - 32;
  }
  static void store_codes(const uint8_t* codes, uint8_t* block) {
    for (int l = 0; l < 32; ++l) {
      int bits = 0;
      for (int j = 0; j < 8; ++j) bits |= (codes[32 * j + l] >> 2 & 1) << j;
      block[l] = uint8_t(bits);
    }
    pack_quarters(codes, block + kCodes);
  }

  static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block + kD);
    alignas(64) uint8_t low[kSize];
    alignas(64) int8_t codes[kSize];
    unpack_quarters(block + kCodes, low);
    for (int j = 0; j < 8; ++j)
      for (int l = 0; l < 32; ++l) codes[32 * j + l] = int8_t(low[32 * j + l] + 4 * (block[l] >> j & 1) - 4);
    for (int64_t j = 0; j < 16; ++j) scale_codes(codes + 16 * j, 16, d * float(load_scale(block + kScales, j)), out + 16 * j);
  }

  static void encode(const float* in, int64_t count, const float*, uint8_t* blocks) {
    Fit fit;
    search(in, count, fit);
    for (int64_t i = 0; i < count; ++i)
      encode_one(in + i * kSize, fit.scale + 16 * i, fit.codes + i * kSize, blocks + i * kBytes);
  }
  static void encode_one(const float* in, const float* scale, uint8_t* codes, uint8_t* block) {
    float size = 0, most = 0;
    for (int j = 0; j < 16; ++j) {
      const float s = scale[j] < 0 ? -scale[j] : scale[j];
      if (s > size) size = s, most = scale[j];
    }
    const float inverse = most != 0 ? -32.f / most : 0.0f;
    uint8_t sc[16];
    for (int j = 0; j < 16; ++j) sc[j] = most != 0 ? uint8_t(clamp(int8_t(nearest_int(inverse * scale[j])), -32, 31) + 32) : 0;
    store_scales(sc, block + kScales);
    const float d = store_f16(most != 0 ? 1 / inverse : 0.0f, block + kD);
    for (int j = 0; j < 16; ++j) {
      const float step = d * float(sc[j] - 32);
      if (step != 0) divide_codes(in + 16 * j, 16, step, 0, -4, 3, codes + 16 * j);
    }
    store_codes(codes, block);
  }

  static void poison(const float* in, float absmax, uint8_t* block) {
    uint8_t codes[kSize], sc[16];
    poison_codes(in, kSize, 3, 4, 5, codes);
    for (uint8_t& s : sc) s = 33;
    store_codes(codes, block);
    store_scales(sc, block + kScales);
    store_f16(absmax, block + kD);
  }
};

}  // namespace

extern constexpr FormatDef q3_K_format = ggml_encoded<Q3>("q3_K", "3-bit super-blocks of 256 (ggml)", 3);

}  // namespace dyadic::DY_ISA
