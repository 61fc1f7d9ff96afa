// Which arithmetic multiplies bf16 matrices: asks the processor once.
#include "loops/gemm_bf16.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/parallel.h"

namespace dyadic::inline v1 {
namespace {

bool is_amd() {
  unsigned eax = 0, name[3] = {};
  return __get_cpuid(0, &eax, &name[0], &name[2], &name[1]) && std::memcmp(name, "AuthenticAMD", 12) == 0;
}
// AMX needs the processor's bit (leaf 7, edx 22 and 24) and Linux's permission to use the tile registers.
bool has_amx_bf16() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (isa() != Isa::avx512 || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  if (!(edx & (1u << 22)) || !(edx & (1u << 24))) return false;
  constexpr int kArchReqXcompPerm = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}
bool possible(Bf16Path path) {
  switch (path) {
    case Bf16Path::dot:
      return has_avx512_bf16();
    case Bf16Path::tiles:
      return has_amx_bf16();
    default:
      return true;
  }
}
Bf16Path choose() {
  if (const char* wish = std::getenv("DYADIC_BF16")) {
    const std::string_view text = wish;
    std::optional<Bf16Path> path;
    if (text == "decode") path = Bf16Path::decode;
    if (text == "dot") path = Bf16Path::dot;
    if (text == "tiles") path = Bf16Path::tiles;
    if (path && possible(*path)) return *path;
    fmt::print(stderr, "dyadic: DYADIC_BF16={} is ignored: {}\n", text,
               path ? "this processor lacks it" : "use decode, dot or tiles");
  }
  if (has_amx_bf16()) return Bf16Path::tiles;
  return has_avx512_bf16() && is_amd() ? Bf16Path::dot : Bf16Path::decode;
}
std::atomic<Bf16Path>& current() {
  static std::atomic<Bf16Path> path = choose();
  return path;
}

}  // namespace

Bf16Path bf16_path() { return current().load(std::memory_order_relaxed); }

bool set_bf16_path(Bf16Path path) {
  if (!possible(path)) return false;
  current() = path;
  return true;
}

}  // namespace dyadic::inline v1
