// Quantized tensors of torch.save: integers of 8 bits become a dtype with the same codes, scales and zero points; what no dtype
// has (32 bits, zero points that are no integers, channels of other than matrices) is decoded to f32.
#include <algorithm>

#include "dyadic/ops.h"
#include "io/bad_file.h"
#include "io/quantized/integers.h"
#include "io/torch_reader.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {

using Kind = Value::Kind;

// (memory, offset, sizes, strides, quantizer, ...); the quantizer: ("per tensor", scale, zero) or ("per channel", scales,
// zeros, dimension).
Value TorchReader::quantized(const Value::List& a) {
  if (a.size() < 5 || a[4].kind() != Kind::tuple) return {};
  const Value::List& q = a[4].items();
  if (q.size() < 3 || q[0].kind() != Kind::global) return {};
  const Value made = strided(a, {});
  if (!made.node()) return {};
  TorchView& v = views_[size_t(made.node()->index)];
  // It is copied, so it may not repeat what is there.
  if (const int64_t there = view(*a[0].node()).numel; v.numel > there)
    wrong(fmt::format("a quantized tensor of {} elements in memory of {}", v.numel, there));
  auto s = std::make_shared<TorchQuantizer>();
  const std::string& scheme = q[0].node()->text;
  const int64_t middle = v.dtype == u8 ? 128 : 0;
  const bool bytes = v.dtype == u8 || v.dtype == i8;
  if (scheme.starts_with("torch.per_tensor_") && q[1].kind() == Kind::real && q[2].kind() == Kind::integer) {
    s->scale = q[1].real(), s->zero = q[2].integer();
    if (bytes && (s->zero < middle - 128 || s->zero > middle + 127))
      wrong(fmt::format("the zero point of a quantized tensor, {}, is no code of it", s->zero));
    if (bytes) s->to = DType::parse(s->zero == middle ? "i8(tensor)" : "i8(tensor,zero)");
  } else if (scheme.starts_with("torch.per_channel_") && q.size() > 3 && q[3].kind() == Kind::integer) {
    s->axis = q[3].integer();
    if (s->axis < 0 || s->axis >= int64_t(v.sizes.size()))
      wrong(fmt::format("a quantized tensor {} has no channels of dimension {}", shape_text(v.sizes), s->axis));
    const int64_t channels = v.sizes[size_t(s->axis)];
    for (auto [of, to] : {std::pair(&q[1], &s->scales), {&q[2], &s->zeros}}) {
      const Node* n = of->node();
      if (!n || n->kind != Kind::tensor || view(*n).quantizer || view(*n).sizes != std::vector<int64_t>{channels})
        wrong(fmt::format("a quantized tensor {} has not one scale and zero point for each of {} channels", shape_text(v.sizes),
                          channels));
      *to = n->index;
    }
    const DType zeros = views_[size_t(s->zeros)].dtype;
    if (!views_[size_t(s->scales)].dtype.is_floating_point() || !(zeros.is_floating_point() || zeros.is_integer()))
      wrong(fmt::format("scales of {} with zero points of {}", views_[size_t(s->scales)].dtype.name(), zeros.name()));
    if (bytes && zeros.is_integer() && v.sizes.size() == 2) s->to = DType::parse("i8(row,zero)");
  } else {
    return {};
  }
  if (!s->to) s->to = f32;
  v.quantizer = std::move(s);
  return made;
}

Tensor TorchReader::with_scales(const Tensor& codes, const TorchView& v) const {
  const NoGrad guard;
  const TorchQuantizer& q = *v.quantizer;
  const bool channels = q.scales >= 0;
  const auto plain = [&](int32_t i, DType d) { return map("a scale", views_[size_t(i)]).to(d).contiguous(); };
  if (q.to == f32) {
    std::vector<int64_t> shape(v.sizes.size(), 1);
    if (!channels) return (codes.to(f64) - double(q.zero)).to(f32) * float(q.scale);
    shape[size_t(q.axis)] = -1;
    return (codes.to(f32) - plain(q.zeros, f32).view(shape)) * plain(q.scales, f32).view(shape);
  }
  const int64_t middle = v.dtype == u8 ? 128 : 0;
  const Tensor rows = q.axis ? codes.t() : codes;
  const Filling fill(rows.sizes(), q.to);
  copy_to((middle ? bitwise_xor(rows, Scalar(128)) : rows).contiguous(), fill.plane("codes"));
  if (!channels) {
    *fill.at<float>("scales") = float(q.scale);
    if (q.zero != middle) *fill.at<int8_t>("zeros") = int8_t(q.zero - middle);
    return fill.tensor;
  }
  copy_to(plain(q.scales, f32), fill.plane("scales"));
  const Tensor zeros = plain(q.zeros, i64);
  for (int64_t i = 0; i < zeros.numel(); ++i) {
    const int64_t zero = elements_of<int64_t>(zeros)[i];
    if (zero < middle - 128 || zero > middle + 127)
      wrong(fmt::format("the zero point of channel {} of a quantized tensor, {}, is no code of it", i, zero));
    fill.at<int8_t>("zeros")[i] = int8_t(zero - middle);
  }
  return q.axis ? fill.tensor.t() : fill.tensor;
}

}  // namespace dyadic::inline v1::io
