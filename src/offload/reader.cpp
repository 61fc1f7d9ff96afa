#include "offload/reader.h"

#include <string_view>
#include <utility>

#include "autograd/callbacks.h"
#include "corridor/tape.h"
#include "dyadic/autograd.h"
#include "dyadic/offload.h"
#include "offload/pages.h"

namespace dyadic::inline v1::offload {
namespace {

constexpr int64_t kAhead =
    int64_t(64) << 20;  // bytes that are on their way while a module runs: more than a disk has in flight

}  // namespace

std::shared_ptr<Reader> Reader::watch(nn::Module& model) {
  const auto reader = std::make_shared<Reader>();
  for (auto& [name, module] : model.named_modules()) {
    Part part;
    for (auto& [key, slot] : module->own_parameters())
      if (slot->defined() && !slot->is_meta() && is_offloaded(*slot)) part.weights.push_back(*slot);
    if (part.weights.empty()) continue;
    part.rows = std::string_view(module->kind()) == "Embedding";
    reader->numbers_[module] = int(reader->parts_.size());
    reader->parts_.push_back(std::move(part));
    module->add_hook(reader);
  }
  reader->moments_.resize(2 * reader->parts_.size());
  return reader->parts_.empty() ? nullptr : reader;
}

void Reader::drop(int part) {
  for (const Tensor& t : parts_[size_t(part)].weights)
    if (is_offloaded(t)) Pages(t).drop();
}

int64_t Reader::ask(int moment) {
  const Part& part = parts_[size_t(moment / 2)];
  const bool begun = std::exchange(moments_[size_t(moment)].asked, true) || part.rows;
  int64_t bytes = 0;
  for (const Tensor& t : part.weights) {
    if (!is_offloaded(t)) continue;
    const Pages pages(t);
    bytes += pages.bytes();
    if (!begun) pages.read_ahead();
  }
  return bytes;
}

void Reader::begin(int moment) {
  if (first_ < 0) first_ = moment;
  if (moment == first_)  // what was read by other ways than its module's call goes once a pass
    for (size_t i = 0; i < parts_.size(); ++i)
      if (!std::exchange(parts_[i].begun, false)) drop(int(i));
  parts_[size_t(moment / 2)].begun = true;
  if (last_ >= 0) {
    Moment& before = moments_[size_t(last_)];
    before.sure = before.next == moment;
    before.next = moment;
  }
  last_ = moment;
  ask(moment);
  moments_[size_t(moment)].asked = false;
  int64_t ahead = 0;
  for (int m = moment; moments_[size_t(m)].sure && ahead < kAhead;) {
    m = moments_[size_t(m)].next;
    if (m == moment) break;
    ahead += ask(m);
  }
}

void Reader::begin_backward(int part) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(in_backward_, true)) when_backward_ends(shared_from_this(), end_backward);
  if (const int before = std::exchange(open_, part); before >= 0 && before != part) drop(before);
  begin(2 * part + 1);
}
void Reader::end_backward(void* object) {
  auto& reader = *static_cast<Reader*>(object);
  const std::lock_guard lock(reader.mutex_);
  reader.in_backward_ = false;
  if (const int before = std::exchange(reader.open_, -1); before >= 0) reader.drop(before);
}

// A backward that threw has said nothing of its end.
void Reader::before(nn::Module& m, std::vector<Tensor>&) {
  const std::lock_guard lock(mutex_);
  in_backward_ = false;
  if (const auto part = numbers_.find(&m); part != numbers_.end()) begin(2 * part->second);
}
// Backward reads the weights when the node of the module's result runs.
void Reader::after(nn::Module& m, const std::vector<Tensor>&, std::vector<Tensor>& results) {
  const auto found = numbers_.find(&m);
  if (found == numbers_.end()) return;  // a copy of a module whose hook this is
  const int part = found->second;
  if (GradMode::is_enabled())
    for (const Tensor& y : results)
      if (auto* node = y.defined() ? fresh(*y.impl()).node : nullptr)
        node_extra(*node).before.emplace_back([reader = shared_from_this(), part](auto, auto) {
          reader->begin_backward(part);
          return std::vector<Tensor>();
        });
  const std::lock_guard lock(mutex_);
  drop(part);
}

}  // namespace dyadic::inline v1::offload
