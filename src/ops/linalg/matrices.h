// What the kernels of linear algebra share. LAPACK sees each matrix column by column, in its compute type; a batch is cut by
// its size alone, and within a matrix one thread works, so that results are the same bits for any number of threads.
#pragma once
#include <algorithm>

#include "ops/common.h"
#include "ops/linalg/lapack.h"
#include "ops/operands.h"
#include "ops/scratch.h"

namespace dyadic::inline v1::ops {

// Rules. `who` is the name a user knows: "linalg.inv".
void check_matrix(const char* who, const Tensor& t, const char* name);  // floats or complex numbers, at least 2-d
void check_square(const char* who, const Tensor& t, const char* name);
void check_same_dtype(const char* who, const Tensor& a, const Tensor& b, const char* a_name, const char* b_name);
inline IntList batch_of(IntList sizes) { return {sizes.begin(), sizes.size() - 2}; }
inline IntList batch_of(const Tensor& t) { return batch_of(t.sizes()); }  // all sizes but the last two
inline IntList batch_of(const Operand& o) { return batch_of(o.sizes()); }
// The batch that a's and b's broadcast to.
std::vector<int64_t> common_batch(const char* who, const Tensor& a, const Tensor& b, const char* a_name, const char* b_name);
int64_t count(IntList sizes);
int narrow_int(int64_t n);  // LAPACK's integers have 32 bits
// An output of sizes batch + tail, of a dtype on like's device.
void set_spec(Spec& spec, const Tensor& like, DType dtype, IntList batch, std::initializer_list<int64_t> tail);

// The matrices of t, its batch expanded, column by column in `compute`, columns `ld` apart or as long as they are; load_rows:
// row by row.
void load_columns_apart(const Array& t, IntList batch, void* to, DType compute, int64_t ld);
void load_columns(const Array& t, IntList batch, void* to, DType compute);
void load_rows(const Array& t, IntList batch, void* to, DType compute);
// The other way: matrices of leading dimension `rows`, `step` elements apart, to the batch `out`.
void store_columns(const Array& out, const void* from, DType compute, int64_t rows, int64_t step);
void store(const Array& out, const void* from, DType compute);  // elements in the order of out

// f(i, piece) for every matrix of a batch, in at most kPieces pieces; two matrices of one piece never meet.
inline constexpr int64_t kPieces = 8;
inline int64_t pieces(int64_t batch) { return batch < kPieces ? batch : kPieces; }
void for_each_matrix(int64_t batch, FunctionRef<void(int64_t i, int64_t piece)> f);

// A distance of columns of `rows` Ts: a cache line more where those of a register tile would share a few cache sets.
template <class T> int column_distance(int64_t rows) {
  const int64_t line = 64 / int64_t(sizeof(T));
  return narrow_int(rows > 0 && rows * int64_t(sizeof(T)) % 1024 == 0 ? rows + line : std::max<int64_t>(rows, 1));
}

// f<T>() for the type that the dtype's elements are computed in.
template <class F> auto by_compute(DType d, F&& f) {
  switch (compute_type(d)) {
    case Compute::f64:
      return f.template operator()<double>();
    case Compute::c64:
      return f.template operator()<lapack::c64>();
    case Compute::c128:
      return f.template operator()<lapack::c128>();
    default:
      return f.template operator()<float>();
  }
}
template <class T> constexpr DType dtype_for() { return lapack::pick<T>(f32, f64, c64, c128); }

// A call's matrices, which have memory once it runs; what else a routine is told is in a struct derived from this.
struct Matrices {
  Array in[2], out[4];
  void set(const Call& c) {
    for (int i = 0; i < std::min(c.nargs, 2); ++i)
      if (c.args[i].kind == Arg::Kind::tensor) in[i] = Array(c.operand(i), static_cast<void*>(nullptr));
    for (int j = 0; j < c.nout; ++j) out[j] = Array(c.result(j), static_cast<void*>(nullptr));
  }
  void place(const Pointers& at) {
    for (int i = 0; i < 2; ++i)
      if (in[i].defined()) in[i].at = static_cast<char*>(at.in[i]);
    for (int j = 0; j < 4; ++j)
      if (out[j].defined()) out[j].at = static_cast<char*>(at.out[j]);
  }
};

// A routine is a class template over the compute type: its constructor, given matrices and a workspace or none, lays out what
// it needs; run() works. Static: g++ takes a function of a template of an unnamed namespace for one that all files share, and
// would merge what is done with routines of the same name.
template <template <class> class Routine, class P> static void run_matrices(const P& planned, const Pointers& at) {
  P p = planned;
  p.place(at);
  by_compute(p.in[0].dtype(), [&]<class T>() {
    Scratch scratch(at.workspace);
    Routine<T>(p, scratch).run();
  });
}
template <template <class> class Routine, class P> static void plan_matrices(Call& c, P p) {
  p.set(c);
  by_compute(p.in[0].dtype(), [&]<class T>() {
    Scratch counted;
    const Routine<T> kernel(p, counted);
    c.plan.workspace = counted.bytes();
  });
  c.plan.set<run_matrices<Routine, P>>(p);
}
template <template <class> class Routine> static void plan_matrices(Call& c) { plan_matrices<Routine>(c, Matrices()); }

// What LAPACK wants for `work` when asked: the real part of what it wrote there, rounded up where float cannot hold it.
template <class T> int64_t asked(T answer) { return int64_t(double(std::real(answer)) * 1.0000002) + 1; }

// LinAlgError unless every info of a batch is 0: "<who>: <what>, <detail>: <name> is f32[...], batch element [1, 0]". `detail`
// has one {} for info.
void check_info(const char* who, const Array& info, const Operand& a, const char* name, const char* what, const char* detail,
                const char* way_out);
void check_info(const char* who, const Tensor& info, const Tensor& a, const char* name, const char* what, const char* detail,
                const char* way_out);

// For compositions and gradients.
Tensor mH(const Tensor& t);  // conjugated, the last two dimensions exchanged
// f16, f8, nf4 ...: composed in f32, rounded once at the end with like(result, original).
Tensor widened(const Tensor& t);
inline Tensor like(const Tensor& result, const Tensor& original) {
  const DType own = plain(original), wanted = own.is_complex() ? own.to_real() : own;  // of norms, a real one
  return wanted == result.dtype() || result.dtype().is_complex() ? result : to(result, wanted);
}
Tensor eye_like(const Tensor& t, int64_t n);  // of t's dtype and device
Tensor halved_diagonal(const Tensor& t);      // half of the diagonal's real part, the rest untouched

}  // namespace dyadic::inline v1::ops
