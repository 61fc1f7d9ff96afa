// rearrange, reduce and repeat are one function: split the dimensions as the left side says, reduce what the right side lacks,
// permute, repeat what is new, merge as the right side says.
#include "dyadic/einops.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/ops.h"
#include "einops/pattern.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {
namespace {

using einops::Axis;
using einops::Group;
using einops::Pattern;
using einops::Side;

// An elementary dimension after splitting: its name (dimensions under "..." are numbered) and size.
struct Part {
  std::string name;
  int64_t size;
};

std::string hidden(size_t i) { return fmt::format("...{}", i); }

class Transform {
  const char* who_;
  const Tensor& x_;
  const Pattern& p_;
  std::vector<std::pair<std::string, int64_t>> given_;
  size_t hidden_ = 0;  // dimensions under "..."
  std::vector<Part> parts_;

 public:
  Transform(const char* who, const Tensor& x, std::string_view pattern, AxisSizes sizes)
      : who_(who), x_(x), p_(einops::parse(who, pattern)), given_(sizes.begin(), sizes.end()) {
    split();
    check_given();
  }

  Tensor run(std::string_view operation, bool may_repeat) {
    std::vector<int64_t> shape, gone, order, repeated, merged;
    for (const Part& p : parts_) shape.push_back(p.size);
    Tensor t = x_.reshape(shape);
    const std::vector<Group> right = expanded(p_.right);
    std::vector<Part> kept;
    for (const Part& p : parts_) {
      const bool stays = std::any_of(right.begin(), right.end(), [&](const Group& g) {
        return std::any_of(g.axes.begin(), g.axes.end(), [&](const Axis& a) { return a.name == p.name; });
      });
      if (stays)
        kept.push_back(p);
      else
        gone.push_back(&p - parts_.data());
    }
    if (!gone.empty()) t = reduced(t, gone, operation);
    std::vector<std::pair<size_t, int64_t>> added;  // place, size
    size_t place = 0;
    for (const Group& g : right) {
      int64_t size = 1;
      for (const Axis& a : g.axes) {
        const auto at =
            std::find_if(kept.begin(), kept.end(), [&](const Part& p) { return !a.name.empty() && p.name == a.name; });
        if (at != kept.end()) {
          order.push_back(at - kept.begin());
          size *= at->size;
        } else {
          const int64_t n = a.name.empty() ? a.number : size_of(a.name);
          if (n != 1 || !a.name.empty()) check_repeat(may_repeat, a, n);
          added.emplace_back(place, n);
          size *= n;
        }
        ++place;
      }
      merged.push_back(size);
    }
    t = permute(t, order);
    if (!added.empty()) {
      for (auto [at, n] : added) t = unsqueeze(t, int64_t(at));
      std::vector<int64_t> sizes = t.sizes().vec();
      for (auto [at, n] : added) sizes[at] = n;
      t = t.expand(sizes);
    }
    return t.reshape(merged);
  }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  [[noreturn]] void wrong(const std::string& why) const {
    fail("{}: \"{}\" does not fit {}: {}", who_, p_.text, describe(x_), why);
  }
  int64_t known(const std::string& name) const {
    for (auto& [n, size] : given_)
      if (n == name) return size;
    return -1;
  }
  int64_t size_of(const std::string& name) const {
    const int64_t n = known(name);
    if (n < 0) wrong(fmt::format("the size of \"{}\" is not known; give it, as in {{{{\"{}\", 2}}}}", name, name));
    return n;
  }
  void check_repeat(bool may_repeat, const Axis& a, int64_t n) const {
    if (may_repeat) return;
    const std::string what = a.name.empty() ? fmt::format("{}", n) : a.name;
    wrong(fmt::format("\"{}\" is on the right only; repeat makes new dimensions", what));
  }
  Side expanded(const Side& side) const {
    Side out;
    for (const Group& g : side) {
      if (!g.composed && g.axes[0].ellipsis()) {
        for (size_t i = 0; i < hidden_; ++i) out.push_back({{{hidden(i)}}, false});
        continue;
      }
      Group own{{}, g.composed};
      for (const Axis& a : g.axes)
        if (a.ellipsis())
          for (size_t i = 0; i < hidden_; ++i) own.axes.push_back({hidden(i)});
        else
          own.axes.push_back(a);
      out.push_back(own);
    }
    return out;
  }
  void split() {
    const bool dots =
        std::any_of(p_.left.begin(), p_.left.end(), [](const Group& g) { return !g.composed && g.axes[0].ellipsis(); });
    const int64_t named = int64_t(p_.left.size()) - dots;
    if (dots ? x_.dim() < named : x_.dim() != named)
      wrong(fmt::format("it has {} dimensions, the left side names {}{}", x_.dim(), named, dots ? " and more" : ""));
    hidden_ = size_t(x_.dim() - named);
    const Side left = expanded(p_.left);
    for (size_t d = 0; d < left.size(); ++d) split_dimension(left[d], x_.size(int64_t(d)), d);
  }
  void split_dimension(const Group& g, int64_t size, size_t d) {
    int64_t product = 1;
    const Axis* unknown = nullptr;
    for (const Axis& a : g.axes) {
      const int64_t n = a.name.empty() ? a.number : known(a.name);
      if (n >= 0) {
        product *= n;
      } else if (unknown) {
        wrong(fmt::format("dimension {} of size {}: the sizes of \"{}\" and \"{}\" are not known; give one", d, size,
                          unknown->name, a.name));
      } else {
        unknown = &a;
      }
    }
    if (unknown ? product == 0 || size % product != 0 : product != size)
      wrong(unknown ? fmt::format("dimension {} of size {} is no multiple of {}", d, size, product)
                    : fmt::format("dimension {} is {}, not {}", d, size, product));
    for (const Axis& a : g.axes) {
      const int64_t n = a.name.empty() ? a.number : known(a.name);
      parts_.push_back({a.name.empty() ? fmt::format("#{}.{}", d, parts_.size()) : a.name, n >= 0 ? n : size / product});
    }
  }
  void check_given() const {
    for (auto& [name, size] : given_) {
      auto named = [&](const Side& side) {
        for (const Group& g : side)
          for (const Axis& a : g.axes)
            if (a.name == name) return true;
        return false;
      };
      if (!named(p_.left) && !named(p_.right)) wrong(fmt::format("a size is given for \"{}\", which it does not name", name));
      if (size < 0) wrong(fmt::format("the size of \"{}\" is negative: {}", name, size));
    }
  }
  Tensor reduced(const Tensor& t, const std::vector<int64_t>& dims, std::string_view operation) const {
    const bool ones =
        std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return t.size(d) == 1 && parts_[size_t(d)].name[0] == '#'; });
    if (operation.empty()) {
      if (!ones) {
        const std::string& name = parts_[size_t(dims[0])].name;
        wrong(fmt::format("\"{}\" is on the left only; reduce takes dimensions away",
                          name[0] == '#' ? std::to_string(t.size(dims[0])) : name));
      }
      return squeezed(t, dims);
    }
    if (operation == "sum") return sum(t, dims);
    if (operation == "mean") return mean(t, dims);
    if (operation == "min") return amin(t, dims);
    if (operation == "max") return amax(t, dims);
    if (operation == "prod") return prod(t, dims);
    if (operation == "any") return any(t, dims);
    if (operation == "all") return all(t, dims);
    fail<ValueError>("{}: an unknown operation \"{}\"; there are sum, mean, min, max, prod, any and all", who_, operation);
  }
  static Tensor squeezed(Tensor t, const std::vector<int64_t>& dims) {
    for (size_t i = dims.size(); i-- > 0;) t = squeeze(t, dims[i]);
    return t;
  }
};

// Of pack: how many dimensions stand before and behind "*".
struct Star {
  size_t before = 0, behind = 0;
};
Star star_of(const char* who, std::string_view pattern) {
  const Side side = einops::parse_side(who, pattern, pattern);
  Star s;
  bool seen = false;
  for (const Group& g : side) {
    DY_CHECK(!g.composed && !g.axes[0].name.empty() && !g.axes[0].ellipsis(),
             "{}: a wrong pattern: \"{}\": it has names and one \"*\"", who, pattern);
    if (g.axes[0].name == "*")
      seen = true;
    else
      ++(seen ? s.behind : s.before);
  }
  DY_CHECK(seen, "{}: a wrong pattern: \"{}\": it needs a \"*\"", who, pattern);
  return s;
}

}  // namespace

Tensor rearrange(const Tensor& x, std::string_view pattern, AxisSizes sizes) {
  return Transform("rearrange", x, pattern, sizes).run("", false);
}
Tensor reduce(const Tensor& x, std::string_view pattern, std::string_view operation, AxisSizes sizes) {
  DY_CHECK_AS(ValueError, !operation.empty(), "reduce: which operation? there are sum, mean, min, max, prod, any and all");
  return Transform("reduce", x, pattern, sizes).run(operation, false);
}
Tensor repeat(const Tensor& x, std::string_view pattern, AxisSizes sizes) {
  return Transform("repeat", x, pattern, sizes).run("", true);
}

std::map<std::string, int64_t> parse_shape(const Tensor& x, std::string_view pattern) {
  const Side side = einops::parse_side("parse_shape", pattern, pattern);
  std::map<std::string, int64_t> sizes;
  const bool dots =
      std::any_of(side.begin(), side.end(), [](const Group& g) { return !g.axes.empty() && g.axes[0].ellipsis(); });
  const int64_t named = int64_t(side.size()) - dots;
  DY_CHECK(dots ? x.dim() >= named : x.dim() == named, "parse_shape: \"{}\" does not fit {}", pattern, describe(x));
  int64_t d = 0;
  for (const Group& g : side) {
    DY_CHECK(!g.composed, "parse_shape: a wrong pattern: \"{}\": no parentheses here", pattern);
    const Axis& a = g.axes[0];
    if (a.ellipsis()) {
      d += x.dim() - named;
      continue;
    }
    DY_CHECK(a.name.size() || x.size(d) == a.number, "parse_shape: \"{}\" does not fit {}: dimension {} is not {}", pattern,
             describe(x), d, a.number);
    if (!a.name.empty() && a.name != "_") sizes[a.name] = x.size(d);
    ++d;
  }
  return sizes;
}

Packed pack(TensorList tensors, std::string_view pattern) {
  const Star s = star_of("pack", pattern);
  DY_CHECK(!tensors.empty(), "pack: an empty list of tensors");
  Packed p;
  std::vector<Tensor> flat;
  for (const Tensor& t : tensors) {
    const IntList sizes = t.sizes();
    DY_CHECK(sizes.size() >= s.before + s.behind, "pack: \"{}\" does not fit {}: it names {} dimensions beside \"*\"", pattern,
             describe(t), s.before + s.behind);
    p.shapes.emplace_back(sizes.begin() + s.before, sizes.end() - s.behind);
    std::vector<int64_t> shape(sizes.begin(), sizes.begin() + s.before);
    int64_t n = 1;
    for (int64_t v : p.shapes.back()) n *= v;
    shape.push_back(n);
    shape.insert(shape.end(), sizes.end() - s.behind, sizes.end());
    flat.push_back(t.reshape(shape));
  }
  p.tensor = cat(flat, int64_t(s.before));
  return p;
}

std::vector<Tensor> unpack(const Tensor& x, const std::vector<std::vector<int64_t>>& shapes, std::string_view pattern) {
  const Star s = star_of("unpack", pattern);
  const IntList sizes = x.sizes();
  DY_CHECK(sizes.size() == s.before + s.behind + 1, "unpack: \"{}\" does not fit {}", pattern, describe(x));
  std::vector<Tensor> out;
  int64_t at = 0;
  const auto dim = int64_t(s.before);
  for (const auto& shape : shapes) {
    int64_t n = 1;
    for (int64_t v : shape) n *= v;
    DY_CHECK(at + n <= x.size(dim), "unpack: the shapes hold more than {} has in dimension {}", describe(x), dim);
    std::vector<int64_t> own(sizes.begin(), sizes.begin() + s.before);
    own.insert(own.end(), shape.begin(), shape.end());
    own.insert(own.end(), sizes.end() - s.behind, sizes.end());
    out.push_back(narrow(x, dim, at, n).reshape(own));
    at += n;
  }
  DY_CHECK(at == x.size(dim), "unpack: the shapes hold {} of the {} that {} has in dimension {}", at, x.size(dim), describe(x),
           dim);
  return out;
}

Tensor einsum_named(TensorList operands, std::string_view pattern) {
  const size_t arrow = pattern.find("->");
  DY_CHECK(arrow != pattern.npos, "einsum: a wrong pattern: \"{}\": it needs a \"->\"", pattern);
  std::vector<std::string> names;
  std::vector<int64_t> sizes;  // of the names
  std::string equation;
  // operand: whose dimensions the term names; none for the result.
  auto add = [&](std::string_view term, const Tensor* operand) {
    const Side side = einops::parse_side("einsum", pattern, term);
    int64_t d = 0;
    for (const Group& g : side) {
      DY_CHECK(!g.composed && (g.axes[0].ellipsis() || !g.axes[0].name.empty()),
               "einsum: a wrong pattern: \"{}\": names and \"...\" only", pattern);
      if (g.axes[0].ellipsis()) {
        equation += "...";
        if (operand) d += operand->dim() - int64_t(side.size()) + 1;
        continue;
      }
      auto at = std::find(names.begin(), names.end(), g.axes[0].name);
      const auto i = at - names.begin();
      if (at == names.end()) {
        DY_CHECK(operand, "einsum: \"{}\" of the result is in no operand: \"{}\"", g.axes[0].name, pattern);
        names.push_back(g.axes[0].name);
        sizes.push_back(1);
      }
      if (operand && d >= 0 && d < operand->dim()) {
        const int64_t own = operand->size(d++);
        int64_t& known = sizes[size_t(i)];
        DY_CHECK(own == known || own == 1 || known == 1,
                 "einsum: \"{}\" has two sizes: {} before, {} in operand {}, which is {}: \"{}\"", g.axes[0].name, known, own,
                 operand - operands.data(), describe(*operand), pattern);
        if (known == 1) known = own;
      }
      DY_CHECK(i < 52, "einsum: too many names in \"{}\"", pattern);
      equation += char(i < 26 ? 'a' + i : 'A' + (i - 26));
    }
  };
  size_t term = 0;
  for (std::string_view rest = pattern.substr(0, arrow);;) {
    const size_t comma = rest.find(',');
    DY_CHECK(term < operands.size(), "einsum: more terms than operands, of which there are {}: \"{}\"", operands.size(),
             pattern);
    add(rest.substr(0, comma), &operands[term++]);
    if (comma == rest.npos) break;
    equation += ',';
    rest.remove_prefix(comma + 1);
  }
  equation += "->";
  add(pattern.substr(arrow + 2), nullptr);
  return einsum(equation, operands);
}

}  // namespace dyadic::inline v1
