// Protocol buffers' wire format, as much as an event needs: fields appended to a message.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace dyadic::inline v1::train {

class Message {
  std::string bytes_;
  enum Wire : uint32_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

  void put_varint(uint64_t v) {
    for (; v >= 128; v >>= 7) bytes_ += char(v | 128);
    bytes_ += char(v);
  }
  template <class T> void put_little_endian(T v) {
    for (size_t i = 0; i < sizeof(T); ++i) bytes_ += char(v >> (8 * i));
  }
  void key(int field, Wire wire) { put_varint(uint64_t(field) << 3 | wire); }

 public:
  Message& integer(int field, int64_t v) { return key(field, varint), put_varint(uint64_t(v)), *this; }
  Message& float64(int field, double v) { return key(field, fixed64), put_little_endian(std::bit_cast<uint64_t>(v)), *this; }
  Message& float32(int field, float v) { return key(field, fixed32), put_little_endian(std::bit_cast<uint32_t>(v)), *this; }
  Message& text(int field, std::string_view v) { return key(field, length), put_varint(v.size()), bytes_ += v, *this; }
  Message& message(int field, const Message& m) { return text(field, m.bytes_); }
  const std::string& bytes() const { return bytes_; }
};

}  // namespace dyadic::inline v1::train
