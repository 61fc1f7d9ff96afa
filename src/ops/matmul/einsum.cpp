#include <algorithm>
#include <map>

#include "ops/common.h"

namespace dyadic::inline v1::ops::einsum_op {
namespace {

// A factor and the label of each of its dimensions: a letter, or for those under "..." a number from kEllipsis on, counted from
// the right.
constexpr int kEllipsis = 256;
using Labels = std::vector<int>;
struct Factor {
  Tensor t;
  Labels labels;
};

bool has(const Labels& l, int label) { return std::find(l.begin(), l.end(), label) != l.end(); }

class Equation {
 public:
  std::vector<std::string> inputs;
  std::string output;
  bool has_output = false;

  explicit Equation(std::string_view text) : text_(text) {
    std::string plain;
    for (char c : text)
      if (c != ' ') plain += c;
    if (const size_t arrow = plain.find("->"); arrow != plain.npos) {
      has_output = true;
      output = plain.substr(arrow + 2);
      plain.resize(arrow);
    }
    for (size_t from = 0;;) {
      const size_t comma = plain.find(',', from);
      inputs.push_back(plain.substr(from, comma - from));
      if (comma == plain.npos) break;
      from = comma + 1;
    }
  }
  // Labels of one term; `hidden` dimensions stand under its "...".
  Labels parse(const std::string& term, int64_t hidden) const {
    Labels labels;
    for (size_t i = 0; i < term.size(); ++i) {
      const char c = term[i];
      if (c == '.') {
        wrong_unless(term.compare(i, 3, "...") == 0 && term.find("...", i + 3) == term.npos,
                     "dots are \"...\", once in a term");
        for (int64_t k = hidden; k-- > 0;) labels.push_back(kEllipsis + int(k));
        i += 2;
      } else {
        wrong_unless(std::isalpha(static_cast<unsigned char>(c)), fmt::format("\"{}\" is no letter", c));
        labels.push_back(c);
      }
    }
    return labels;
  }
  void wrong_unless(bool fine, const std::string& why) const {
    DY_CHECK(fine, "einsum: a wrong equation: \"{}\": {}", text_, why);
  }

 private:
  std::string text_;
};

// Repeated labels become diagonals.
void take_diagonals(Factor& f) {
  for (size_t i = 0; i < f.labels.size(); ++i)
    for (size_t j = i + 1; j < f.labels.size(); ++j)
      if (f.labels[i] == f.labels[j]) {
        const int label = f.labels[i];
        f.t = diagonal(f.t, 0, int64_t(i), int64_t(j));
        f.labels.erase(f.labels.begin() + int64_t(j));
        f.labels.erase(f.labels.begin() + int64_t(i));
        f.labels.push_back(label);
        return take_diagonals(f);
      }
}
void sum_out(Factor& f, const Labels& needed) {
  std::vector<int64_t> dims;
  Labels kept;
  for (size_t d = 0; d < f.labels.size(); ++d)
    has(needed, f.labels[d]) ? kept.push_back(f.labels[d]) : dims.push_back(int64_t(d));
  if (dims.empty()) return;
  f.t = sum(f.t, dims);
  f.labels = kept;
}
// With dimensions in the order of `labels`, size 1 for those it lacks.
Tensor arranged(const Factor& f, const Labels& labels) {
  std::vector<int64_t> order;
  for (int label : labels)
    if (auto at = std::find(f.labels.begin(), f.labels.end(), label); at != f.labels.end())
      order.push_back(at - f.labels.begin());
  Tensor t = permute(f.t, order);
  for (size_t d = 0; d < labels.size(); ++d)
    if (!has(f.labels, labels[d])) t = unsqueeze(t, int64_t(d));
  return t;
}

// The product of two factors, summed over what neither the result nor another factor needs: one batched matrix product.
Factor contract(Factor a, Factor b, const Labels& needed) {
  Labels both = needed;
  both.insert(both.end(), b.labels.begin(), b.labels.end());
  sum_out(a, both);
  both = needed;
  both.insert(both.end(), a.labels.begin(), a.labels.end());
  sum_out(b, both);
  Labels batch, inner, left, right;
  for (int l : a.labels) (!has(b.labels, l) ? left : has(needed, l) ? batch : inner).push_back(l);
  for (int l : b.labels)
    if (!has(a.labels, l)) right.push_back(l);
  auto join = [](Labels x, const Labels& y, const Labels& z) {
    x.insert(x.end(), y.begin(), y.end());
    x.insert(x.end(), z.begin(), z.end());
    return x;
  };
  const Labels all = join(batch, left, right);
  if (inner.empty()) return {mul(arranged(a, all), arranged(b, all)), all};
  auto sizes = [](const Factor& f, const Labels& labels) {
    std::vector<int64_t> s;
    for (int l : labels) s.push_back(f.t.size(std::find(f.labels.begin(), f.labels.end(), l) - f.labels.begin()));
    return s;
  };
  auto total = [](const std::vector<int64_t>& s) {
    int64_t n = 1;
    for (int64_t v : s) n *= v;
    return n;
  };
  std::vector<int64_t> shape = sizes(a, batch), m = sizes(a, left), n = sizes(b, right);
  const int64_t groups = total(shape), k = total(sizes(a, inner));
  Tensor x = arranged(a, join(batch, left, inner)).reshape({groups, total(m), k});
  Tensor y = arranged(b, join(batch, inner, right)).reshape({groups, k, total(n)});
  shape.insert(shape.end(), m.begin(), m.end());
  shape.insert(shape.end(), n.begin(), n.end());
  return {matmul(x, y).reshape(shape), all};
}

class Contraction {
  std::vector<Factor> factors_;
  std::map<int, int64_t> size_;
  Labels output_;

 public:
  Contraction(const Equation& e, std::span<const Tensor> operands) {
    DY_CHECK(e.inputs.size() == operands.size(), "einsum: {} operands for an equation of {}", operands.size(), e.inputs.size());
    int64_t most = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool dots = e.inputs[i].find("...") != std::string::npos;
      const int64_t named = int64_t(e.inputs[i].size()) - (dots ? 3 : 0), hidden = operands[i].dim() - named;
      DY_CHECK(dots ? hidden >= 0 : hidden == 0,
               "einsum: operand {} has the wrong number of dimensions: it is {}, its term is \"{}\"", i, describe(operands[i]),
               e.inputs[i]);
      if (dots) most = std::max(most, hidden);
      factors_.push_back({operands[i], e.parse(e.inputs[i], hidden)});
      measure(factors_.back(), i);
      take_diagonals(factors_.back());
    }
    output_ = e.has_output ? e.parse(e.output, most) : implied(e, most);
    for (int label : output_) {
      e.wrong_unless(std::count(output_.begin(), output_.end(), label) == 1, "a label stands twice in the result");
      e.wrong_unless(label >= kEllipsis || size_.count(label),
                     fmt::format("\"{}\" of the result is in no operand", char(label)));
    }
    drop_ones();
  }
  Tensor run() {
    while (factors_.size() > 1) {
      const auto [i, j] = cheapest();
      Factor product = contract(factors_[i], factors_[j], needed(i, j));
      factors_.erase(factors_.begin() + int64_t(j));
      factors_[i] = std::move(product);
    }
    Factor& last = factors_[0];
    sum_out(last, output_);
    return arranged(last, output_);
  }

 private:
  void measure(const Factor& f, size_t operand) {
    for (size_t d = 0; d < f.labels.size(); ++d) {
      int64_t& known = size_.try_emplace(f.labels[d], 1).first->second;
      const int64_t own = f.t.size(int64_t(d));
      const std::string name = f.labels[d] < kEllipsis ? fmt::format("\"{}\"", char(f.labels[d])) : "a dimension of \"...\"";
      DY_CHECK(own == known || own == 1 || known == 1, "einsum: {} has two sizes: {} before, {} in operand {}, which is {}",
               name, known, own, operand, describe(f.t));
      if (known == 1) known = own;
    }
  }
  Labels implied(const Equation& e, int64_t hidden) const {  // "...", then the letters that stand once, sorted
    Labels labels;
    for (int64_t k = hidden; k-- > 0;) labels.push_back(kEllipsis + int(k));
    std::map<char, int> count;
    for (const std::string& term : e.inputs)
      for (char c : term)
        if (c != '.') ++count[c];
    for (auto [c, n] : count)
      if (n == 1) labels.push_back(c);
    return labels;
  }
  // A dimension of size 1 that another factor has in full is broadcast by not being there.
  void drop_ones() {
    for (Factor& f : factors_)
      for (size_t d = f.labels.size(); d-- > 0;)
        if (f.t.size(int64_t(d)) == 1 && size_[f.labels[d]] != 1) {
          f.t = squeeze(f.t, int64_t(d));
          f.labels.erase(f.labels.begin() + int64_t(d));
        }
  }
  Labels needed(size_t i, size_t j) const {
    Labels l = output_;
    for (size_t k = 0; k < factors_.size(); ++k)
      if (k != i && k != j) l.insert(l.end(), factors_[k].labels.begin(), factors_[k].labels.end());
    return l;
  }
  // The pair whose product takes the fewest multiplications; of equal ones the first.
  std::pair<size_t, size_t> cheapest() const {
    std::pair<size_t, size_t> best{0, 1};
    double least = INFINITY;
    for (size_t i = 0; i < factors_.size(); ++i)
      for (size_t j = i + 1; j < factors_.size(); ++j) {
        double cost = 1;
        for (int l : factors_[i].labels) cost *= double(size_.at(l));
        for (int l : factors_[j].labels)
          if (!has(factors_[i].labels, l)) cost *= double(size_.at(l));
        if (cost < least) least = cost, best = {i, j};
      }
    return best;
  }
};

Tensor compose(Args a) {
  const Equation e({a.arg(arg::equation).text, a.arg(arg::equation).n});
  return Contraction(e, a[arg::operands]).run();
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "einsum(str equation, Tensor[] operands) -> Tensor",
    .doc =
        "Sums of products in Einstein's notation: \"ij,jk->ik\". Letters name dimensions, \"...\" those that broadcast, a "
        "letter "
        "twice in a term its diagonal; what the result lacks is summed. Without \"->\" the result has the letters that stand "
        "once, sorted. Factors are multiplied pairwise as batched matrix products, the cheapest pair first.",
    .kind = OpKind::composite,
    .samples =
        "einsum('ij,jk->ik', [randn(2, 3), randn(3, 4)])\n"
        "einsum('bij,bjk', [randn(2, 3, 4), randn(2, 4, 2)])\n"
        "einsum('...ij,...kj->...ik', [randn(2, 1, 3, 4), randn(5, 2, 4)])\n"
        "einsum('ii->i', [randn(3, 3)])\n"
        "einsum('ii', [randn(3, 3)])\n"
        "einsum('i,j', [randn(3), randn(2)])\n"
        "einsum('ij->ji', [randn(2, 3)])\n"
        "einsum('ab,bc,cd,d->a', [randn(2, 3), randn(3, 4), randn(4, 5), randn(5)])\n"
        "einsum('ij,ij->', [randn(2, 3), randn(2, 3)])\n"
        "einsum('bhtd,bhsd->bhts', [randn(2, 2, 3, 4), randn(2, 2, 5, 4)])\n"
        "einsum(',i->i', [randn(), randn(3)])",
    .bad =
        "einsum('ij,jk->ik', [zeros(2, 3), zeros(4, 5)]) => einsum: \"j\" has two sizes: 3 before, 4 in operand 1, which is "
        "f32[4, 5]\n"
        "einsum('ij', [zeros(2)]) => einsum: operand 0 has the wrong number of dimensions: it is f32[2], its term is \"ij\"\n"
        "einsum('i->j', [zeros(2)]) => einsum: a wrong equation: \"i->j\": \"j\" of the result is in no operand\n"
        "einsum('i,j', [zeros(2)]) => einsum: 1 operands for an equation of 2",
    .skip =
        "layout_bits: the strides of its operands decide which kernel multiplies; each adds in its own order, always the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::einsum_op
