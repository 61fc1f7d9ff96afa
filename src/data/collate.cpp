// default_collate: from samples to a batch, entry by entry.
#include "base/check.h"
#include "dyadic/data.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data {
namespace {

using Kind = Value::Kind;

Value stack_tensors(const std::vector<Value>& samples) {
  std::vector<Tensor> rows;
  for (const Value& v : samples) {
    const Tensor& t = v.tensor();
    if (!rows.empty())
      DY_CHECK_AS(ValueError, t.sizes() == rows[0].sizes(),
                  "default_collate: the samples of a batch differ in shape: sample 0 is {}, sample {} is {}; pad them, or give "
                  "a collate_fn",
                  describe(rows[0]), rows.size(), describe(t));
    rows.push_back(t);
  }
  return stack(rows);
}

// Integers beside floats are floats, f32 where an integer comes first, as PyTorch has it; bools beside numbers count.
Value join_numbers(const std::vector<Value>& samples) {
  auto kind = Scalar::Kind::boolean;
  for (const Value& v : samples) kind = std::max(kind, v.number().kind());
  DY_CHECK_AS(TypeError, kind != Scalar::Kind::complex, "default_collate: complex numbers; make tensors of them");
  const int64_t n = int64_t(samples.size());
  const bool real = kind == Scalar::Kind::real;
  Tensor out = empty({n}, real ? f64 : i64);
  for (int64_t i = 0; i < n; ++i) {
    const Scalar s = samples[size_t(i)].number();
    if (real)
      out.data<double>()[i] = s.real();
    else
      out.data<int64_t>()[i] = s.integer();
  }
  if (real && samples[0].number().kind() != Scalar::Kind::real) return out.to(f32);
  return kind == Scalar::Kind::boolean ? out.to(boolean) : out;
}

void check_alike(const std::vector<Value>& samples) {
  for (size_t i = 1; i < samples.size(); ++i) {
    const Value &a = samples[0], &b = samples[i];
    DY_CHECK_AS(TypeError, a.kind() == b.kind(),
                "default_collate: the samples of a batch differ: sample 0 is {}, sample {} is {}", a.str(), i, b.str());
    if (a.kind() == Kind::list)
      DY_CHECK_AS(ValueError, a.size() == b.size(),
                  "default_collate: the samples of a batch differ in length: sample 0 has {} entries, sample {} has {}",
                  a.size(), i, b.size());
  }
}

}  // namespace

Value default_collate(std::vector<Value> samples) {
  DY_CHECK_AS(ValueError, !samples.empty(), "default_collate: an empty batch");
  for (const Value& v : samples)
    if (v.kind() == Kind::foreign) {
      auto language = v.foreign();
      language->unfold(samples);
      break;
    }
  check_alike(samples);
  const Value& first = samples[0];
  auto entry = [&](auto pick) {
    std::vector<Value> column;
    for (const Value& v : samples) column.push_back(pick(v));
    return default_collate(std::move(column));
  };
  Value out;
  switch (first.kind()) {
    case Kind::tensor:
      return stack_tensors(samples);
    case Kind::number:
      return join_numbers(samples);
    case Kind::text:
      return samples;
    case Kind::list: {
      Value::List columns;
      for (size_t i = 0; i < first.size(); ++i) {
        columns.push_back(entry([i](const Value& v) { return v.list()[i]; }));
        columns.back().tuple = samples[0].list()[i].kind() == Kind::text;
      }
      out = std::move(columns);
      break;
    }
    case Kind::named: {
      Value::Named columns;
      for (auto& [name, unused] : first.named())
        columns.emplace_back(name, entry([&name = name](const Value& v) { return v[std::string_view(name)]; }));
      out = std::move(columns);
      break;
    }
    default:
      fail<TypeError>(
          "default_collate: a batch is made of tensors, arrays, numbers, texts, dicts and lists; found {}; give a collate_fn",
          first.str());
  }
  out.type = first.type;
  return out;
}

Value default_convert(Value sample) {
  if (sample.kind() == Kind::foreign) {
    auto language = sample.foreign();
    language->unfold({&sample, 1});
  }
  return sample;
}

}  // namespace dyadic::inline v1::data
