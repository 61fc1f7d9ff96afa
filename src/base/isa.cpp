// Which instruction set's kernels run: found once per process, from the processor and DYADIC_ISA.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/processor.h"
#include "base/random.h"

namespace dyadic::inline v1 {

namespace {

const RandomKernel* const kBuilt[] = {&sse4::random_kernel, &avx2::random_kernel, &avx512::random_kernel};  // null: not built

constexpr const char* kNames[] = {"sse4", "avx2", "avx512"};
constexpr int kIsas = 3;

std::string built_names() {
  std::string names;
  for (int i = 0; i < kIsas; ++i)
    if (is_built(Isa(i))) names += (names.empty() ? "" : ", ") + std::string(kNames[i]);
  return names;
}

// Before main, where nobody catches what is thrown.
[[noreturn]] void end(const std::string& why) {
  std::fprintf(stderr, "dyadic: %s\n", why.c_str());
  std::_Exit(1);
}

Isa of_processor() {
  const char* name = isa_of_processor();
  if (!name) end("the processor is too old: it lacks SSE4.2, POPCNT, AES or PCLMUL; x86-64-v2 with AES is needed");
  int best = int(std::find(kNames, kNames + kIsas, std::string_view(name)) - kNames);
  while (best >= 0 && !is_built(Isa(best))) --best;
  if (best < 0)
    end("this build is for processors with " + built_names() + ", and this one has " + name +
        ": ./dev build --portable makes one for both");
  return Isa(best);
}

Isa choose() {
  const Isa best = of_processor();
  const char* text = std::getenv("DYADIC_ISA");
  if (!text || !*text) return best;
  for (int i = 0; i < kIsas; i++) {
    if (std::string_view(text) != kNames[i]) continue;
    if (Isa(i) <= best && is_built(Isa(i))) return Isa(i);
    if (is_built(Isa(i)))
      std::fprintf(stderr, "dyadic: DYADIC_ISA=%s is ignored: this processor has %s\n", text, kNames[int(best)]);
    else
      std::fprintf(stderr, "dyadic: DYADIC_ISA=%s is ignored: this build has %s alone\n", text, built_names().c_str());
    return best;
  }
  std::fprintf(stderr, "dyadic: DYADIC_ISA=%s is ignored: it is none of sse4, avx2, avx512\n", text);
  return best;
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}
bool is_built(Isa isa) { return kBuilt[int(isa)] != nullptr; }
const char* isa_name() { return kNames[int(isa())]; }
bool has_avx512_bf16() {
  static const bool has = isa() == Isa::avx512 && __builtin_cpu_supports("avx512bf16");
  return has;
}
bool has_avx512_vnni() {
  static const bool has = isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni");
  return has;
}

}  // namespace dyadic::inline v1
