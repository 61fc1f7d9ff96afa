#include "distributed/call.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "distributed/agreement.h"

namespace dyadic::inline v1::distributed {
namespace {

using Clock = std::chrono::steady_clock;
double first_timeout() {
  double seconds = 1800;
  if (const char* text = std::getenv("DYADIC_TIMEOUT")) {
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), seconds);
    DY_CHECK_AS(ValueError, error == std::errc() && !*end && seconds > 0, "DYADIC_TIMEOUT: {} are no seconds above zero", text);
  }
  return seconds;
}
std::atomic<double>& timeout() {
  static std::atomic<double> seconds{first_timeout()};
  return seconds;
}
constinit thread_local int64_t t_messages = 0;
constexpr int kRollCallTag = 32001;

// The ranks from which nothing has come.
std::string names(const std::vector<void*>& pending) {
  std::string text;
  for (size_t r = 0; r < pending.size(); ++r)
    if (pending[r]) text += fmt::format("{}{}", text.empty() ? "" : ", ", r);
  return (text.find(',') == text.npos ? "rank " : "ranks ") + text;
}

}  // namespace

std::vector<Range> even_ranges(int64_t n, int ranks) {
  std::vector<Range> out;
  for (int r = 0; r < ranks; ++r) out.push_back({even_begin(n, r, ranks), even_begin(n, r + 1, ranks)});
  return out;
}

Range piece(const Range& r, int64_t at, int64_t each) {
  const int64_t begin = std::min(r.begin + at, r.end);
  return {begin, std::min(begin + each, r.end)};
}

int64_t messages_sent() { return t_messages; }
void count_messages(int64_t n) { t_messages += n; }

void set_timeout(double seconds) {
  DY_CHECK_AS(ValueError, seconds > 0, "set_timeout: {} s; above zero", seconds);
  timeout() = seconds;
}

// Who is missing a collective does not say, and one of which a rank has its part is over for that rank alone: so whoever waits
// tells the others, about when they do. What is said lives on, since it may come later.
std::string Call::absent() const {
  static std::mutex mutex;
  static auto& said = *new std::list<std::vector<char>>;
  std::vector<char>& words = [&]() -> auto& {
    std::lock_guard lock(mutex);
    return said.emplace_back(size_t(size()) + 1, 'h');
  }();
  std::vector<void*> received(size_t(size()), nullptr);
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    received[size_t(r)] = engine().receive(&words[size_t(r)], 1, r, kRollCallTag);
    engine().send(&words.back(), 1, r, kRollCallTag);
  }
  const Clock::time_point begin = Clock::now();
  const double patience = std::min(10.0, timeout().load());
  while (std::chrono::duration<double>(Clock::now() - begin).count() < patience) {
    for (void*& r : received)
      if (r && engine().done(r)) r = nullptr;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return std::ranges::any_of(received, [](void* r) { return r != nullptr; }) ? names(received) : "what all ranks wait for";
}

// Spins for what comes at once, then leaves the processor to whom it waits for.
void Call::wait_until(const std::function<bool()>& over) const {
  const Clock::time_point begin = Clock::now();
  for (int64_t round = 0; !over(); ++round) {
    if (round < 1000) continue;
    const double waited = std::chrono::duration<double>(Clock::now() - begin).count();
    if (waited > timeout()) {
      fail("{}: rank {} has waited {} s{}; another rank has stalled or ended (DYADIC_TIMEOUT, set_timeout)", what_, rank(),
           timeout().load(), told_ ? " for " + absent() : "");
    }
    if (waited > 1e-3)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else
      std::this_thread::yield();
  }
}
void Call::wait(std::vector<void*> requests) const {
  wait_until([&] { return move_on(group_), all_done(engine(), requests); });
}

Call::Call(Group& group, std::string what, Device device) : Call(group, std::move(what), !device.is_meta()) {
  paper_ = device.is_meta();
  if (paper_) count_messages(size() - 1);
}

Call::Call(Group& group, std::string what, bool told) : group_(group), what_(std::move(what)), told_(told) {
  if (!told || size() == 1) return;
  Agreement agreement(engine(), what_);
  wait(agreement.requests());
  agreement.check();
}

}  // namespace dyadic::inline v1::distributed
