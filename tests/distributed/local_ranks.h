// Ranks that are threads of this process, for tests: an engine over shared memory.
#pragma once
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "distributed/engine.h"
#include "dyadic/data_parallel.h"

namespace dyadic::inline v1::distributed {

// Messages between the ranks, by sender, receiver and tag: the nth is for who asked as the nth.
class Mail {
  struct Box {
    int64_t sent = 0;
    std::map<int64_t, std::string> messages;
  };
  std::mutex mutex_;
  std::map<std::tuple<int, int, int>, Box> boxes_;

 public:
  void put(int from, int to, int tag, const void* data, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    Box& box = boxes_[{from, to, tag}];
    box.messages.emplace(box.sent++, std::string(static_cast<const char*>(data), size_t(bytes)));
  }
  bool take(int from, int to, int tag, int64_t n, void* data) {
    const std::lock_guard lock(mutex_);
    auto message = boxes_[{from, to, tag}].messages.extract(n);
    if (!message) return false;
    if (!message.mapped().empty()) std::memcpy(data, message.mapped().data(), message.mapped().size());
    return true;
  }
};

class LocalEngine : public Engine {
  static constexpr int kCollective = 1 << 20;
  struct Wanted {
    int from, tag;
    void* to;
    int64_t n = 0;  // of that sender and tag
  };
  struct Request {
    std::deque<Wanted> wanted;
  };
  Mail& mail_;
  int rank_, size_, tags_;  // tags are told apart from those of other engines of the ranks
  std::unique_ptr<LocalEngine> beside_;
  std::map<const void*, std::unique_ptr<Request>> requests_;  // Those a stalled call leaves, too.

  std::map<std::pair<int, int>, int64_t> asked_;

  void* ask(std::deque<Wanted> wanted) {
    for (Wanted& w : wanted) w.n = asked_[{w.from, w.tag}]++;
    auto r = std::make_unique<Request>(std::move(wanted));
    void* const id = r.get();
    requests_.emplace(id, std::move(r));
    return id;
  }

 public:
  LocalEngine(Mail& mail, int rank, int size, int tags = 0) : mail_(mail), rank_(rank), size_(size), tags_(tags) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void* broadcast(void* data, int64_t bytes, int root) override {
    for (int to = 0; rank_ == root && to < size_; ++to)
      if (to != root) mail_.put(root, to, tags_ + kCollective, data, bytes);
    return rank_ == root ? ask({}) : ask({{root, tags_ + kCollective, data}});
  }
  void* all_gather(const void* mine, int64_t bytes, void* all, const Part* parts) override {
    const std::vector<Part> sent(size_t(size_) + 0, Part{0, bytes});
    return all_to_all(mine, sent.data(), all, parts);
  }
  void* all_to_all(const void* from, const Part* sent, void* to, const Part* received) override {
    std::deque<Wanted> wanted;
    for (int k = 0; k < size_; ++k) {
      mail_.put(rank_, k, tags_ + kCollective, static_cast<const char*>(from) + sent[k].at, sent[k].bytes);
      wanted.push_back({k, tags_ + kCollective, static_cast<char*>(to) + received[k].at});
    }
    return ask(std::move(wanted));
  }
  void* send(const void* data, int64_t bytes, int to, int tag) override {
    mail_.put(rank_, to, tags_ + tag, data, bytes);
    return ask({});
  }
  void* receive(void* data, int64_t, int from, int tag) override { return ask({{from, tags_ + tag, data}}); }
  bool done(void* request) override {
    auto* r = static_cast<Request*>(request);
    while (!r->wanted.empty()) {
      const Wanted& w = r->wanted.front();
      if (!mail_.take(w.from, rank_, w.tag, w.n, w.to)) break;
      r->wanted.pop_front();
    }
    if (!r->wanted.empty()) return false;
    requests_.erase(request);
    return true;
  }
  Engine& beside() override {
    if (!beside_) beside_ = std::make_unique<LocalEngine>(mail_, rank_, size_, tags_ + 2 * kCollective);
    return *beside_;
  }
  void finish() override {}
  void abort(int) override {}
};

// Runs f(group) on so many ranks at once; what the ranks' calls threw, "" where nothing.
template <class F> std::vector<std::string> on_ranks(int size, const F& f) {
  Mail mail;
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      LocalEngine engine(mail, r, size);
      Group group(size > 1 ? &engine : nullptr);
      try {
        f(group);
      } catch (const std::exception& e) { errors[size_t(r)] = e.what(); }
    });
  for (std::thread& t : threads) t.join();
  return errors;
}

}  // namespace dyadic::inline v1::distributed
