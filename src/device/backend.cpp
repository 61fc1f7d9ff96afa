#include "device/backend.h"

#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <mutex>

#include "base/check.h"
#include "base/plugin.h"

namespace dyadic::inline v1 {

constinit thread_local int t_device = 0;
constinit thread_local Device t_meta_as;

namespace {

std::atomic<Backend*> g_loaded{nullptr};

struct Found {
  Backend* backend = nullptr;
  int count = 0;
  std::string why;
};
const Found& found() {
  static const Found* f = [] {
    auto* made = new Found;
    try {
      made->backend =
          find_plugin<Backend>("libdyadic_cuda.so", "DYADIC_CUDA", "dyadic_backend", kBackendVersion, false, made->why);
      if (!made->backend) {
        made->why = "the plug-in is missing (" + made->why + "): ./dev build --cuda makes it, where nvcc is";
      } else if (!(made->count = std::min(made->backend->count(), kMaxDevices))) {
        made->why = made->backend->why_none();
      } else {
        g_loaded = made->backend;
      }
    } catch (const std::exception& e) { made->why = e.what(); }
    return made;
  }();
  return *f;
}

constexpr auto kNames = [] {
  std::array<std::array<char, 8>, kMaxDevices> names{};
  for (int i = 0; i < kMaxDevices; ++i) {
    auto& n = names[size_t(i)];
    int at = 0;
    for (const char c : {'c', 'u', 'd', 'a', ':'}) n[size_t(at++)] = c;
    if (i > 9) n[size_t(at++)] = '1';
    n[size_t(at)] = char('0' + i % 10);
  }
  return names;
}();

}  // namespace

Backend* find_backend() noexcept { return found().count ? found().backend : nullptr; }
Backend* loaded_backend() noexcept { return g_loaded; }
Backend& backend() {
  const Found& f = found();
  DY_CHECK(f.count, "device: there is no cuda here: {}; use \"cpu\", and ask is_available() first", f.why);
  return *f.backend;
}

void copy_bytes(Device to, void* target, Device from, const void* source, int64_t bytes) {
  if (bytes == 0 || to.is_meta() || from.is_meta()) return;
  if (to.is_cpu() && from.is_cpu())
    std::memcpy(target, source, size_t(bytes));
  else
    backend().copy(to, target, from, source, bytes);
}

int8_t Device::present(int64_t index) {
  backend();
  if (index < 0) return int8_t(t_device);
  DY_CHECK(index < found().count, "device: there is no cuda:{} here: {} of them {}", index, found().count,
           found().count == 1 ? "is there, cuda:0" : "are there");
  return int8_t(index);
}

const char* Device::name() const {
  return type_ == DeviceType::cpu ? "cpu" : type_ == DeviceType::meta ? "meta" : kNames[size_t(index_)].data();
}

Device Device::parse(std::string_view text) {
  if (text == "cpu" || text == "cpu:0") return cpu;
  if (text == "meta") return meta;
  if (text == "cuda") return DeviceType::cuda;
  if (text.starts_with("cuda:")) {
    int index = -1;
    const auto [end, error] = std::from_chars(text.data() + 5, text.data() + text.size(), index);
    DY_CHECK(error == std::errc() && end == text.data() + text.size() && index >= 0,
             "device: unknown device \"{}\"; a cuda device is \"cuda\" or \"cuda:1\"", text);
    return {DeviceType::cuda, index};
  }
  fail("device: unknown device \"{}\"; the known ones are cpu, meta and cuda", text);
}

}  // namespace dyadic::inline v1
