#include "tune/distill_losses.h"

#include <cmath>

#include "base/check.h"
#include "dyadic/numbers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::tune {
namespace {

Tensor wide(const Tensor& t) { return t.dtype() == f64 ? t : t.to(f32); }

// [B, heads, T, T], the logarithm of softmax.
Tensor relation(const Tensor& x, int64_t heads, const Tensor& mask) {
  const int64_t B = x.size(0), T = x.size(1), d = x.size(2) / heads;
  const Tensor parts = wide(x).reshape({B, T, heads, d}).transpose(1, 2);
  Tensor scores = matmul(parts, parts.transpose(2, 3)) * (1 / std::sqrt(double(d)));
  if (mask.defined()) scores = masked_fill(scores, logical_not(mask.dim() == 3 ? unsqueeze(mask, 1) : mask), -1e30);
  return log_softmax(scores, -1);
}

}  // namespace

Tensor soft_divergence(const Tensor& student, const Tensor& teacher, double temperature) {
  const Tensor s = log_softmax(wide(student) * (1 / temperature), -1), t = log_softmax(wide(teacher) * (1 / temperature), -1);
  return sum(exp(t) * (t - s), {-1}) * (temperature * temperature);
}
Tensor hidden_distance(const Tensor& student, const Tensor& teacher) {
  const Tensor s = wide(student), t = wide(teacher);
  return sum(square(s - t), {-1}) / clamp_min(sum(square(t), {-1}), 1e-12);
}
Tensor relation_divergence(const Tensor& student, const Tensor& teacher, int64_t heads, const Tensor& mask) {
  const Tensor s = relation(student, heads, mask), t = relation(teacher, heads, mask);
  return mean(sum(exp(t) * (t - s), {-1}), {1});
}

Tensor distillation_loss(const Tensor& student, const Tensor& teacher, double temperature) {
  DY_CHECK_AS(ValueError, student.sizes() == teacher.sizes() && student.dim() >= 1,
              "distillation_loss: student is {}, and teacher {}: logits of the same classes are needed", describe(student),
              describe(teacher));
  DY_CHECK_AS(ValueError, temperature > 0, "distillation_loss: temperature is {}, not above 0", temperature);
  return mean(soft_divergence(student, teacher, temperature));
}
Tensor hidden_loss(const Tensor& student, const Tensor& teacher) {
  DY_CHECK_AS(ValueError, student.sizes() == teacher.sizes() && student.dim() >= 1,
              "hidden_loss: student is {}, and teacher {}: of one width they can be compared; relation_loss takes any",
              describe(student), describe(teacher));
  return mean(hidden_distance(student, teacher));
}
Tensor relation_loss(const Tensor& student, const Tensor& teacher, int64_t heads, const Tensor& mask) {
  for (const Tensor* t : {&student, &teacher})
    DY_CHECK_AS(ValueError, t->dim() == 3 && heads >= 1 && t->size(2) % heads == 0,
                "relation_loss: [B, T, width] of {} heads are needed: one is {}", heads, describe(*t));
  DY_CHECK_AS(ValueError, student.size(0) == teacher.size(0) && student.size(1) == teacher.size(1),
              "relation_loss: student is {}, and teacher {}: tokens differ", describe(student), describe(teacher));
  return mean(relation_divergence(student, teacher, heads, mask));
}

}  // namespace dyadic::inline v1::tune
