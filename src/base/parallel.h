// parallel_for: the only place where threads start. Results must not depend on how [0, n) is cut or on the number of threads.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "dyadic/parallel.h"

namespace dyadic::inline v1 {

// A borrowed callable: valid while the callable lives.
template <class Signature> class FunctionRef;
template <class R, class... A> class FunctionRef<R(A...)> {
  void* object_;
  R (*call_)(void*, A...);

 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>>>
  [[gnu::always_inline]] FunctionRef(F&& f)
      : object_((void*)&f),
        call_([](void* o, A... a) -> R { return (*(std::remove_reference_t<F>*)o)(std::forward<A>(a)...); }) {}
  [[gnu::always_inline]] R operator()(A... a) const { return call_(object_, std::forward<A>(a)...); }
};

// Calls body(begin, end) on disjoint ranges that cover [0, n), each at least `grain` long but for the last. Runs on the calling
// thread alone when n <= grain or when already inside a parallel_for. The first exception is rethrown here.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);
// Calls body(i) for i in [0, n), handed out one at a time (uneven work: tiles, heads).
void parallel_each(int64_t n, FunctionRef<void(int64_t index)> body);

int thread_index();  // 0 .. num_threads() - 1 inside a parallel region, else 0
bool in_parallel();

// Kernels compiled once per instruction set export a table of function pointers `const T name` from namespace dyadic::<isa>;
// DY_KERNEL(T, name) declares the three and defines `name()`, which gives the running machine's. A build for one machine has
// one of them (DYADIC_ISAS): what names a kernel must not ask for the others.
enum class Isa : uint8_t { sse4, avx2, avx512 };
Isa isa();               // what this process runs; DYADIC_ISA=sse4|avx2|avx512 in the environment lowers it
bool is_built(Isa isa);  // whether this build has its kernels
const char* isa_name();  // "sse4", "avx2", "avx512"
bool has_avx512_bf16();  // vdpbf16ps usable (false when isa() was lowered)
bool has_avx512_vnni();

}  // namespace dyadic::inline v1

#ifdef DY_ISA
#define DY_OF_AN_ISA extern
#else
#define DY_OF_AN_ISA [[gnu::weak]] extern
#endif
#define DY_KERNEL(T, name)             \
  namespace dyadic::sse4 {             \
  DY_OF_AN_ISA const T name;           \
  }                                    \
  namespace dyadic::avx2 {             \
  DY_OF_AN_ISA const T name;           \
  }                                    \
  namespace dyadic::avx512 {           \
  DY_OF_AN_ISA const T name;           \
  }                                    \
  namespace dyadic::inline v1 {        \
  inline const T& name() {             \
    switch (isa()) {                   \
      case Isa::avx512:                \
        return ::dyadic::avx512::name; \
      case Isa::avx2:                  \
        return ::dyadic::avx2::name;   \
      default:                         \
        return ::dyadic::sse4::name;   \
    }                                  \
  }                                    \
  }
