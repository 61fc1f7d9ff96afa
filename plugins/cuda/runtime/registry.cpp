#include "plugins/cuda/runtime/registry.h"

#include <string_view>
#include <unordered_map>

#include "base/check.h"
#include "plugins/cuda/kernel.h"

namespace dyadic::gpu {
namespace {

struct Name {
  std::string_view op;
  int gradient;
  bool operator==(const Name&) const = default;
};
struct Hash {
  size_t operator()(const Name& n) const { return std::hash<std::string_view>()(n.op) + size_t(n.gradient) * 31; }
};
// Filled while the plug-in is loaded, in whatever order, and only read from then on.
std::unordered_map<Name, Kernel, Hash>& kernels() {
  static auto* all = new std::unordered_map<Name, Kernel, Hash>;
  return *all;
}

}  // namespace

Registered::Registered(const char* op, const Kernel& kernel, int gradient) {
  const bool added = kernels().emplace(Name{op, gradient}, kernel).second;
  if (!added) throw Error(std::string("cuda: two kernels for ") + op);
}

const Kernel* find_kernel(const char* op, int gradient) {
  const auto found = kernels().find({op, gradient < 0 ? -1 : gradient});
  return found == kernels().end() ? nullptr : &found->second;
}

}  // namespace dyadic::gpu
