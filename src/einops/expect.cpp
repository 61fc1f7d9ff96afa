// A shape against a pattern, without changing it.
#include <algorithm>

#include "base/check.h"
#include "dyadic/named.h"
#include "einops/pattern.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {
namespace {

using einops::Axis;
using einops::Group;

class Matcher {
  const Tensor& x_;
  std::string_view pattern_;

 public:
  std::map<std::string, int64_t> sizes;
  Matcher(const Tensor& x, std::string_view pattern, AxisSizes given) : x_(x), pattern_(pattern) {
    for (auto& [name, size] : given) sizes[std::string(name)] = size;
  }
  [[noreturn]] void wrong(const std::string& why) const {
    fail("expect: \"{}\" does not fit {}: {}", pattern_, describe(x_), why);
  }

  void dimension(const Group& g, int64_t d) {
    const int64_t size = x_.size(d);
    int64_t product = 1;
    const Axis* open = nullptr;
    for (const Axis& a : g.axes) {
      const auto known = sizes.find(a.name);
      if (a.name.empty()) {
        product *= a.number;
      } else if (known != sizes.end()) {
        product *= known->second;
      } else {
        if (open) wrong(fmt::format("the sizes of \"{}\" and \"{}\" are not known; give one", open->name, a.name));
        open = &a;
      }
    }
    if (!open) {
      if (product != size) wrong(fmt::format("dimension {} is {}, not {}", d, size, product));
    } else {
      if (product == 0 || size % product) wrong(fmt::format("dimension {} of size {} is no multiple of {}", d, size, product));
      if (open->name != "_") sizes[open->name] = size / product;
    }
  }
};

}  // namespace

std::map<std::string, int64_t> check_shape(const Tensor& x, std::string_view pattern, AxisSizes given) {
  const einops::Side side = einops::parse_side("expect", pattern, pattern);
  const auto dots =
      std::find_if(side.begin(), side.end(), [](const Group& g) { return !g.axes.empty() && g.axes[0].ellipsis(); });
  const bool any = dots != side.end();
  const int64_t named = int64_t(side.size()) - any;
  Matcher m(x, pattern, given);
  if (any ? x.dim() < named : x.dim() != named)
    m.wrong(fmt::format("it has {} dimensions, the pattern {}{}", x.dim(), named, any ? " and more" : ""));
  int64_t d = 0;
  for (auto g = side.begin(); g != side.end(); ++g)
    if (g == dots)
      d += x.dim() - named;
    else
      m.dimension(*g, d++);
  return m.sizes;
}

}  // namespace dyadic::inline v1
