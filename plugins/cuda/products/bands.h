// Products of 16-bit numbers whose lines begin at odd places or have an odd length, as logits' do over a vocabulary of 50257:
// the library has no fast kernels for those. They are made in bands of lines of a, or of b, through copies that are even.
#pragma once
#include "plugins/cuda/products/gemm.h"

namespace dyadic::gpu {

class Bands {
  enum class Of : uint8_t { none, a, b } of_ = Of::none;
  bool copies_banded_ = false, copies_other_ = false, copies_result_ = false;
  Gemm whole_{};
  int64_t m_ = 0, n_ = 0, k_ = 0;  // made even where they have to be
  int64_t lines_ = 0, each_ = 0;   // of all bands, of one

  const GemmSide& banded() const { return of_ == Of::a ? whole_.a : whole_.b; }
  const GemmSide& other() const { return of_ == Of::a ? whole_.b : whole_.a; }
  int64_t other_lines() const { return of_ == Of::a ? whole_.shape.n : whole_.shape.m; }
  int64_t lead_of_copy(const GemmSide& s, int64_t lines) const;
  int64_t bytes_of_copy(const GemmSide& s, int64_t lines) const;
  int64_t lead_of_result(int64_t lines) const;
  int64_t bytes_of_result(int64_t lines) const;
  void copy(const GemmSide& s, const void* from, int64_t lines, void* to) const;
  void copy_result(const void* from, int64_t lines, void* to) const;
  GemmPointers pointers(const GemmPointers& at, int64_t band) const;
  int64_t other_bytes() const { return copies_other_ ? bytes_of_copy(other(), other_lines()) : 0; }
  int64_t banded_bytes() const { return copies_banded_ ? bytes_of_copy(banded(), each_) : 0; }

 public:
  explicit Bands(const Gemm& g);  // nothing: not a product of this kind
  explicit operator bool() const { return of_ != Of::none; }

  Gemm band(int64_t lines) const;
  int64_t count() const { return (lines_ + each_ - 1) / each_; }
  int64_t lines(int64_t band) const { return band + 1 < count() ? each_ : lines_ - band * each_; }
  int64_t copies() const { return other_bytes() + banded_bytes() + (copies_result_ ? bytes_of_result(each_) : 0); }

  // make(gemm, pointers): the product of a band, false where that fails. Behind the copies the workspace is its own.
  template <class F> bool run(const GemmPointers& at, F make) const {
    char *const of_other = static_cast<char*>(at.workspace), *const of_band = of_other + other_bytes();
    GemmPointers given = at;
    const auto side = [](GemmPointers& p, bool a) -> const void*& { return a ? p.a : p.b; };
    if (copies_other_) {
      const void*& whole = side(given, of_ == Of::b);
      copy(other(), whole, other_lines(), of_other), whole = of_other;
    }
    for (int64_t i = 0; i < count(); ++i) {
      const int64_t n = lines(i);
      GemmPointers p = pointers(given, i);
      const void*& lies = side(p, of_ == Of::a);
      void* const result = p.c;
      if (copies_banded_) copy(banded(), lies, n, of_band), lies = of_band;
      if (copies_result_) p.c = of_band + banded_bytes();
      p.workspace = of_other + copies();
      if (!make(band(n), p)) return false;
      if (copies_result_) copy_result(p.c, n, result);
    }
    return true;
  }
};

}  // namespace dyadic::gpu
