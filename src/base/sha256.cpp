#include "base/sha256.h"

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/check.h"
// After the types it forgets to include.
#include <sha2.h>

namespace dyadic::inline v1 {

struct Sha256::State {
  SHA2_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256Init(&state_->context); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, size_t bytes) {
  if (bytes) SHA256Update(&state_->context, static_cast<const uint8_t*>(data), bytes);
}
std::string Sha256::hex() const {
  State copy = *state_;
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256Final(digest, &copy.context);
  std::string out;
  for (uint8_t byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex();
}
std::string sha256_file(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  DY_CHECK_AS(ValueError, file, "sha256: the file can't be opened: path is \"{}\"; {}", path, std::strerror(errno));
  Sha256 hash;
  auto buffer = std::make_unique<char[]>(1 << 16);
  while (size_t n = std::fread(buffer.get(), 1, 1 << 16, file.get())) hash.update(buffer.get(), n);
  DY_CHECK_AS(ValueError, !std::ferror(file.get()), "sha256: the file can't be read: path is \"{}\"; {}", path,
              std::strerror(errno));
  return hash.hex();
}

}  // namespace dyadic::inline v1
