// The ledger: live and peak bytes by device, category and module, and the limit. Devices differ in where memory comes from, not
// in how it is counted: that is why a dry run on meta predicts a real one.
#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "device/allocator.h"
#include "device/backend.h"
#include "device/failure.h"
#include "device/heap.h"
#include "device/limit.h"

namespace dyadic::inline v1 {

constinit thread_local Category t_category = Category::temporary;
constinit thread_local uint32_t t_module = 0, t_left = 0;
void leave_module(uint32_t before) noexcept {
  if (!t_left && std::uncaught_exceptions() > 0) [[unlikely]]
    t_left = t_module;
  t_module = before;
}

namespace {

constexpr uint32_t kModules = 4096;  // paths beyond share the last entry
constexpr int kLedgers = 2 + kMaxDevices;
int number(Device d) { return d.is_cuda() ? 2 + int(d.index()) : int(d.type()); }

// What one thread has allocated less what it has freed; only it writes, so that a count costs no locked instruction (they were
// half of a small op). A thread that ends leaves its counts to the next one. Of two threads that allocate in the same instant
// each may miss the other in the peak, not in what is live.
struct Count {
  std::atomic<int64_t> bytes{0};
  void add(int64_t n) { bytes.store(bytes.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  operator int64_t() const { return bytes.load(std::memory_order_relaxed); }
};
struct alignas(64) Account {
  struct OfDevice {
    Count total, by[kCategories], allocations, module[kModules];
  } host[2];                                        // cpu, meta
  std::atomic<OfDevice*> beside[kMaxDevices] = {};  // made when the thread first allocates there: a thread's start stays cheap
  std::atomic<bool> taken{true};
  Account* next = nullptr;

  OfDevice& of(Device d) {
    if (!d.is_cuda()) [[likely]]
      return host[number(d)];
    std::atomic<OfDevice*>& made = beside[d.index()];
    if (!made.load(std::memory_order_relaxed)) made.store(new OfDevice, std::memory_order_release);
    return *made.load(std::memory_order_relaxed);
  }
  const OfDevice* seen(Device d) const {
    return d.is_cuda() ? beside[d.index()].load(std::memory_order_acquire) : &host[number(d)];
  }
};
std::atomic<Account*> g_accounts{nullptr};  // never freed
constinit thread_local Account* t_account = nullptr;

[[gnu::cold, gnu::noinline]] Account& open_account() {
  static thread_local struct Lease {
    Account* account = nullptr;
    ~Lease() {
      t_account = nullptr;
      if (account) account->taken.store(false, std::memory_order_release);
    }
  } lease;
  Account* a = g_accounts.load(std::memory_order_acquire);
  for (; a; a = a->next)
    if (!a->taken.exchange(true, std::memory_order_acquire)) break;
  if (!a) {
    a = new Account;
    a->next = g_accounts.load(std::memory_order_relaxed);
    while (!g_accounts.compare_exchange_weak(a->next, a, std::memory_order_release, std::memory_order_relaxed)) {}
  }
  lease.account = t_account = a;
  return *a;
}
Account& account() { return t_account ? *t_account : open_account(); }

template <class F> int64_t sum(Device d, F of) {
  int64_t all = 0;
  for (const Account* a = g_accounts.load(std::memory_order_acquire); a; a = a->next)
    if (const Account::OfDevice* seen = a->seen(d)) all += of(*seen);
  return all;
}
int64_t total(Device d) {
  return sum(d, [](const Account::OfDevice& a) { return int64_t(a.total); });
}
int64_t live(Device d, int category) {
  return sum(d, [category](const Account::OfDevice& a) { return int64_t(a.by[category]); });
}

struct Ledger {
  std::atomic<int64_t> total_peak{0}, peak[kCategories]{}, limit{0};
};
constinit Ledger g_ledger[kLedgers];
Ledger& ledger(Device d) { return g_ledger[number(d)]; }

void raise(std::atomic<int64_t>& peak, int64_t now) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {}
}

struct Modules {
  std::mutex mutex;
  std::map<std::string, uint32_t, std::less<>> ids{{"", 0}};
  std::deque<std::string> paths{""};
};
Modules& modules() {
  static Modules* m = new Modules;
  return *m;
}

[[gnu::cold, gnu::noinline]] void over_limit(Device d, int64_t bytes) {
  fail<OutOfMemoryError>("out of memory: {} more on {} would pass the limit of {}\n{}", human_bytes(bytes), d.name(),
                         human_bytes(ledger(d).limit.load()), memory_summary(d));
}

[[gnu::cold, gnu::noinline]] void none_left(Device d, int64_t bytes) {
  int64_t free = 0, all = 0;
  backend().free_and_total(int(d.index()), &free, &all);
  fail<OutOfMemoryError>("out of memory: {} more on {}, which has {} free of {}\n{}", human_bytes(bytes), d.name(),
                         human_bytes(free), human_bytes(all), memory_summary(d));
}

}  // namespace

int64_t rounded_bytes(int64_t bytes) {
  return bytes <= kSmallLimit ? std::max<int64_t>((bytes + 63) & ~int64_t(63), 64)
                              : (bytes + kHeapGrain - 1) / kHeapGrain * kHeapGrain;
}
void* device_allocate(Device d, int64_t bytes) {
  if (d.is_cpu()) return bytes <= kSmallLimit ? pool_allocate(size_t(bytes)) : heap_allocate(bytes);
  if (d.is_meta()) return nullptr;
  void* p = backend().allocate(int(d.index()), bytes);
  if (!p) none_left(d, bytes);
  return p;
}
void device_release(Device d, void* p, int64_t bytes) noexcept {
  if (d.is_cpu()) return bytes <= kSmallLimit ? pool_release(p, size_t(bytes)) : heap_release(p, bytes);
  if (d.is_cuda()) find_backend()->release(int(d.index()), p, bytes);
}

void ledger_add(Device d, Category c, uint32_t module, int64_t bytes) {
  Ledger& l = ledger(d);
  may_fail(bytes);
  Account::OfDevice& a = account().of(d);
  if (int64_t limit = l.limit.load(std::memory_order_relaxed); limit && total(d) + bytes > limit) [[unlikely]]
    over_limit(d, bytes);
  a.total.add(bytes);
  a.by[int(c)].add(bytes);
  a.allocations.add(1);
  if (module) a.module[std::min(module, kModules - 1)].add(bytes);
  raise(l.total_peak, total(d));
  raise(l.peak[int(c)], live(d, int(c)));
}
void ledger_remove(Device d, Category c, uint32_t module, int64_t bytes) {
  Account::OfDevice& a = account().of(d);
  a.total.add(-bytes);
  a.by[int(c)].add(-bytes);
  if (module) a.module[std::min(module, kModules - 1)].add(-bytes);
}
void ledger_move(Device d, Category from, Category to, int64_t bytes) {
  Account::OfDevice& a = account().of(d);
  a.by[int(from)].add(-bytes);
  a.by[int(to)].add(bytes);
  raise(ledger(d).peak[int(to)], live(d, int(to)));
}

uint32_t intern_module(std::string_view path) {
  Modules& m = modules();
  std::lock_guard lock(m.mutex);
  if (auto it = m.ids.find(path); it != m.ids.end()) return it->second;
  auto id = uint32_t(m.paths.size());
  m.paths.emplace_back(path);
  m.ids.emplace(std::string(path), id);
  return id;
}
const char* module_path(uint32_t id) {
  Modules& m = modules();
  std::lock_guard lock(m.mutex);
  return m.paths[id].c_str();
}

const char* category_name(Category c) {
  constexpr const char* kNames[] = {"temporaries", "parameters", "gradients", "optimizer", "activations", "workspace", "data"};
  return kNames[int(c)];
}

MemoryStats memory_stats(Device d) {
  Ledger& l = ledger(d);
  MemoryStats s;
  for (int c = 0; c < kCategories; ++c) s.live[c] = live(d, c), s.peak[c] = l.peak[c];
  s.total = total(d), s.total_peak = l.total_peak;
  s.allocations = sum(d, [](const Account::OfDevice& a) { return int64_t(a.allocations); });
  return s;
}
void reset_peak_memory_stats(Device d) {
  Ledger& l = ledger(d);
  l.total_peak = total(d);
  for (int c = 0; c < kCategories; ++c) l.peak[c] = live(d, c);
}
int64_t memory_allocated(Device d) { return total(d); }
int64_t max_memory_allocated(Device d) { return ledger(d).total_peak; }
void set_memory_limit(int64_t bytes, Device d) {
  DY_CHECK_AS(ValueError, bytes >= 0, "set_memory_limit: the limit is a number of bytes or 0 for none, not {}", bytes);
  ledger(d).limit = bytes;
}
int64_t memory_limit(Device d) { return ledger(d).limit; }
void empty_cache() {
  pool_trim();
  heap_trim();
  if (Backend* b = loaded_backend()) b->trim();
}

std::string memory_summary(Device d) {
  MemoryStats s = memory_stats(d);
  std::string out = fmt::format("{:<12} {:>12} {:>12}\n", d.name(), "live", "peak");
  for (int c = 0; c < kCategories; ++c)
    out += fmt::format("{:<12} {:>12} {:>12}\n", category_name(Category(c)), human_bytes(s.live[c]), human_bytes(s.peak[c]));
  out += fmt::format("{:<12} {:>12} {:>12}\n", "total", human_bytes(s.total), human_bytes(s.total_peak));
  std::vector<std::pair<int64_t, uint32_t>> holders;
  for (uint32_t i = 1; i < kModules; ++i)
    if (int64_t held = sum(d, [i](const Account::OfDevice& a) { return int64_t(a.module[i]); })) holders.emplace_back(held, i);
  std::sort(holders.rbegin(), holders.rend());
  for (size_t i = 0; i < std::min<size_t>(holders.size(), 5); ++i)
    out += fmt::format("  {:<40} {:>12}\n", module_path(holders[i].second), human_bytes(holders[i].first));
  return out;
}

CategoryScope::CategoryScope(Category c) : before_(t_category) { t_category = c; }
CategoryScope::~CategoryScope() { t_category = before_; }

}  // namespace dyadic::inline v1
