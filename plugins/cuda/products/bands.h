// Products of 16-bit numbers of which an operand's or the result's lines begin at odd places, as logits' do over a vocabulary
// of 50257: the library has no fast kernels for those. They are made in bands of rows of a, or of b, through even copies.
#pragma once
#include "plugins/cuda/products/gemm.h"

namespace dyadic::gpu {

class Bands {
  enum class Of : uint8_t { none, a, b } of_ = Of::none;
  bool copies_side_ = false, copies_result_ = false;
  Gemm whole_{};
  int64_t lines_ = 0, each_ = 0;  // of all bands, of one

  GemmSide& side(Gemm& g) const { return of_ == Of::a ? g.a : g.b; }
  const GemmSide& side() const { return of_ == Of::a ? whole_.a : whole_.b; }
  int64_t side_lead(int64_t lines) const;
  int64_t result_lead(int64_t lines) const;
  int64_t side_bytes(int64_t lines) const;
  int64_t result_bytes(int64_t lines) const;
  void copy_side(const void* from, int64_t lines, void* to) const;
  void copy_result(const void* from, int64_t lines, void* to) const;

 public:
  explicit Bands(const Gemm& g);  // nothing: not a product of this kind
  explicit operator bool() const { return of_ != Of::none; }

  Gemm band(int64_t lines) const;
  int64_t count() const { return (lines_ + each_ - 1) / each_; }
  int64_t lines(int64_t band) const { return band + 1 < count() ? each_ : lines_ - band * each_; }
  int64_t copies() const { return side_bytes(each_) + result_bytes(each_); }  // bytes of workspace

  // make(gemm, pointers): the product of a band, false where that fails. Behind the copies the workspace is its own.
  template <class F> bool run(const GemmPointers& at, F make) const {
    for (int64_t i = 0; i < count(); ++i) {
      const int64_t n = lines(i);
      GemmPointers p = pointers(at, i);
      const void*& side = of_ == Of::a ? p.a : p.b;
      void* const result = p.c;
      if (copies_side_) copy_side(side, n, at.workspace), side = at.workspace;
      if (copies_result_) p.c = static_cast<char*>(at.workspace) + side_bytes(each_);
      p.workspace = static_cast<char*>(at.workspace) + copies();
      if (!make(band(n), p)) return false;
      if (copies_result_) copy_result(p.c, n, result);
    }
    return true;
  }

 private:
  GemmPointers pointers(const GemmPointers& at, int64_t band) const;
};

}  // namespace dyadic::gpu
