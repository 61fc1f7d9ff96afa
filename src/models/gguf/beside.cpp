#include "models/gguf/beside.h"

#include "base/json.h"
#include "dyadic/numbers.h"
#include "io/bad_file.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {
namespace {

using nlohmann::json;

constexpr char kBesideKey[] = "dyadic.beside_weights", kHexDigits[] = "0123456789abcdef";

std::string hex_of(const Tensor& t) {
  const Tensor dense = t.contiguous();
  std::string text;
  for (const char c : std::string_view(dense.impl()->data(), size_t(dense.nbytes()))) {
    text += kHexDigits[uint8_t(c) >> 4];
    text += kHexDigits[uint8_t(c) & 15];
  }
  return text;
}
std::optional<uint8_t> byte_of(const char* two) {
  int byte = 0;
  for (int i = 0; i < 2; ++i) {
    const size_t digit = std::string_view(kHexDigits).find(two[i]);
    if (digit > 15) return {};
    byte = byte * 16 + int(digit);
  }
  return uint8_t(byte);
}
// Undefined where it is none.
Tensor tensor_of(const json& v) {
  const bool right =
      v.is_array() && v.size() == 3 && v[0].is_string() && v[1].is_array() && v[1].size() <= 8 && v[2].is_string();
  if (!right) return {};
  DType dtype;
  try {
    dtype = DType::parse(v[0].get<std::string>());
  } catch (const Error&) { return {}; }
  if (dtype.is_blocked()) return {};
  const std::string& text = v[2].get_ref<const std::string&>();
  std::vector<int64_t> shape;
  uint64_t bytes = uint64_t(dtype.itemsize());
  for (const json& n : v[1]) {
    if (!io::is_integer_in(n, 0, int64_t(1) << 40)) return {};
    shape.push_back(n.get<int64_t>());
    if (__builtin_mul_overflow(bytes, uint64_t(shape.back()), &bytes)) return {};
  }
  if (text.size() % 2 || bytes != text.size() / 2) return {};
  Tensor t = make_tensor(shape, dtype, cpu);
  auto* to = static_cast<uint8_t*>(t.data_ptr());
  for (size_t i = 0; i < bytes; ++i) {
    const std::optional<uint8_t> byte = byte_of(text.data() + 2 * i);
    if (!byte) return {};
    to[i] = *byte;
  }
  return t;
}

}  // namespace

void put_beside(io::GgufMetadata& keys, const io::BesideWeights& beside) {
  json all = json::object();
  for (auto& [weight, tensors] : beside)
    for (auto& [name, t] : tensors)
      if (!t.dtype().is_blocked()) all[weight][name] = {t.dtype().name(), t.sizes().vec(), hex_of(t)};
  if (!all.empty()) keys.emplace_back(kBesideKey, dump_json(all));
}

io::BesideWeights beside_of(const io::GgufFile& file) {
  io::BesideWeights all;
  if (!file.has_key(kBesideKey)) return all;
  const auto wrong = [&] { io::bad(file.path(), "key {} is not as it must be", io::quote_name(kBesideKey)); };
  const json text = bounded_json(file.text(kBesideKey));
  if (!text.is_object()) wrong();
  for (auto& [weight, tensors] : text.items()) {
    if (!tensors.is_object()) wrong();
    for (auto& [name, value] : tensors.items()) {
      all[weight].emplace_back(name, tensor_of(value));
      if (!all[weight].back().second.defined()) wrong();
    }
  }
  return all;
}

}  // namespace dyadic::inline v1::models
