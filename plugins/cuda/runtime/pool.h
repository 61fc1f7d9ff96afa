// Memory of one device: segments that the driver gave, cut into blocks. What is freed is kept for the stream that it was
// allocated for, which may have it again at once; another stream gets it when that one is done, or has waited for it.
//
// Large blocks are the smallest free ones that fit, cut to size and joined again with their neighbours; small ones are of a few
// sizes and come from pages of one size each. Where the driver can do that, segments are short and lie side by side: a block
// that is too short is made longer instead of a new one beside it, and free ones from several places are moved to one where
// none would do.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dyadic::gpu {

class Pool {
 public:
  explicit Pool(int device) : device_(device) {}
  Pool(const Pool&) = delete;

  void* allocate(int64_t bytes, void* stream);  // 256-byte aligned; null: the device has no more
  void release(void* p);
  void used_on(void* p, void* stream);  // work enqueued there so far, or before release(), reads or writes it
  void forget(void* stream);            // which is done and about to be deleted
  void trim();                          // whole segments go back to the driver; waits for the streams that use them
  int64_t reserved();                   // bytes taken from the driver
  int64_t driver_allocations();         // how often it was asked for some

 private:
  static constexpr int64_t kAlign = 256, kSmall = 32 << 10, kPage = 64 << 10;
  static constexpr int kClasses = 24;

  // A stream and what is free for it: large blocks by size, small ones by class. The idle one, lanes_[0], stands for no stream:
  // what lies there is free for all.
  struct Lane {
    void* stream = nullptr;
    bool gone = false;
    std::set<std::pair<int64_t, char*>> free;
    std::vector<char*> small[kClasses];
  };
  struct Block {
    int64_t bytes;
    Lane* lane;  // in use: whose it will be
    bool free = false;
    int page = -1;  // the class of the small ones that it is cut into
  };
  using At = std::map<char*, Block>::iterator;
  using Segments = std::vector<std::pair<char*, int64_t>>;
  struct Pending {  // released, but other streams that use it are not done
    char* p;
    std::vector<void*> events;
  };

  static int class_of(int64_t bytes);
  static int64_t class_bytes(int k);
  Lane& idle() { return lanes_.front(); }
  Lane& lane_of(void* stream);
  At block_at(char* p);
  bool joins(At left, At right) const;
  int64_t make_free(At b, Lane& lane);
  char* take_from(Lane& from, int64_t bytes, Lane& owner);
  char* take_large(int64_t bytes, Lane& lane);
  char* take_small(int k, Lane& lane);
  int64_t add_segment(char* p, int64_t bytes, Lane& lane);
  void cut_out(char* segment);
  void add_whole(const Lane& lane, Segments& found) const;
  int64_t piece_of(int64_t all);
  int64_t free_at_end(const Lane& lane);
  char* take_segment(int64_t bytes);
  bool gather(int64_t bytes, Lane& lane, bool grows);
  bool grow(int64_t bytes, Lane& lane);
  bool take_over_done(const Lane& lane);
  void wait_for_others(Lane& lane);
  void move_all(Lane& from, Lane& to);
  void free_pages(Lane& lane);
  void settle_pending(Lane* waiting);
  void give_back(char* p, Lane& orphans);
  void trim_segments();

  const int device_;
  std::mutex mutex_;
  std::map<char*, Block> blocks_;      // all, by address
  std::map<char*, int64_t> segments_;  // as the driver gave them
  std::deque<Lane> lanes_{1};
  std::unordered_map<void*, Lane*> by_stream_;
  std::unordered_map<char*, std::vector<Lane*>> users_;  // of blocks that used_on() named
  std::vector<Pending> pending_;
  int64_t reserved_ = 0, asked_ = 0;
};

}  // namespace dyadic::gpu
