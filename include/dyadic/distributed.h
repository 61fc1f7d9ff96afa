// Several processes that train one model: the group of those that were started together, and what they tell each other.
//
//   mpirun -n 4 ./program          or   dyadic launch -n 4 -- ./program
//
//   dy::distributed::Group& group = dy::distributed::world();
//   group.all_reduce(gradient, dy::distributed::Reduce::mean);
//
// A program that was started alone is a group of one, without any engine. Calls must come in the same order on every rank, with
// shapes and dtypes that fit: where they don't, every rank gets an Error that names a rank and its call. So it does where
// another rank does not come within the timeout.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::distributed {

class Engine;
class Move;
// Sums are one fixed binary tree over the ranks: ((0 + 1) + (2 + 3)); of three (0 + 1) + 2. Floats of 16 bits and fewer are
// added in f32 and rounded once.
enum class Reduce : uint8_t { sum, mean, product, min, max };

class Group {
 public:
  explicit Group(Engine* engine) : engine_(engine) {}
  Group(const Group&) = delete;
  int rank() const;
  int size() const;

  // Tensors of any layout, written in place. Broadcast, sent and received are all dtypes; those with scales are not laid side
  // by side.
  void broadcast(const Tensor& t, int root = 0);
  void broadcast(const std::vector<Tensor>& tensors, const std::vector<int>& roots);  // one call; those on meta stay
  void all_reduce(const Tensor& t, Reduce how = Reduce::sum);                         // f32, f64, bf16, f16 and integers
  void all_gather(const Tensor& all, const Tensor& t);  // [size, ...] of t's shape; or as many elements
  void reduce_scatter(const Tensor& t, const Tensor& all, Reduce how = Reduce::sum);
  void all_to_all(const Tensor& to, const Tensor& from);  // equal parts of the first dimension, one for each rank
  void send(const Tensor& t, int to, int tag = 0);
  void receive(const Tensor& t, int from, int tag = 0);
  void barrier();
  // Texts, of any length.
  std::vector<std::string> all_gather(std::string_view mine);
  std::string broadcast(std::string_view text, int root = 0);

  // Runs `f` on the first rank alone; where it throws, all do.
  template <class F> void on_first(F&& f) {
    if (size() == 1) return f();
    std::string failed;
    if (rank() == 0) try {
        f();
      } catch (const std::exception& e) { failed = std::string("1") + e.what(); }
    failed = broadcast(failed);
    if (!failed.empty()) refuse(failed.substr(1));
  }
  // Error naming the first rank whose text differs, and how: "config: rank 2 has steps 100, rank 0 steps 200".
  void require_equal(std::string_view what, std::string_view mine);

  int64_t bytes_sent() const { return bytes_sent_; }  // to other ranks, since the beginning, descriptions of calls left out

 private:
  friend class Call;
  friend class Move;
  friend class Moving;
  [[noreturn]] static void refuse(const std::string& why);
  Engine* engine_;
  int64_t bytes_sent_ = 0;
  std::vector<std::shared_ptr<Move>> moving_;  // what goes on beside other calls, in the order in which it began
};

// Of the processes that mpirun or `dyadic launch` started together; begun when first asked for. Error where there are several
// and the plug-in is missing.
Group& world();
// By the environment: how many processes were started together (1: this one alone), and which of them this one is.
int launched();
int launched_rank();
// Leaves the world. With a status other than 0 the others are ended.
void finish(int status = 0);
// That a call waits for the others: 1800 s, or what the variable DYADIC_TIMEOUT says.
void set_timeout(double seconds);

}  // namespace dyadic::inline v1::distributed
