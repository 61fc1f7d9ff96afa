// What carries bytes between the processes of a group: an engine is a plug-in, found when the program runs, so that nothing
// here links one. plugins/mpi is the first.
#pragma once
#include <cstdint>

namespace dyadic::inline v1::distributed {

struct Part {  // of a buffer, in bytes
  int64_t at = 0, bytes = 0;
};

// Calls begin; what they return is asked by done() until it says so, and is gone then. Buffers stay until then. Parts are one
// for each rank, together less than 2 GiB, and so is every other call.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void* broadcast(void* data, int64_t bytes, int root) = 0;
  virtual void* all_gather(const void* mine, int64_t bytes, void* all, const Part* parts) = 0;
  virtual void* all_to_all(const void* from, const Part* sent, void* to, const Part* received) = 0;
  virtual void* send(const void* data, int64_t bytes, int to, int tag) = 0;
  virtual void* receive(void* data, int64_t bytes, int from, int tag) = 0;
  virtual bool done(void* request) = 0;
  virtual Engine& beside() = 0;        // of the same ranks: its calls have an order of their own
  virtual void finish() = 0;           // the process leaves the group in peace
  virtual void abort(int status) = 0;  // all processes of the group end
};

// A plug-in exports `dyadic_engine`; null: it does not know this version.
inline constexpr int kEngineVersion = 2;

}  // namespace dyadic::inline v1::distributed
