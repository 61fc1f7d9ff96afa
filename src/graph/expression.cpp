#include "graph/expression.h"

#include "ops/tracer.h"

namespace dyadic::inline v1::graph {
namespace {

using Of = Expression::Of;

class ExpressionTracer final : public Tracer {
  std::vector<Expression::Term> terms_;

  Traced made(Of of, size_t index) {
    terms_.push_back({of, int(index)});
    Traced r;
    r.id = int32_t(terms_.size()) - 1;
    return r;
  }

 public:
  Expression expression;
  bool fits = true;

  Traced input(int i) { return made(Of::input, size_t(i)); }
  Traced constant(double v) override {
    expression.numbers.push_back(float(v));
    return made(Of::number, expression.numbers.size() - 1);
  }
  Traced apply(Primitive f, Traced a, Traced b, Traced) override {
    Arithmetic op = Arithmetic::add;
    switch (f) {
#define DY_CASE(name)      \
  case Primitive::name:    \
    op = Arithmetic::name; \
    break;
      DY_CASE(neg)
      DY_CASE(abs)
      DY_CASE(sqrt)
      DY_CASE(add)
      DY_CASE(sub)
      DY_CASE(mul)
      DY_CASE(div)
      DY_CASE(max)
      DY_CASE(min)
#undef DY_CASE
      default:
        fits = false;
    }
    const auto term = [this](Traced t) { return t.id < 0 ? Expression::Term{} : terms_[size_t(t.id)]; };
    expression.parts.push_back({op, term(a), term(b)});
    return made(Of::part, expression.parts.size() - 1);
  }
  // Whether `r` is the last part.
  bool ends_with(Traced r) const {
    return r.id >= 0 && terms_[size_t(r.id)].of == Of::part && terms_[size_t(r.id)].index == int(expression.parts.size()) - 1;
  }
};

}  // namespace

std::shared_ptr<const Expression> expression_of(const Pointwise& op, std::span<const Scalar> numbers) {
  if (!op.trace) return nullptr;
  ExpressionTracer tracer;
  Traced in[kMaxOperands], params[kMaxParams];
  for (int i = 0; i < op.inputs; ++i) in[i] = tracer.input(i);
  for (size_t i = 0; i < numbers.size(); ++i) params[i] = tracer.constant(numbers[i].real());
  tracer.expression.given = int(numbers.size());
  const Traced r = op.trace(in, params);
  if (!tracer.fits || !tracer.ends_with(r)) return nullptr;
  return std::make_shared<const Expression>(std::move(tracer.expression));
}

}  // namespace dyadic::inline v1::graph
