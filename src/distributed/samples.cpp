// Batches cut along their first dimension.
#include "dyadic/data_parallel.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::distributed {
namespace {

using data::Value;
using Kind = Value::Kind;

Value unfolded(const Value& v) {
  if (v.kind() != Kind::foreign) return v;
  Value one[] = {v};
  v.foreign()->unfold(one);
  return one[0];
}

Value cut(const Value& v, int64_t count, int64_t begin, int64_t end) {
  if (v.kind() == Kind::tensor) {
    const Tensor& t = v.tensor();
    return t.dim() && t.size(0) == count ? t.narrow(0, begin, end - begin) : t;
  }
  if (v.kind() == Kind::list) {
    Value::List all;
    for (const Value& each : v.list()) all.push_back(cut(each, count, begin, end));
    return all;
  }
  if (v.kind() == Kind::named) {
    Value::Named all;
    for (auto& [name, each] : v.named()) all.emplace_back(name, cut(each, count, begin, end));
    return all;
  }
  const Value inside = unfolded(v);
  return inside.kind() == Kind::foreign || inside.kind() == v.kind() ? v : cut(inside, count, begin, end);
}

}  // namespace

int64_t sample_count(const Value& batch) {
  const Value v = unfolded(batch);
  int64_t found = 0;
  if (v.kind() == Kind::tensor) return v.tensor().dim() ? v.tensor().size(0) : 0;
  if (v.kind() == Kind::list)
    for (const Value& each : v.list())
      if (!found) found = sample_count(each);
  if (v.kind() == Kind::named)
    for (auto& [name, each] : v.named())
      if (!found) found = sample_count(each);
  return found;
}

Value samples(const Value& batch, int64_t begin, int64_t end) { return cut(batch, sample_count(batch), begin, end); }

}  // namespace dyadic::inline v1::distributed
