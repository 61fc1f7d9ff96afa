#include "distributed/call.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "base/check.h"

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
constexpr int kDescriptionTag = 32000, kRollCallTag = 32001;
using Description = std::array<char, 128>;

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
void Call::wait(std::vector<void*> requests) const {
  const Clock::time_point begin = Clock::now();
  size_t pending = size_t(std::count_if(requests.begin(), requests.end(), [](void* r) { return r != nullptr; }));
  for (int64_t round = 0; pending; ++round) {
    for (void*& r : requests)
      if (r && engine().done(r)) r = nullptr, --pending;
    if (!pending || round < 1000) continue;
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

Call::Call(Group& group, std::string what, Device device) : Call(group, std::move(what), !device.is_meta()) {
  paper_ = device.is_meta();
  if (paper_) t_messages += size() - 1;
}

Call::Call(Group& group, std::string what, bool told) : group_(group), what_(std::move(what)), told_(told) {
  if (!told) return;
  const int n = size(), me = rank();
  t_messages += n - 1;
  Description mine{};
  std::copy_n(what_.data(), std::min(what_.size(), mine.size() - 1), mine.data());
  std::vector<Description> all(size_t(n), mine);
  std::vector<void*> sent, received;
  for (int r = 0; r < n; ++r) {
    received.push_back(r == me ? nullptr : engine().receive(&all[size_t(r)], sizeof mine, r, kDescriptionTag));
    sent.push_back(r == me ? nullptr : engine().send(&mine, sizeof mine, r, kDescriptionTag));
  }
  wait(received);
  wait(sent);
  for (int r = 1; r < n; ++r)
    if (all[size_t(r)] != all[0])
      fail(
          "distributed: rank 0 calls {}, rank {} {}: calls come in the same order on every rank, with shapes and dtypes that "
          "fit",
          all[0].data(), r, all[size_t(r)].data());
}

namespace {

int64_t extent(const std::vector<Range>& ranges) {
  int64_t end = 0;
  for (const Range& r : ranges) end = std::max(end, r.end);
  return end;
}
std::vector<Part> parts_of(const std::vector<Range>& ranges, int64_t itemsize) {
  std::vector<Part> out;
  for (const Range& r : ranges) out.push_back({r.begin * itemsize, (r.end - r.begin) * itemsize});
  return out;
}

// Where buffers are too large for an engine's places, pieces lie side by side while they travel.
class Staged {
  std::vector<Range> pieces_;
  std::vector<Part> parts_;
  std::unique_ptr<char[]> bytes_;
  int64_t itemsize_;

 public:
  Staged(const std::vector<Range>& ranges, int64_t at, int64_t each, int64_t itemsize) : itemsize_(itemsize) {
    int64_t end = 0;
    for (const Range& r : ranges) {
      pieces_.push_back(piece(r, at, each));
      const int64_t bytes = (pieces_.back().end - pieces_.back().begin) * itemsize;
      parts_.push_back({end, bytes});
      end += bytes;
    }
    bytes_ = std::make_unique_for_overwrite<char[]>(size_t(end));
  }
  const Part* parts() const { return parts_.data(); }
  char* data() const { return bytes_.get(); }
  void take(const char* from) const {
    for (size_t r = 0; r < parts_.size(); ++r)
      std::memcpy(data() + parts_[r].at, from + pieces_[r].begin * itemsize_, size_t(parts_[r].bytes));
  }
  void give(char* to) const {
    for (size_t r = 0; r < parts_.size(); ++r)
      std::memcpy(to + pieces_[r].begin * itemsize_, data() + parts_[r].at, size_t(parts_[r].bytes));
  }
};

}  // namespace

void exchange(const Call& call, const char* from, const std::vector<Range>& sent, char* to, const std::vector<Range>& received,
              int64_t longest, int64_t itemsize, int64_t most_bytes) {
  const int n = call.size();
  for (int r = 0; r < n; ++r)
    if (const int64_t bytes = (sent[size_t(r)].end - sent[size_t(r)].begin) * itemsize; bytes && r != call.rank())
      call.sent(bytes), ++t_messages;
  if (call.on_paper()) return;
  if (n == 1) {
    std::copy_n(from + sent[0].begin * itemsize, (sent[0].end - sent[0].begin) * itemsize, to + received[0].begin * itemsize);
    return;
  }
  const int64_t each = std::max<int64_t>(most_bytes / n / itemsize, 1);
  if (longest <= each && std::max(extent(sent), extent(received)) * itemsize <= most_bytes) {
    return call.wait(call.engine().all_to_all(from, parts_of(sent, itemsize).data(), to, parts_of(received, itemsize).data()));
  }
  for (int64_t at = 0; at < longest; at += each) {
    const Staged leaving(sent, at, each, itemsize), coming(received, at, each, itemsize);
    leaving.take(from);
    call.wait(call.engine().all_to_all(leaving.data(), leaving.parts(), coming.data(), coming.parts()));
    coming.give(to);
  }
}

// What a rank sends is copied: engines may not read where they write.
void gather(const Call& call, char* data, const std::vector<Range>& ranges, int64_t longest, int64_t itemsize) {
  const int n = call.size();
  if (n == 1) return;
  const Range own = ranges[size_t(call.rank())];
  call.sent((own.end - own.begin) * itemsize * (n - 1));
  t_messages += n - 1;
  if (call.on_paper()) return;
  const int64_t each = std::max<int64_t>(kMostBytes / n / itemsize, 1);
  const auto copy_of = [&](const Range& r) {
    return std::string(data + r.begin * itemsize, size_t((r.end - r.begin) * itemsize));
  };
  if (longest <= each && extent(ranges) * itemsize <= kMostBytes) {
    const std::string sent = copy_of(own);
    return call.wait(call.engine().all_gather(sent.data(), int64_t(sent.size()), data, parts_of(ranges, itemsize).data()));
  }
  for (int64_t at = 0; at < longest; at += each) {
    const std::string sent = copy_of(piece(own, at, each));
    const Staged coming(ranges, at, each, itemsize);
    call.wait(call.engine().all_gather(sent.data(), int64_t(sent.size()), coming.data(), coming.parts()));
    coming.give(data);
  }
}

}  // namespace dyadic::inline v1::distributed
