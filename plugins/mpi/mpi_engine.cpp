// The engine over MPI. Everything is non-blocking, so that whoever waits can give up.
#include <mpi.h>

#include <memory>
#include <vector>

#include "distributed/engine.h"

namespace dyadic::inline v1::distributed {
namespace {

struct Request {
  MPI_Request handle = MPI_REQUEST_NULL;
  std::vector<int> counts[4];  // live until it is done
};

class MpiEngine : public Engine {
  MPI_Comm comm_ = MPI_COMM_WORLD;
  bool started_ = false;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<MpiEngine> beside_;

  // Byte counts and places of parts, kept in the request.
  static void put(const Part* parts, int n, std::vector<int>& counts, std::vector<int>& places) {
    for (int i = 0; i < n; ++i) counts.push_back(int(parts[i].bytes)), places.push_back(int(parts[i].at));
  }

 public:
  MpiEngine() {
    int there = 0, level = 0;
    MPI_Initialized(&there);
    if (!there) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), started_ = true;
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    MPI_Comm another = MPI_COMM_NULL;
    MPI_Comm_dup(comm_, &another);
    beside_ = std::make_unique<MpiEngine>(another, rank_, size_);
  }
  MpiEngine(MPI_Comm comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void* broadcast(void* data, int64_t bytes, int root) override {
    auto* r = new Request;
    MPI_Ibcast(data, int(bytes), MPI_BYTE, root, comm_, &r->handle);
    return r;
  }
  void* all_gather(const void* mine, int64_t bytes, void* all, const Part* parts) override {
    auto* r = new Request;
    put(parts, size_, r->counts[0], r->counts[1]);
    MPI_Iallgatherv(mine, int(bytes), MPI_BYTE, all, r->counts[0].data(), r->counts[1].data(), MPI_BYTE, comm_, &r->handle);
    return r;
  }
  void* all_to_all(const void* from, const Part* sent, void* to, const Part* received) override {
    auto* r = new Request;
    put(sent, size_, r->counts[0], r->counts[1]);
    put(received, size_, r->counts[2], r->counts[3]);
    MPI_Ialltoallv(from, r->counts[0].data(), r->counts[1].data(), MPI_BYTE, to, r->counts[2].data(), r->counts[3].data(),
                   MPI_BYTE, comm_, &r->handle);
    return r;
  }
  void* send(const void* data, int64_t bytes, int to, int tag) override {
    auto* r = new Request;
    MPI_Isend(data, int(bytes), MPI_BYTE, to, tag, comm_, &r->handle);
    return r;
  }
  void* receive(void* data, int64_t bytes, int from, int tag) override {
    auto* r = new Request;
    MPI_Irecv(data, int(bytes), MPI_BYTE, from, tag, comm_, &r->handle);
    return r;
  }
  bool done(void* request) override {
    auto* r = static_cast<Request*>(request);
    int is = 0;
    MPI_Test(&r->handle, &is, MPI_STATUS_IGNORE);
    if (is) delete r;
    return is != 0;
  }
  Engine& beside() override { return beside_ ? *beside_ : *this; }
  void finish() override {
    if (started_) MPI_Finalize();
    started_ = false;
  }
  void abort(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }
};

}  // namespace
}  // namespace dyadic::inline v1::distributed

extern "C" [[gnu::visibility("default")]] dyadic::distributed::Engine* dyadic_engine(int version) {
  static auto* engine = version == dyadic::distributed::kEngineVersion ? new dyadic::distributed::MpiEngine : nullptr;
  return engine;
}
