#include "data/each_tensor.h"

namespace dyadic::inline v1::data {

Value with_each_tensor(const Value& v, FunctionRef<Tensor(const Tensor&)> f) {
  using Kind = Value::Kind;
  if (v.kind() == Kind::tensor) return f(v.tensor());
  if (v.kind() == Kind::list) {
    Value::List all;
    for (const Value& each : v.list()) all.push_back(with_each_tensor(each, f));
    return all;
  }
  if (v.kind() == Kind::named) {
    Value::Named all;
    for (auto& [name, each] : v.named()) all.emplace_back(name, with_each_tensor(each, f));
    return all;
  }
  if (v.kind() != Kind::foreign) return v;
  Value one[] = {v};
  v.foreign()->unfold(one);
  return one[0].kind() == Kind::foreign ? v : with_each_tensor(one[0], f);
}

Value brought(const Value& value, Device to) {
  const CategoryScope scope(Category::data);
  return with_each_tensor(value, [to](const Tensor& t) { return t.to(to); });
}

}  // namespace dyadic::inline v1::data
