#include "plugins/cuda/sim/block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>
#include <vector>

#include "plugins/cuda/sim/fiber.h"
#include "plugins/cuda/sim/random.h"
#include "plugins/cuda/sim/symbols.h"

uint3 threadIdx{}, blockIdx{};
dim3 blockDim, gridDim;

namespace dyadic::gpu::sim {
namespace {

constexpr int kMaxThreads = 1024, kLanes = 32, kMaxShared = 227 << 10;

struct Thread {
  enum State : uint8_t { fresh, ready, at_barrier, at_meeting, ended };
  State state = fresh;
  Meeting meeting{};
  unsigned mask = 0;
  int from = 0;
  uint64_t value = 0, result = 0;
  int turn = 0;  // which of its warp's two rooms the next exchange() writes
  Fiber* fiber = nullptr;
  uint3 index{};
};

// The block that runs. One at a time: whoever runs launches holds the device's lock.
struct Block {
  Thread threads[kMaxThreads];
  Fiber fibers[kMaxThreads];
  int begun = 0;                                 // fibers that run_threads() is in
  std::vector<Fiber*> idle;                      // of those, whose thread has ended; the last is warm
  unsigned live_lanes[kMaxThreads / kLanes];     // of each warp
  unsigned meeting_lanes[kMaxThreads / kLanes];  // at a collective
  alignas(128) unsigned char shared[kMaxShared];
  alignas(128) unsigned char rooms[kMaxThreads / kLanes][2][kLanes * kMaxExchanged];
  const std::function<void()>* body = nullptr;
  int n = 0, live = 0, waiting = 0;  // threads; at the barrier
  int flags_any = 0, flags_count = 0;
  Barrier barrier{};
  int barrier_result = 0;
  int current = 0;                  // the thread that runs
  int order[kLanes], position = 0;  // of the lanes of the warp that runs
  int warp = 0;
  Random random{1};
  const char* error = nullptr;  // of the thread that runs: it never goes on
};
Block& block() {
  static Block* const one = new Block;  // lives as long as the process: fibers may stand in it
  return *one;
}

void take(Block& b, int i) {
  b.current = i;
  threadIdx = b.threads[i].index;
}

// The next thread of this warp that has not begun; -1: there is none.
int next_fresh(Block& b) {
  while (b.position < kLanes) {
    const int i = b.warp * kLanes + b.order[b.position++];
    if (i < b.n && b.threads[i].state == Thread::fresh) return i;
  }
  return -1;
}

bool open_barrier(Block& b) {  // when all that live have come
  if (b.waiting == 0 || b.waiting < b.live) return false;
  b.barrier_result = b.barrier == Barrier::any   ? b.flags_any
                     : b.barrier == Barrier::all ? b.flags_count == b.waiting
                                                 : b.flags_count;
  for (int i = 0; i < b.n; ++i) {
    Thread& t = b.threads[i];
    if (t.state == Thread::at_barrier) t.state = Thread::ready, t.result = uint64_t(int64_t(b.barrier_result));
  }
  b.waiting = b.flags_any = b.flags_count = 0;
  return true;
}

// Whether all lanes of `mask` that live have come to the same collective: then each gets its result.
bool close_meeting(Block& b, int warp, unsigned mask, Meeting kind) {
  const unsigned lanes = b.live_lanes[warp] & mask;
  if (lanes & ~b.meeting_lanes[warp]) return false;
  Thread* const t = b.threads + warp * kLanes;
  for (unsigned rest = lanes; rest; rest &= rest - 1) {
    const Thread& other = t[std::countr_zero(rest)];
    if (other.mask != mask || other.meeting != kind) return false;
  }
  uint64_t bits = 0;
  if (kind == Meeting::ballot)
    for (unsigned rest = lanes; rest; rest &= rest - 1)
      bits |= uint64_t(t[std::countr_zero(rest)].value != 0) << std::countr_zero(rest);
  for (unsigned rest = lanes; rest; rest &= rest - 1) {
    Thread& one = t[std::countr_zero(rest)];
    one.state = Thread::ready;
    // What a lane that is not there would give is anything.
    one.result = kind != Meeting::shuffle ? bits : lanes >> (one.from & 31) & 1 ? t[one.from & 31].value : b.random.next();
  }
  b.meeting_lanes[warp] &= ~lanes;
  return true;
}

void end_thread(Block& b) {
  Thread& t = b.threads[b.current];
  t.state = Thread::ended;
  --b.live;
  open_barrier(b);
  const int warp = b.current / kLanes;
  b.live_lanes[warp] &= ~(1u << b.current % kLanes);
  for (unsigned rest = b.meeting_lanes[warp]; rest; rest &= rest - 1) {
    const Thread& other = b.threads[warp * kLanes + std::countr_zero(rest)];
    if (b.meeting_lanes[warp] >> std::countr_zero(rest) & 1) close_meeting(b, warp, other.mask, other.meeting);
  }
}

// What every fiber does: one thread after the other, as long as the warp has some that have not begun.
void run_threads() {
  Block& b = block();
  for (;;) {
    Fiber* const me = b.threads[b.current].fiber;
    for (;;) {
      (*b.body)();
      end_thread(b);
      const int next = next_fresh(b);
      if (next < 0) break;
      b.threads[next].fiber = me;
      take(b, next);
    }
    b.idle.push_back(me);
    Fiber::suspend();
  }
}

Fiber* take_fiber(Block& b) {
  if (b.idle.empty()) {
    b.fibers[b.begun].reset(run_threads);
    return &b.fibers[b.begun++];
  }
  Fiber* const f = b.idle.back();
  b.idle.pop_back();
  return f;
}

[[noreturn]] void give_up(const char* why) {
  block().error = why;
  for (;;) Fiber::suspend();
}

// What shared memory holds before somebody writes there: NaNs of both widths, other ones each time. AddressSanitizer's symbols
// are longer than their variables.
__attribute__((no_sanitize("address"))) void soil(Block& b, std::span<std::byte> memory) {
  const uint64_t garbage = 0xfff5a5a57fb5a5a5u ^ (b.random.next() & 0x000f00000000ffffu);
  auto* const at = reinterpret_cast<volatile unsigned char*>(memory.data());
  for (size_t i = 0; i < memory.size(); ++i) at[i] = static_cast<unsigned char>(garbage >> i % 8 * 8);
}

void draw_order(Random& random, int* order, int n) {
  for (int i = 0; i < n; ++i) order[i] = i;
  const int how = random.below(3);
  if (how == 1) std::reverse(order, order + n);
  if (how == 2)
    for (int i = n - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
}

// Runs what can run of one warp; false: nothing.
bool run_warp(Block& b, int warp) {
  b.warp = warp;
  bool any = false;
  for (bool again = true; again && !b.error;) {
    again = false;
    draw_order(b.random, b.order, kLanes);
    // Those that have begun, then the others: next_fresh() takes these.
    for (int k = 0; k < kLanes && !b.error; ++k) {
      const int i = warp * kLanes + b.order[k];
      if (i >= b.n || b.threads[i].state != Thread::ready) continue;
      take(b, i);
      b.position = kLanes;
      b.threads[i].fiber->resume();
      again = true;
    }
    b.position = 0;
    for (int i; !b.error && (i = next_fresh(b)) >= 0;) {
      b.threads[i].fiber = take_fiber(b);
      take(b, i);
      b.threads[i].fiber->resume();
      again = true;
    }
    any |= again;
  }
  return any;
}

std::string stuck(const Block& b) {
  int at_barrier = 0, at_meeting = 0;
  for (int i = 0; i < b.n; ++i)
    at_barrier += b.threads[i].state == Thread::at_barrier, at_meeting += b.threads[i].state == Thread::at_meeting;
  const std::string where =
      " of block " + std::to_string(blockIdx.x) + "," + std::to_string(blockIdx.y) + "," + std::to_string(blockIdx.z);
  if (at_meeting)
    return std::to_string(at_meeting) + " threads" + where +
           " wait in a shuffle, vote or __syncwarp for lanes that never come" +
           (at_barrier ? ", " + std::to_string(at_barrier) + " at __syncthreads" : "");
  return std::to_string(at_barrier) + " threads" + where + " wait at __syncthreads for others that never come";
}

std::string run_block(Block& b) {
  for (int i = 0; i < b.n; ++i) b.threads[i].state = Thread::fresh, b.threads[i].turn = 0;
  for (int w = 0; w * kLanes < b.n; ++w) {
    b.live_lanes[w] = ~0u >> (kLanes - std::min(kLanes, b.n - w * kLanes));
    b.meeting_lanes[w] = 0;
  }
  b.live = b.n, b.waiting = b.flags_any = b.flags_count = 0;
  const int warps = (b.n + kLanes - 1) / kLanes;
  int order[kMaxThreads / kLanes];
  while (b.live) {
    draw_order(b.random, order, warps);
    bool any = false;
    for (int w = 0; w < warps && !b.error; ++w) any |= run_warp(b, order[w]);
    if (b.error) return b.error;
    if (!any) return stuck(b);
  }
  return "";
}

}  // namespace

void* dynamic_shared() { return block().shared; }
int lane() { return block().current % kLanes; }
void trap() { give_up("__trap()"); }

unsigned active_mask() {  // that happen to stand here: as far as anybody may know, only the one that asks
  return 1u << lane();
}

int barrier(Barrier kind, int flag) {
  Block& b = block();
  Thread& t = b.threads[b.current];
  if (b.waiting && b.barrier != kind) give_up("threads of one block wait at different kinds of __syncthreads");
  b.barrier = kind;
  t.state = Thread::at_barrier;
  ++b.waiting;
  b.flags_any |= flag != 0, b.flags_count += flag != 0;
  if (!open_barrier(b))
    Fiber::suspend();
  else
    t.state = Thread::ready;
  return int(t.result);
}

uint64_t meet(Meeting kind, unsigned mask, uint64_t value, int from) {
  Block& b = block();
  Thread& t = b.threads[b.current];
  if (!(mask >> lane() & 1)) give_up("a lane calls a collective whose mask lacks it");
  t.state = Thread::at_meeting;
  b.meeting_lanes[b.current / kLanes] |= 1u << lane();
  t.meeting = kind, t.mask = mask, t.value = value, t.from = from;
  if (!close_meeting(b, b.current / kLanes, mask, kind)) Fiber::suspend();
  return t.result;
}

const void* exchange(const void* mine, size_t bytes) {
  Block& b = block();
  unsigned char* const room = b.rooms[b.current / kLanes][b.threads[b.current].turn ^= 1];
  std::memcpy(room + size_t(lane()) * bytes, mine, bytes);
  meet(Meeting::sync, ~0u, 0, 0);
  return room;
}

std::string run_launch(const Launch& launch, const std::function<void()>& thread, uint64_t seed) {
  if (launch.threads < 1 || launch.threads > kMaxThreads)
    return std::to_string(launch.threads) + " threads in a block; 1 to 1024 is what a device has";
  if (launch.shared > kMaxShared)
    return std::to_string(launch.shared) + " bytes of shared memory; a block has at most " + std::to_string(kMaxShared);
  Block& b = block();
  b.random = {seed};
  b.body = &thread;
  b.n = launch.threads;
  b.error = nullptr;
  const auto& shared = symbols_of(launch.kernel).shared;
  for (int i = 0; i < b.n; ++i) b.threads[i].index = {unsigned(i), 0, 0};
  blockDim = dim3(unsigned(b.n));
  gridDim = dim3(unsigned(launch.blocks), unsigned(launch.y), unsigned(launch.z));

  const int64_t blocks = launch.blocks * launch.y * launch.z;
  const int how = b.random.below(3);
  int64_t stride = 1;  // of the shuffled order: a step that meets every block
  if (how == 2) {
    const auto common = [](int64_t a, int64_t c) {
      while (c) {
        const int64_t r = a % c;
        a = c, c = r;
      }
      return a;
    };
    stride = int64_t(b.random.next() % uint64_t(blocks)) | 1;
    while (common(stride, blocks) != 1) ++stride;
  }
  std::string error;
  int64_t at = how == 1 ? blocks - 1 : 0;
  for (int64_t k = 0; k < blocks && error.empty(); ++k) {
    blockIdx = {unsigned(at % launch.blocks), unsigned(at / launch.blocks % launch.y), unsigned(at / launch.blocks / launch.y)};
    soil(b, {reinterpret_cast<std::byte*>(b.shared), size_t(launch.shared)});
    for (const auto& variable : shared) soil(b, variable);
    error = run_block(b);
    at = how == 1 ? at - 1 : (at + stride) % blocks;
  }
  if (!error.empty()) b.idle.clear(), b.begun = 0;  // nobody comes back to what stands on the stacks
  return error;
}

}  // namespace dyadic::gpu::sim
