#include "distributed/paper.h"

#include <utility>

#include "base/check.h"
#include "distributed/world.h"

namespace dyadic::inline v1::distributed {
namespace {

class PaperEngine : public Engine {
  int rank_, size_;
  [[noreturn]] static void* refuse() { fail("distributed: a rank on paper has nothing to send; keep what it runs on meta"); }

 public:
  PaperEngine(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void* broadcast(void*, int64_t, int) override { return refuse(); }
  void* all_gather(const void*, int64_t, void*, const Part*) override { return refuse(); }
  void* all_to_all(const void*, const Part*, void*, const Part*) override { return refuse(); }
  void* send(const void*, int64_t, int, int) override { return refuse(); }
  void* receive(void*, int64_t, int, int) override { return refuse(); }
  bool done(void*) override { return true; }
  Engine& beside() override { return *this; }
  void finish() override {}
  void abort(int) override {}
};

}  // namespace

PaperWorld::PaperWorld(int rank, int ranks)
    : engine_(ranks > 1 ? std::make_unique<PaperEngine>(rank, ranks) : nullptr),
      group_(engine_.get()),
      before_(std::exchange(t_world, &group_)) {}
PaperWorld::~PaperWorld() { t_world = before_; }

}  // namespace dyadic::inline v1::distributed
