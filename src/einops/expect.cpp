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
  std::map<std::string, int64_t> sizes{};
  std::map<std::string, std::string> where{};  // of sizes that other tensors gave: which
  Matcher(const Tensor& x, std::string_view pattern, AxisSizes given) : x_(x), pattern_(pattern) {
    for (auto& [name, size] : given) sizes[std::string(name)] = size;
  }
  [[noreturn]] void wrong(const std::string& why) const {
    fail("expect: \"{}\" does not fit {}: {}", pattern_, describe(x_), why);
  }

  // "; seq is 3 in f32[2, 3] "batch seq""
  std::string origin(const Group& g) const {
    std::string text;
    for (const Axis& a : g.axes)
      if (const auto at = where.find(a.name); at != where.end())
        text += fmt::format("; {} is {} in {}", a.name, sizes.at(a.name), at->second);
    return text;
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
      if (product != size) wrong(fmt::format("dimension {} is {}, not {}{}", d, size, product, origin(g)));
    } else {
      if (product == 0 || size % product)
        wrong(fmt::format("dimension {} of size {} is no multiple of {}{}", d, size, product, origin(g)));
      if (open->name != "_") sizes[open->name] = size / product;
    }
  }
};

void match(Matcher& m, const Tensor& x, std::string_view pattern) {
  const einops::Side side = einops::parse_side("expect", pattern, pattern);
  const auto dots =
      std::find_if(side.begin(), side.end(), [](const Group& g) { return !g.axes.empty() && g.axes[0].ellipsis(); });
  const bool any = dots != side.end();
  const int64_t named = int64_t(side.size()) - any;
  if (any ? x.dim() < named : x.dim() != named)
    m.wrong(fmt::format("it has {} dimensions, the pattern {}{}", x.dim(), named, any ? " and more" : ""));
  int64_t d = 0;
  for (auto g = side.begin(); g != side.end(); ++g)
    if (g == dots)
      d += x.dim() - named;
    else
      m.dimension(*g, d++);
}

}  // namespace

std::map<std::string, int64_t> check_shape(const Tensor& x, std::string_view pattern, AxisSizes given) {
  Matcher m(x, pattern, given);
  match(m, x, pattern);
  return m.sizes;
}

void NamedSizes::bind(const Tensor& x, std::string_view pattern, AxisSizes given) {
  Matcher m(x, pattern, given);
  for (const auto& [name, bound] : bound_) {
    m.sizes[name] = bound.size;
    m.where[name] = bound.where;
  }
  match(m, x, pattern);
  for (const auto& [name, size] : m.sizes)
    bound_.try_emplace(name, Bound{size, fmt::format("{} \"{}\"", describe(x), pattern)});
}

}  // namespace dyadic::inline v1
