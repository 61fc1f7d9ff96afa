// bf16 products through oneDNN 2.x or 3.x: single-threaded primitives, kept per thread together with their memory objects.
//
// Note [oneDNN]: creating a primitive costs 1.2 us even when its cache hits, three memory objects 0.6, executing 0.17; so each
// thread keeps a map from shape to all of them (a hit costs about 0.1 us and takes no lock). One primitive executed by two
// threads with its default scratchpad gave wrong values in 46 of 200 runs; with scratchpads of the caller's in none. oneDNN
// asks OpenMP how many threads to use, both when a primitive is created and when it runs: OneThread answers 1.
#include "loops/gemm_onednn.h"

#include <omp.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "base/check.h"
#include "loops/gemm_bf16.h"

namespace dyadic::inline v1 {
namespace {

using Md = dnnl::memory::desc;
using Data = dnnl::memory::data_type;

constexpr int64_t kNarrow = 1, kBias = 2, kAdd = 4, kFloat = 8;  // c is bf16, a bias, c is added to, a and b are f32
struct Key {
  int64_t m, n, k, a_row, a_col, b_row, b_col, c_row;
  int64_t flags;  // kNarrow ...
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = 0;
    for (const int64_t x : {key.m, key.n, key.k, key.a_row, key.a_col, key.b_row, key.b_col, key.c_row, key.flags})
      h = (h ^ uint64_t(x)) * 0x9e3779b97f4a7c15ull, h ^= h >> 32;
    return size_t(h);
  }
};
struct Entry {
  dnnl::matmul primitive;
  dnnl::memory a, b, c, bias, scratch;
  size_t scratch_bytes = 0;
};

struct OneThread {
  const int before = omp_get_max_threads();
  OneThread() {
    if (before != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before != 1) omp_set_num_threads(before);
  }
};

// Never destroyed: threads may outlive static objects. The instruction set has to be bounded before anything else is asked.
const dnnl::engine& engine() {
  static const dnnl::engine* const e = [] {
    if (isa() == Isa::avx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    if (isa() == Isa::sse4) dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *e;
}
struct ThreadState {
  std::unordered_map<Key, Entry, KeyHash> entries;
  dnnl::stream stream{engine()};
};
ThreadState& state() {
  static thread_local ThreadState s;
  return s;
}

dnnl::matmul::primitive_desc describe(const Key& key, const Md& a, const Md& b, const Md& bias, const Md& c) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (key.flags & kAdd) {
    dnnl::post_ops ops;
    ops.append_sum(1.0f);
    attr.set_post_ops(ops);
  }
#if DNNL_VERSION_MAJOR >= 3
  return key.flags & kBias ? dnnl::matmul::primitive_desc(engine(), a, b, bias, c, attr)
                           : dnnl::matmul::primitive_desc(engine(), a, b, c, attr);
#else
  using Desc = dnnl::matmul::desc;
  return {key.flags & kBias ? Desc(a, b, bias, c) : Desc(a, b, c), attr, engine()};
#endif
}
Entry create(const Key& key) {
  const OneThread guard;
  const Data in = key.flags & kFloat ? Data::f32 : Data::bf16;
  const Md a({key.m, key.k}, in, dnnl::memory::dims{key.a_row, key.a_col});
  const Md b({key.k, key.n}, in, dnnl::memory::dims{key.b_row, key.b_col});
  const Md c({key.m, key.n}, key.flags & kNarrow ? Data::bf16 : Data::f32, dnnl::memory::dims{key.c_row, 1});
  const Md bias({1, key.n}, Data::f32, dnnl::memory::dims{key.n, 1});
  const auto pd = describe(key, a, b, bias, c);
  const auto object = [&](const Md& md) { return dnnl::memory(md, engine(), nullptr); };
  const Md scratch = pd.scratchpad_desc();
  return {dnnl::matmul(pd), object(a), object(b), object(c), object(bias), object(scratch), scratch.get_size()};
}
Entry& entry(const Key& key) {
  auto& entries = state().entries;
  if (const auto it = entries.find(key); it != entries.end()) return it->second;
  constexpr size_t kMaxEntries = 1024;  // what oneDNN's own cache holds
  if (entries.size() >= kMaxEntries) entries.clear();
  return entries.emplace(key, create(key)).first->second;
}

void check(dnnl_status_t status) {
  if (status != dnnl_success) fail<Error>("matmul: oneDNN failed: its status is {}; please report it", int(status));
}
void point(dnnl::memory& memory, const void* data) {
#if DNNL_VERSION_MAJOR >= 3
  check(dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(data)));
#else
  check(dnnl_memory_set_data_handle_v2(memory.get(), const_cast<void*>(data), nullptr));
#endif
}

Key key_of(const GemmTile& t, OnednnTypes types) {
  const int64_t flags =
      (types.narrow ? kNarrow : 0) | (types.f32 ? kFloat : 0) | (t.bias ? kBias : 0) | (t.accumulate ? kAdd : 0);
  return {t.m, t.n, t.k, t.a_row, t.a_col, t.b_row, t.b_col, t.c_row, flags};
}
bool direct(int64_t row, int64_t col, int64_t rows, int64_t cols) {
  return (col == 1 && row >= cols) || (row == 1 && col >= rows);
}

}  // namespace

// Smaller shapes gain nothing. With AMX and a k that isn't a multiple of 32, oneDNN lets a NaN into rows that it has no part in
// (uxlfoundation/oneDNN issue 5717).
bool onednn_accepts(const GemmPlan& plan) {
  const GemmTile& t = plan.whole;
  return plan.m >= 16 && plan.n >= 16 && plan.k >= 16 && (plan.k % 32 == 0 || bf16_path() != Bf16Path::tiles) &&
         direct(t.a_row, t.a_col, plan.m, plan.k) && (plan.is_stored || direct(t.b_row, t.b_col, plan.k, plan.n)) &&
         t.c_col == 1 && t.c_row >= plan.n;
}

OnednnTypes onednn_types(const GemmPlan& plan) {
  return {plan.in == f32.format(), plan.out == bf16.format() && plan.parts == 1};
}

size_t onednn_scratch(const GemmPlan& plan) {
  size_t most = 0;
  GemmTile t = plan.whole;
  const OnednnTypes types = onednn_types(plan);

  static const float present = 0;
  t.bias = plan.bias && plan.parts == 1 ? &present : nullptr;
  if (plan.parts > 1) t.c_row = plan.n, t.accumulate = false;
  for (const bool last_m : {false, true})
    for (const bool last_n : {false, true})
      for (const bool last_k : {false, true}) {
        t.m = last_m ? plan.m - (plan.tiles_m - 1) * plan.tm : plan.tm;
        t.n = last_n ? plan.n - (plan.tiles_n - 1) * plan.tn : plan.tn;
        t.k = last_k ? plan.k - (plan.parts - 1) * plan.tk : plan.tk;
        if (plan.is_stored) stored_strides(t, t.k, t.n);
        most = std::max(most, entry(key_of(t, types)).scratch_bytes);
      }
  return most;
}

void onednn_tile(const GemmTile& t, OnednnTypes types) {
  Entry& e = entry(key_of(t, types));
  point(e.a, t.a), point(e.b, t.b), point(e.c, t.c), point(e.scratch, t.scratch);
  dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, e.a.get()},
                            {DNNL_ARG_WEIGHTS, e.b.get()},
                            {DNNL_ARG_DST, e.c.get()},
                            {DNNL_ARG_SCRATCHPAD, e.scratch.get()},
                            {DNNL_ARG_BIAS, e.bias.get()}};
  if (t.bias) point(e.bias, t.bias);
  const OneThread guard;
  check(dnnl_primitive_execute(e.primitive.get(), state().stream.get(), t.bias ? 5 : 4, args));
}

}  // namespace dyadic::inline v1
