// The values of GGUF's metadata, when they are asked for.

#include "base/json.h"
#include "io/gguf.h"

namespace dyadic::inline v1::io {
namespace {

using nlohmann::json;

constexpr uint64_t kShown = 64;  // elements of an array that JSON spells out

template <class T> T read_one(GgufCursor& at) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(at.text());
  } else if constexpr (std::is_same_v<T, bool>) {
    const auto v = at.number<uint8_t>();
    if (v > 1) at.wrong("a bool of {}, neither 0 nor 1", v);
    return v;
  } else {
    return at.number<T>();
  }
}

GgufArray read_array(GgufCursor& at, GgufType of, uint64_t count) {
  if (count > at.left() / gguf_least_bytes(of))
    at.wrong("{} values do not fit into the {} bytes that are left", count, at.left());
  return with_gguf_type(of, [&](auto type) -> GgufArray {
    using T = typename decltype(type)::type;
    std::vector<T> values;
    values.reserve(size_t(count));
    for (uint64_t i = 0; i < count; ++i) values.push_back(read_one<T>(at));
    return values;
  });
}

json json_of(const GgufArray& array) {
  return std::visit([](const auto& values) { return json(values); }, array);
}
json json_of(const GgufValue& value) {
  return std::visit(
      [](const auto& v) -> json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, GgufArray>) {
          return json_of(v);
        } else if constexpr (std::is_same_v<T, std::vector<GgufArray>>) {
          json all = json::array();
          for (const GgufArray& a : v) all.push_back(json_of(a));
          return all;
        } else {
          return v;
        }
      },
      value);
}

}  // namespace

const char* gguf_type_name(GgufType type) {
  static constexpr const char* kNames[] = {"uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
                                           "bool",  "string", "array",  "uint64", "int64",  "float64"};
  return kNames[uint32_t(type)];
}

uint64_t gguf_least_bytes(GgufType type) {
  if (type == GgufType::array) return 4 + 8;
  return with_gguf_type(type, [](auto t) -> uint64_t {
    using T = typename decltype(t)::type;
    return std::is_same_v<T, std::string> ? 8 : sizeof(T);
  });
}

GgufValue read_gguf_value(GgufCursor& at, const GgufKey& key) {
  if (key.type != GgufType::array)
    return with_gguf_type(key.type, [&](auto t) -> GgufValue { return read_one<typename decltype(t)::type>(at); });
  if (key.of != GgufType::array) return read_array(at, key.of, key.count);
  std::vector<GgufArray> all;
  for (uint64_t i = 0; i < key.count; ++i) {
    const auto of = at.number<uint32_t>();
    if (of > uint32_t(GgufType::f64) || of == uint32_t(GgufType::array)) at.wrong("type {} of an inner array", of);
    const auto count = at.number<uint64_t>();
    all.push_back(read_array(at, GgufType(of), count));
  }
  return all;
}

std::string gguf_json(std::string_view bytes, const std::string& file, const std::vector<GgufKey>& keys) {
  json all = json::object();
  for (const GgufKey& key : keys) {
    if (key.type == GgufType::array && (key.count > kShown || key.of == GgufType::array)) {
      all[key.name] = {{"type", gguf_type_name(key.of)}, {"count", key.count}};
      continue;
    }
    GgufCursor at(bytes, file, key.offset);
    at.enter("key", key.name);
    all[key.name] = json_of(read_gguf_value(at, key));
  }
  return dump_json(all, -1, NotUtf8::replaced);  // texts need not be UTF-8
}

}  // namespace dyadic::inline v1::io
