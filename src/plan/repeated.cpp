#include "plan/repeated.h"

#include "base/check.h"

namespace dyadic::inline v1::planning {

const Tensor& Repeated::get() {
  if (value_.defined()) return value_;
  if (call_) {
    call_->run();
  } else {
    const CategoryScope category(Category::activation);
    value_ = stowed_->read();
  }
  return value_;
}

bool Repeated::is_of(const Tensor& t, FunctionRef<std::shared_ptr<StowFile>()> file) {
  if (t.dtype() != dtype) return false;
  if (call_) return true;
  if (!stowed_) stowed_ = std::make_unique<Stowed>(t, t.is_meta() ? nullptr : file());
  return stowed_->is_of(t);
}

Place::Place(const TensorImpl& t)
    : sizes(t.sizes, t.sizes + t.ndim), strides(t.strides, t.strides + t.ndim), offset(t.offset) {}
Tensor Place::in(const Tensor& whole) const { return make_view(whole, sizes, strides, offset); }

// The frame, with what it borrows; tensors apart.
void RepeatedCall::take(const Call& c) {
  module_ = t_module;
  random_ = generator_state();
  if (c.plan.draws && random_.calls) --random_.calls;  // what the call has drawn
  args_.assign(c.args, c.args + c.nargs);
  size_t ints = 0, text = 0;
  for (const Arg& a : args_) {
    if (a.kind == Arg::Kind::ints) ints += a.n;
    if (a.kind == Arg::Kind::text) text += a.n;
  }
  ints_.reserve(ints);  // what args_ point to stays where it is
  text_.reserve(text);
  for (Arg& a : args_) {
    if (a.kind == Arg::Kind::ints) {
      const size_t at = ints_.size();
      ints_.insert(ints_.end(), a.ints, a.ints + a.n);
      a.ints = ints_.data() + at;
    } else if (a.kind == Arg::Kind::text) {
      const size_t at = text_.size();
      text_.append(a.text, a.n);
      a.text = text_.data() + at;
    }
  }
}

void RepeatedCall::read(const Tensor& t, std::shared_ptr<Repeated> made) {
  Read& r = reads_.emplace_back(Read{{}, nullptr, Place(*t.impl())});
  if (made)
    r.repeated = std::move(made);
  else
    tape::save(r.kept, t.impl()->flags & kNumber ? t : tape::alias(t));  // promotion passes a number by
}

std::vector<std::shared_ptr<Repeated>> RepeatedCall::results(const std::shared_ptr<RepeatedCall>& call, const Call& c) {
  std::vector<std::shared_ptr<Repeated>> all;
  for (int j = 0; j < c.nout; ++j) {
    all.push_back(c.out[j].defined() ? std::make_shared<Repeated>() : nullptr);
    if (!all.back()) continue;
    all.back()->call_ = call;
    all.back()->dtype = c.out[j].dtype();
  }
  call->results_.assign(all.begin(), all.end());
  return all;
}

void RepeatedCall::let_go() {
  for (Read& r : reads_)
    if (r.kept.tensor.defined()) tape::drop_saved(r.kept);
  reads_.clear();
}
RepeatedCall::~RepeatedCall() { let_go(); }

void RepeatedCall::run() {
  std::vector<Tensor> tensors;
  tensors.reserve(reads_.size());
  for (size_t i = 0; i < reads_.size(); ++i) {
    const Read& r = reads_[i];
    DY_CHECK(
        r.repeated || r.kept.tensor.version() == r.kept.version,
        "{}: it cannot be computed again for backward: what it read was written in place after the forward; clone it before "
        "writing, or train without a plan",
        op_name(op_));
    tensors.push_back(r.repeated ? r.place.in(r.repeated->get()) : r.kept.tensor);
  }
  std::vector<Arg> args = args_;
  const Tensor* next = tensors.data();
  for (Arg& a : args) {
    if (a.kind == Arg::Kind::tensor) a.tensor = next++;
    if (a.kind == Arg::Kind::tensors) a.tensor = std::exchange(next, next + a.n);
  }
  Tensor out[kMaxOutputs];
  {
    const ModeScope plain(kNoGrad, kAutocast | kAutocastOff | kForget);
    const CategoryScope category(Category::activation);
    Generator generator(random_);
    const GeneratorScope draws(generator);
    const struct Module {
      uint32_t before;
      ~Module() { t_module = before; }
    } module{std::exchange(t_module, module_)};
    call_op(op_, args.data(), int(args.size()), out);
  }
  for (size_t j = 0; j < results_.size(); ++j)
    if (const std::shared_ptr<Repeated> result = results_[j].lock()) result->value_ = std::move(out[j]);
  tensors.clear();
  let_go();
}

}  // namespace dyadic::inline v1::planning
