#include "plugins/cuda/runtime/pool.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "plugins/cuda/runtime/driver.h"

namespace dyadic::gpu {
namespace {

int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

// Multiples of 256 up to 2048, then four sizes for each doubling.
int Pool::class_of(int64_t bytes) {
  if (bytes <= 2048) return int((std::max<int64_t>(bytes, 1) - 1) / kAlign);
  const int above = 63 - std::countl_zero(uint64_t(bytes - 1));  // 2^above < bytes
  return 8 + (above - 11) * 4 + int((bytes - 1) >> (above - 2) & 3);
}
int64_t Pool::class_bytes(int k) {
  if (k < 8) return (k + 1) * kAlign;
  const int above = 11 + (k - 8) / 4;
  return (int64_t{1} << above) + (int64_t((k - 8) % 4) + 1) * (int64_t{1} << (above - 2));
}

Pool::Lane& Pool::lane_of(void* stream) {
  Lane*& lane = by_stream_[stream];
  if (!lane) {
    lane = &lanes_.emplace_back();
    lane->stream = stream;
  }
  return *lane;
}

Pool::At Pool::block_at(char* p) { return std::prev(blocks_.upper_bound(p)); }

bool Pool::joins(At left, At right) const {
  if (left->first + left->second.bytes != right->first) return false;
  return driver::taken_side_by_side(device_) || !segments_.contains(right->first);
}

// A block is free for the lane's stream from now on, joined with neighbours that are so too; the size of the whole.
int64_t Pool::make_free(At b, Lane& lane) {
  const auto fits = [&](At n) { return n->second.free && (n->second.lane == &lane || n->second.lane == &idle()); };
  if (const At next = std::next(b); next != blocks_.end() && joins(b, next) && fits(next)) {
    next->second.lane->free.erase({next->second.bytes, next->first});
    b->second.bytes += next->second.bytes;
    blocks_.erase(next);
  }
  if (b != blocks_.begin() && joins(std::prev(b), b) && fits(std::prev(b))) {
    const At before = std::prev(b);
    before->second.lane->free.erase({before->second.bytes, before->first});
    before->second.bytes += b->second.bytes;
    blocks_.erase(b);
    b = before;
  }
  b->second = {b->second.bytes, &lane, true};
  lane.free.insert({b->second.bytes, b->first});
  return b->second.bytes;
}

char* Pool::take_from(Lane& from, int64_t bytes, Lane& owner) {
  const auto fit = from.free.lower_bound({bytes, nullptr});
  if (fit == from.free.end()) return nullptr;
  const auto [all, p] = *fit;
  from.free.erase(fit);
  if (all > bytes) {
    blocks_[p + bytes] = {all - bytes, &from, true};
    from.free.insert({all - bytes, p + bytes});
  }
  blocks_[p] = {bytes, &owner};
  return p;
}

// What is free for one stream is so for another: the caller knows why.
void Pool::move_all(Lane& from, Lane& to) {
  free_pages(from);
  if (&from == &to) return;
  for (const auto& [bytes, p] : std::exchange(from.free, {})) {
    const At b = blocks_.find(p);
    b->second.free = false;  // make_free() of an earlier one would join it
    b->second.lane = &to;
    make_free(b, to);
  }
}

// Pages of which nothing is in use become large blocks again.
void Pool::free_pages(Lane& lane) {
  for (int k = 0; k < kClasses; ++k) {
    std::vector<char*> slots = std::exchange(lane.small[k], {});
    std::sort(slots.begin(), slots.end());
    for (size_t i = 0; i < slots.size();) {
      const At page = block_at(slots[i]);
      size_t end = i;
      while (end < slots.size() && slots[end] < page->first + page->second.bytes) ++end;
      if (int64_t(end - i) == page->second.bytes / class_bytes(k))
        make_free(page, lane.gone ? idle() : lane);
      else
        lane.small[k].insert(lane.small[k].end(), slots.begin() + ptrdiff_t(i), slots.begin() + ptrdiff_t(end));
      i = end;
    }
  }
}

// Makes a new segment free for the lane; the size of the block that it is part of then.
int64_t Pool::add_segment(char* p, int64_t bytes, Lane& lane) {
  segments_[p] = bytes;
  return make_free(blocks_.insert_or_assign(p, Block{bytes, &lane}).first, lane);
}

// Takes a segment out of the free block that it lies in.
void Pool::cut_out(char* segment) {
  const auto s = segments_.find(segment);
  const At b = block_at(segment);
  Lane& lane = *b->second.lane;
  char *const end = segment + s->second, *const first = b->first, *const last = first + b->second.bytes;
  lane.free.erase({b->second.bytes, first});
  blocks_.erase(b);
  for (const auto& [from, to] : {std::pair(first, segment), std::pair(end, last)})
    if (from < to) {
      blocks_[from] = {to - from, &lane, true};
      lane.free.insert({to - from, from});
    }
  segments_.erase(s);
}

// Segments that lie in a free block as a whole.
void Pool::add_whole(const Lane& lane, Segments& found) const {
  for (const auto& [n, p] : lane.free)
    for (auto s = segments_.lower_bound(p); s != segments_.end() && s->first + s->second <= p + n; ++s) found.push_back(*s);
}

// The size of pieces of which a request is made up: of a small one they can be moved, a large one has few, since each costs the
// driver a tenth of a millisecond. 0: there is not so much.
int64_t Pool::piece_of(int64_t all) {
  int64_t there = 0, total = 0;
  driver::free_and_total(device_, &there, &total);
  if (all > there) return 0;
  return driver::taken_side_by_side(device_) ? std::min(all, rounded(std::max(reserved_ / 4096, all / 64) + 1, driver::kGrain))
                                             : all;
}
char* Pool::take_segment(int64_t bytes) {
  auto* const p = static_cast<char*>(driver::take(device_, bytes));
  if (p) reserved_ += bytes, ++asked_;
  return p;
}

// What new segments make longer.
int64_t Pool::free_at_end(const Lane& lane) {
  if (blocks_.empty()) return 0;
  const Block& last = std::prev(blocks_.end())->second;
  return last.free && (last.lane == &lane || last.lane == &idle()) ? last.bytes : 0;
}

// There may be enough that is free, but in several places: then segments move to one, those of the smallest blocks first. The
// stream has to be done with them, which takes a wait now instead of more memory for good. grows: what is missing is taken.
bool Pool::gather(int64_t bytes, Lane& lane, bool grows) {
  if (!driver::taken_side_by_side(device_)) return false;
  Segments chosen;
  add_whole(idle(), chosen);
  add_whole(lane, chosen);
  int64_t found = 0;
  size_t n = 0;
  while (n < chosen.size() && found < bytes) found += chosen[n++].second;
  chosen.resize(n);
  if (found < bytes && (!grows || found <= free_at_end(lane))) return false;
  int64_t missing = rounded(std::max<int64_t>(bytes - found, 0), driver::kGrain), piece = 0;
  if (missing) {  // and some more, or the next arrangement would lack a little again
    const int64_t more = missing + rounded(reserved_ / 64, driver::kGrain);
    piece = piece_of(more);
    piece ? missing = more : piece = piece_of(missing);
    if (!piece) return false;
  }
  for (int64_t left = missing; left > 0; left -= piece) {
    const int64_t size = std::min(piece, left);
    char* const p = take_segment(size);
    if (!p) return false;
    add_segment(p, size, lane);
    chosen.emplace_back(p, size), found += size;
  }
  char* to = driver::find_place(device_, found);
  if (!to) return false;
  driver::finish_stream(device_, lane.stream);
  for (const auto& [p, size] : chosen) {
    cut_out(p);
    driver::move(device_, p, size, to);
    add_segment(to, size, lane);
    to += size;
  }
  return true;
}

bool Pool::grow(int64_t bytes, Lane& lane) {
  const bool side_by_side = driver::taken_side_by_side(device_);
  const int64_t missing = side_by_side ? bytes - std::min(free_at_end(lane), bytes - 1) : std::max(bytes, reserved_ / 64);
  for (int64_t wanted : {missing, bytes}) {
    const int64_t all = rounded(wanted, driver::kGrain), piece = piece_of(all);
    for (int64_t left = piece ? all : 0; left > 0; left -= piece) {
      char* const p = take_segment(std::min(piece, left));
      if (!p) break;
      if (add_segment(p, std::min(piece, left), lane) >= bytes) return true;
    }
  }
  return false;
}

bool Pool::take_over_done(const Lane& lane) {
  bool any = false;
  for (Lane& other : lanes_) {
    if (&other == &lane || &other == &idle() || other.free.empty()) continue;
    if (!other.gone && !driver::stream_done(device_, other.stream)) continue;
    move_all(other, idle());
    any = true;
  }
  return any;
}

void Pool::wait_for_others(Lane& lane) {
  settle_pending(&lane);
  for (Lane& other : lanes_) {
    if (&other == &lane || &other == &idle()) continue;
    if (!other.gone) {
      void* const e = driver::new_event(device_, false);
      driver::record_event(device_, e, other.stream);
      driver::wait_event(device_, lane.stream, e);
      driver::delete_event(e);
    }
    move_all(other, lane);
  }
  free_pages(lane);
}

char* Pool::take_large(int64_t bytes, Lane& lane) {
  const auto there_is = [&] {
    char* const p = take_from(lane, bytes, lane);
    return p ? p : take_from(idle(), bytes, lane);
  };
  if (char* p = there_is()) return p;
  if (!pending_.empty()) {
    settle_pending(nullptr);
    if (char* p = there_is()) return p;
  }
  if (take_over_done(lane))
    if (char* p = there_is()) return p;
  if (gather(bytes, lane, true) || grow(bytes, lane)) return there_is();
  wait_for_others(lane);
  if (char* p = there_is()) return p;
  if (gather(bytes, lane, false)) return there_is();
  trim_segments();
  if (grow(bytes, lane)) return there_is();
  trim_segments();  // what was taken in vain
  return nullptr;
}

char* Pool::take_small(int k, Lane& lane) {
  std::vector<char*>& slots = lane.small[k];
  if (slots.empty()) {
    const int64_t each = class_bytes(k), n = std::max<int64_t>(kPage / each, 8);
    char* const page = take_large(n * each, lane);
    if (!page) return nullptr;
    blocks_[page].page = k;
    for (int64_t i = n; i-- > 0;) slots.push_back(page + i * each);
  }
  char* const p = slots.back();
  slots.pop_back();
  return p;
}

void* Pool::allocate(int64_t bytes, void* stream) {
  const std::lock_guard lock(mutex_);
  Lane& lane = lane_of(stream);
  return bytes <= kSmall ? take_small(class_of(bytes), lane) : take_large(rounded(bytes, kAlign), lane);
}

// orphans: who gets what belonged to a stream that is gone.
void Pool::give_back(char* p, Lane& orphans) {
  const At b = block_at(p);
  Lane& lane = *b->second.lane;
  if (b->second.page >= 0)
    lane.small[b->second.page].push_back(p);
  else
    make_free(b, lane.gone ? orphans : lane);
}

void Pool::settle_pending(Lane* waiting) {
  std::erase_if(pending_, [&](Pending& one) {
    std::erase_if(one.events, [&](void* e) {
      const bool done = driver::event_done(e);
      if (!done && !waiting) return false;
      if (!done) driver::wait_event(device_, waiting->stream, e);
      driver::delete_event(e);
      return true;
    });
    if (one.events.empty()) give_back(one.p, waiting ? *waiting : idle());
    return one.events.empty();
  });
}

void Pool::used_on(void* p, void* stream) {
  const std::lock_guard lock(mutex_);
  Lane& lane = lane_of(stream);
  if (block_at(static_cast<char*>(p))->second.lane == &lane) return;
  std::vector<Lane*>& users = users_[static_cast<char*>(p)];
  if (std::find(users.begin(), users.end(), &lane) == users.end()) users.push_back(&lane);
}

void Pool::release(void* p) {
  const std::lock_guard lock(mutex_);
  if (!users_.empty())
    if (auto used = users_.extract(static_cast<char*>(p))) {
      Pending one{static_cast<char*>(p), {}};
      for (const Lane* user : used.mapped()) {
        if (user->gone) continue;
        one.events.push_back(driver::new_event(device_, false));
        driver::record_event(device_, one.events.back(), user->stream);
      }
      if (!one.events.empty()) return void(pending_.push_back(std::move(one)));
    }
  give_back(static_cast<char*>(p), idle());
}

void Pool::forget(void* stream) {
  const std::lock_guard lock(mutex_);
  Lane& lane = lane_of(stream);
  lane.gone = true;
  move_all(lane, idle());
  by_stream_.erase(stream);
}

void Pool::trim_segments() {
  for (const Lane& lane : lanes_)
    if (lane.stream && !lane.gone) driver::wait_stream(device_, lane.stream);
  settle_pending(nullptr);
  for (Lane& lane : lanes_) move_all(lane, idle());
  Segments whole;
  add_whole(idle(), whole);
  for (const auto& [p, bytes] : whole) {
    cut_out(p);
    driver::give(device_, p, bytes);
    reserved_ -= bytes;
  }
}

void Pool::trim() {
  const std::lock_guard lock(mutex_);
  trim_segments();
}
int64_t Pool::reserved() {
  const std::lock_guard lock(mutex_);
  return reserved_;
}
int64_t Pool::driver_allocations() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

}  // namespace dyadic::gpu
