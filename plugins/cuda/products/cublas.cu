#include "plugins/cuda/products/library.h"

#if __CUDACC__
#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "plugins/cuda/products/bands.h"

namespace dyadic::gpu {

// A product as the library is told of it, in columns: c^T = b^T a^T, so that the left of its operands is b.
struct LibraryShape {
  int device = 0;
  cudaDataType_t a, b, c;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  bool turn_a, turn_b, bias, converted;  // converted: c is written to the workspace as it is added up, and then rounded
  int64_t m, n, k, batch, lead_a, lead_b, lead_c, next_a, next_b, next_c;
  friend auto operator<=>(const LibraryShape&, const LibraryShape&) = default;
};

namespace {

// What is called of the library. Declarations are its header's; which major version is there does not matter to these.
struct Functions {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulDescCreate) new_product;
  decltype(&cublasLtMatmulDescDestroy) delete_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_product;
  decltype(&cublasLtMatrixLayoutCreate) new_layout;
  decltype(&cublasLtMatrixLayoutDestroy) delete_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceCreate) new_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) delete_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
};
template <class F> bool find(void* library, const char* name, F& f) {
  f = reinterpret_cast<F>(dlsym(library, name));
  return f;
}
bool find_all(void* l, Functions& f) {
  return find(l, "cublasLtCreate", f.create) && find(l, "cublasLtGetVersion", f.version) &&
         find(l, "cublasLtMatmul", f.matmul) && find(l, "cublasLtMatmulAlgoGetHeuristic", f.heuristic) &&
         find(l, "cublasLtMatmulDescCreate", f.new_product) && find(l, "cublasLtMatmulDescDestroy", f.delete_product) &&
         find(l, "cublasLtMatmulDescSetAttribute", f.set_product) && find(l, "cublasLtMatrixLayoutCreate", f.new_layout) &&
         find(l, "cublasLtMatrixLayoutDestroy", f.delete_layout) && find(l, "cublasLtMatrixLayoutSetAttribute", f.set_layout) &&
         find(l, "cublasLtMatmulPreferenceCreate", f.new_preference) &&
         find(l, "cublasLtMatmulPreferenceDestroy", f.delete_preference) &&
         find(l, "cublasLtMatmulPreferenceSetAttribute", f.set_preference);
}
const Functions* functions() {
  static const Functions* const found = []() -> const Functions* {
    static Functions f;
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"})
      if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL); library && find_all(library, f)) return &f;
    return nullptr;
  }();
  return found;
}
bool done(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }

constexpr int64_t kLeastWork = 1 << 24;       // multiply-adds: below, the way to the library is most of the time
constexpr int64_t kMostWorkspace = 32 << 20;  // what its kernels for sm_90 ask for at most
constexpr int64_t kAlign = 16;                // bytes, of all operands: others are left to our own kernels

bool data_type(Code code, cudaDataType_t& type) {
  switch (code) {
    case Code::f32:
      return type = CUDA_R_32F, true;
    case Code::f64:
      return type = CUDA_R_64F, true;
    case Code::bf16:
      return type = CUDA_R_16BF, true;
    case Code::f16:
      return type = CUDA_R_16F, true;
    case Code::f8e4m3fn:
      return type = CUDA_R_8F_E4M3, true;
    case Code::f8e5m2:
      return type = CUDA_R_8F_E5M2, true;
    case Code::i8:
      return type = CUDA_R_8I, true;
    default:
      return false;
  }
}
bool is_f8(cudaDataType_t t) { return t == CUDA_R_8F_E4M3 || t == CUDA_R_8F_E5M2; }

// A side whose lines or whose steps in k are neighbours, the others apart by `lead`. turned: k together.
bool lies(const SideSteps& s, int64_t lines, int64_t k, bool& along_k, int64_t& lead) {
  along_k = s.k == 1 && (s.line >= k || lines == 1);
  if (!along_k && !(s.line == 1 && (s.k >= lines || k == 1))) return false;
  lead = along_k ? (lines == 1 ? k : s.line) : (k == 1 ? lines : s.k);
  return true;
}

bool shape_of(const Gemm& g, LibraryShape& s) {
  const ProductShape& p = g.shape;
  if (g.swapped || g.way == Way::empty || g.way == Way::few || g.way == Way::stored || g.way == Way::flat_mma) return false;
  if (p.m * p.n * p.k * p.batch < kLeastWork || p.dims > 1 || std::max({p.m, p.n, p.k, p.batch}) > INT32_MAX) return false;
  bool along_a = false, along_b = false;
  if (!data_type(g.a.code, s.a) || !data_type(g.b.code, s.b) || !lies(g.a.steps, p.m, p.k, along_a, s.lead_a) ||
      !lies(g.b.steps, p.n, p.k, along_b, s.lead_b))
    return false;
  const bool bytes = is_f8(s.a) || s.a == CUDA_R_8I;  // only with k together, and no two of e5m2
  const bool pair = s.a == s.b || (is_f8(s.a) && is_f8(s.b));
  if (!pair || (bytes && (!along_a || !along_b)) || (s.a == CUDA_R_8F_E5M2 && s.b == CUDA_R_8F_E5M2)) return false;
  if (bytes && (p.n % 16 || p.m % 16 || p.k % 16)) return false;
  s.turn_a = !along_a, s.turn_b = along_b;
  s.m = p.m, s.n = p.n, s.k = p.k, s.batch = p.batch;
  s.next_a = p.dims ? g.a.steps.entries[0] : 0, s.next_b = p.dims ? g.b.steps.entries[0] : 0;
  s.scale = g.math == Math::f64 ? CUDA_R_64F : CUDA_R_32F;
  s.compute = g.math == Math::f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
  if (g.dropped == 13) s.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  if (g.dropped == 16) s.compute = CUBLAS_COMPUTE_32F_FAST_16BF;
  cudaDataType_t wanted{};
  const bool known = data_type(g.out, wanted);
  const bool direct = known && !bytes && (wanted == s.a || (wanted == CUDA_R_32F && s.a != CUDA_R_64F)) && g.column == 1 &&
                      g.row >= p.n && (g.bias == Code::none || (g.bias == g.out && g.bias_step == 1));
  s.converted = !direct;
  s.bias = direct && g.bias != Code::none;
  if (s.a == CUDA_R_8I) s.compute = CUBLAS_COMPUTE_32I, s.scale = CUDA_R_32I;
  s.c = direct ? wanted : s.a == CUDA_R_8I ? CUDA_R_32I : s.scale;
  s.lead_c = direct ? g.row : p.n, s.next_c = direct ? (p.dims ? g.entries[0] : 0) : p.m * p.n;
  return cudaGetDevice(&s.device) == cudaSuccess;
}

// Descriptors, and the algorithm that the library thinks best: asked once, never timed.
class Prepared {
  const Functions& f_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulHeuristicResult_t best_{};
  bool works_ = false;

  template <class V> bool set(cublasLtMatmulDescAttributes_t what, V value) {
    return done(f_.set_product(product_, what, &value, sizeof value));
  }
  bool layout(cublasLtMatrixLayout_t& l, cudaDataType_t type, int64_t rows, int64_t columns, int64_t lead, int64_t batch,
              int64_t next) {
    if (!done(f_.new_layout(&l, type, uint64_t(rows), uint64_t(columns), lead))) return false;
    const auto count = int32_t(batch);
    return done(f_.set_layout(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count)) &&
           done(f_.set_layout(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &next, sizeof next));
  }
  bool describe(const LibraryShape& s) {
    if (!done(f_.new_product(&product_, s.compute, s.scale))) return false;
    const cublasOperation_t left = s.turn_b ? CUBLAS_OP_T : CUBLAS_OP_N, right = s.turn_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (!set(CUBLASLT_MATMUL_DESC_TRANSA, left) || !set(CUBLASLT_MATMUL_DESC_TRANSB, right)) return false;
    if (is_f8(s.a) && !set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t(0))) return false;
    if (s.bias && !set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS)) return false;
    return layout(b_, s.b, s.turn_b ? s.k : s.n, s.turn_b ? s.n : s.k, s.lead_b, s.batch, s.next_b) &&
           layout(a_, s.a, s.turn_a ? s.m : s.k, s.turn_a ? s.k : s.m, s.lead_a, s.batch, s.next_a) &&
           layout(c_, s.c, s.n, s.m, s.lead_c, s.batch, s.next_c);
  }
  bool choose(cublasLtHandle_t handle) {
    cublasLtMatmulPreference_t p = nullptr;
    if (!done(f_.new_preference(&p))) return false;
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
      return done(f_.set_preference(p, what, &value, sizeof value));
    };
    // Sums of parts only where they are added in a step of their own: the order of the others is the scheduler's.
    bool ok = set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(kMostWorkspace)) &&
              set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    for (const auto what : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      ok = ok && set(what, uint32_t(kAlign));
    int found = 0;
    ok = ok && done(f_.heuristic(handle, product_, b_, a_, c_, c_, p, 1, &best_, &found)) && found == 1 && done(best_.state);
    f_.delete_preference(p);
    return ok;
  }

 public:
  Prepared(const Functions& f, cublasLtHandle_t handle, const LibraryShape& s) : f_(f) {
    works_ = describe(s) && choose(handle);
  }
  ~Prepared() {
    if (product_) f_.delete_product(product_);
    for (cublasLtMatrixLayout_t l : {a_, b_, c_})
      if (l) f_.delete_layout(l);
  }
  Prepared(const Prepared&) = delete;

  bool works() const { return works_; }
  int64_t workspace() const { return padded(int64_t(best_.workspaceSize)); }
  // The bias' place is part of the description: the caller holds it alone then.
  bool run(cublasLtHandle_t handle, const LibraryShape& s, const GemmPointers& at, void* c, void* workspace) const {
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const int32_t whole_one = 1, whole_zero = 0;
    const void *alpha = &one, *beta = &zero;
    if (s.scale == CUDA_R_64F) alpha = &wide_one, beta = &wide_zero;
    if (s.scale == CUDA_R_32I) alpha = &whole_one, beta = &whole_zero;
    if (s.bias && !done(f_.set_product(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at.bias, sizeof at.bias))) return false;
    return done(f_.matmul(handle, product_, alpha, at.b, b_, at.a, a_, beta, c, c_, c, c_, &best_.algo, workspace,
                          best_.workspaceSize, stream()));
  }
};

std::mutex g_mutex;
cublasLtHandle_t handle_of(const Functions& f, int device) {
  static cublasLtHandle_t handles[16];
  if (device < 0 || device >= 16) return nullptr;
  const std::lock_guard lock(g_mutex);
  if (!handles[device] && !done(f.create(&handles[device]))) handles[device] = nullptr;
  return handles[device];
}
const Prepared* prepared(const Functions& f, cublasLtHandle_t handle, const LibraryShape& s) {
  static std::map<LibraryShape, std::unique_ptr<Prepared>> all;
  const std::lock_guard lock(g_mutex);
  std::unique_ptr<Prepared>& p = all[s];
  if (!p) p = std::make_unique<Prepared>(f, handle, s);
  return p->works() ? p.get() : nullptr;
}

struct Found {
  LibraryShape shape{};
  cublasLtHandle_t handle = nullptr;
  const Prepared* product = nullptr;
  explicit Found(const Gemm& g) {
    if (!shape_of(g, shape)) return;
    const Functions* f = functions();
    if (f && (handle = handle_of(*f, shape.device))) product = prepared(*f, handle, shape);
  }
  int64_t sums() const {
    return shape.converted ? padded(shape.m * shape.n * shape.batch * (shape.scale == CUDA_R_64F ? 8 : 4)) : 0;
  }
};

int64_t workspace_of(const Gemm& g) {
  const Found f(g);
  return f.product ? f.sums() + f.product->workspace() : -1;
}
int64_t workspace_of(const Bands& b) {  // of the products of its bands
  if (!b) return -1;
  const int64_t first = workspace_of(b.band(b.lines(0))), last = workspace_of(b.band(b.lines(b.count() - 1)));
  return first < 0 || last < 0 ? -1 : std::max(first, last);
}

bool make_product(const Gemm& g, const GemmPointers& at) {
  const Found f(g);
  if (!f.product || !is_aligned(at.a, kAlign) || !is_aligned(at.b, kAlign) || (f.shape.bias && !is_aligned(at.bias, kAlign)))
    return false;
  void* const c = f.shape.converted ? at.workspace : at.c;
  if (!is_aligned(c, kAlign)) return false;
  std::unique_lock<std::mutex> lock(g_mutex, std::defer_lock);
  if (f.shape.bias) lock.lock();
  const bool ran = f.product->run(f.handle, f.shape, at, c, static_cast<char*>(at.workspace) + f.sums());
  if (f.shape.bias) lock.unlock();
  if (!ran) {
    cudaGetLastError();
    return false;
  }
  if (!f.shape.converted) return true;
  ProductShape s = g.shape;
  s.parts = 1;
  const auto convert = [&]<class T>(T) {
    launch(add_parts<T, Result<T>>, grid_for(s.m * s.n * s.batch), static_cast<const T*>(c), result_of<T>(g, at), s);
  };
  if (f.shape.c == CUDA_R_64F)
    convert(double{});
  else if (f.shape.c == CUDA_R_32I)
    convert(int32_t{});
  else
    convert(float{});
  return true;
}

}  // namespace

int64_t library_workspace(const Gemm& g) {
  const Bands bands(g);
  const int64_t bytes = workspace_of(bands);
  return bytes >= 0 ? bands.copies() + bytes : workspace_of(g);
}
bool library_product(const Gemm& g, const GemmPointers& at) {
  const Bands bands(g);
  return workspace_of(bands) >= 0 ? bands.run(at, make_product) : make_product(g, at);
}

const char* library_version() {
  static const std::string text = [] {
    const Functions* f = functions();
    if (!f) return std::string();
    const size_t v = f->version();  // 130002: 13.0.2
    return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
  }();
  return text.c_str();
}

}  // namespace dyadic::gpu

#else

namespace dyadic::gpu {

int64_t library_workspace(const Gemm&) { return -1; }
bool library_product(const Gemm&, const GemmPointers&) { return false; }
const char* library_version() { return ""; }

}  // namespace dyadic::gpu

#endif
