#include "loops/threaded.h"

#include <bit>

#include "loops/elements.h"
#include "loops/fused.h"

namespace dyadic::inline v1 {

using Lies = FusedValue::Lies;

bool Expression::keeps_bf16() const {
  const auto fits = [this](Term t) {
    return t.of != Of::number || (t.index >= given && std::bit_cast<uint32_t>(numbers[size_t(t.index)]) % (1 << 16) == 0);
  };
  for (const Part& p : parts) {
    const bool chooses = p.op == Arithmetic::max || p.op == Arithmetic::min;
    if (!chooses && p.op != Arithmetic::neg && p.op != Arithmetic::abs) return false;
    if (!fits(p.a) || (chooses && !fits(p.b))) return false;
  }
  return true;
}

// Writes a program: parts of all steps in one row, each of which leaves its result in registers. What is read again later is
// spilled, unless it goes to memory anyway.
class ThreadedWriter {
  using Step = ThreadedProgram::Step;
  enum class At : uint8_t { part, memory, single, number };
  struct Operand {
    At at = At::number;
    int index = -1;
  };
  struct Part {
    Arithmetic op;
    Operand a, b;
    int value = -1;  // that it is, in memory
    int last = -1;   // part that reads it
    int slot = -1;
    bool rounds = false;  // to bf16
  };
  const std::vector<FusedValue>& values_;
  std::vector<Part> parts_;
  std::vector<int> made_;  // by which part each value is
  std::vector<int> free_;
  int slots_ = 0, held_ = -1;  // the part in registers
  ThreadedProgram program_;

  bool unary(const Part& p) const { return int(p.op) < kUnary; }

  bool operand(const FusedStep& s, const Expression::Term& t, int first, Operand& o) {
    if (t.of == Expression::Of::part) return o = {At::part, first + t.index}, true;
    if (t.of == Expression::Of::number) {
      program_.numbers_.push_back(s.expression->numbers[size_t(t.index)]);
      return o = {At::number, int(program_.numbers_.size()) - 1}, true;
    }
    const int v = s.in[t.index];
    if (v < 0) return false;
    if (made_[size_t(v)] >= 0) return o = {At::part, made_[size_t(v)]}, true;
    const FusedValue& value = values_[size_t(v)];
    if (value.lies == Lies::single) return o = {At::single, v}, true;
    return o = {At::memory, v}, value.lies == Lies::dense && (value.format == f32.format() || value.format == bf16.format());
  }
  // Whether an input, or each, is elements of bf16: then the op's own tile for bf16 is what runs alone.
  bool reads_bf16(const FusedStep& s) const {
    bool some = false;
    for (int i = 0; i < s.inputs; ++i)
      if (s.in[i] >= 0) some |= is_bf16(values_[size_t(s.in[i])]);
    return some && s.what.bf16_tile;
  }
  bool reads_bf16_alone(const FusedStep& s) const {
    bool all = true;
    for (int i = 0; i < s.inputs; ++i)
      if (s.in[i] >= 0) all &= is_bf16(values_[size_t(s.in[i])]);
    return all;
  }
  static bool is_bf16(const FusedValue& v) { return v.format == bf16.format() && v.lies != Lies::single; }
  bool add(const FusedStep& s) {
    const Format* out = values_[size_t(s.out)].format;
    const bool low = out == bf16.format();
    if (s.converts || !s.expression || s.what.compute != Compute::f32 || (!low && out != f32.format())) return false;
    if (low && !reads_bf16(s)) return false;
    const int first = int(parts_.size());
    for (const Expression::Part& e : s.expression->parts) {
      Part p{e.op, {}, {}};
      if (!operand(s, e.a, first, p.a)) return false;
      if (!unary(p) && !operand(s, e.b, first, p.b)) return false;
      parts_.push_back(p);
    }
    if (int(parts_.size()) == first) return false;
    parts_.back().rounds = low && !(s.expression->keeps_bf16() && reads_bf16_alone(s));
    made_[size_t(s.out)] = int(parts_.size()) - 1;
    if (values_[size_t(s.out)].lies == Lies::dense) parts_.back().value = s.out;
    return true;
  }

  void emit(Step s, Operand o) {
    if (o.at == At::number) s.number = o.index;
    if (o.at == At::memory || o.at == At::single) s.value = o.index;
    if (o.at == At::part) {
      s.value = parts_[size_t(o.index)].value;
      if (s.value < 0) s.slot = parts_[size_t(o.index)].slot;
    }
    program_.steps_.push_back(s);
  }
  bool in_registers(Operand o) const { return o.at == At::part && o.index == held_; }
  static bool is_number(Operand o) { return o.at == At::number || o.at == At::single; }

  bool compute(const Part& p) {
    if (unary(p)) {
      if (is_number(p.a)) return false;
      if (!in_registers(p.a)) emit({Step::Is::load}, p.a);
      program_.steps_.push_back({Step::Is::unary, p.op});
      return true;
    }
    bool first = in_registers(p.a), second = in_registers(p.b);
    if (!first && !second) {
      first = !is_number(p.a), second = !first;
      if (second && is_number(p.b)) return false;
      emit({Step::Is::load}, first ? p.a : p.b);
    }
    if (first && second) {
      program_.steps_.push_back({Step::Is::binary, p.op, Against::itself});
    } else {
      const Operand other = first ? p.b : p.a;
      const auto against = is_number(other) ? (first ? Against::number : Against::number_first)
                                            : (first ? Against::memory : Against::memory_first);
      emit({Step::Is::binary, p.op, against}, other);
    }
    return true;
  }
  // After part i has been computed: it is kept where later parts read it.
  bool keep(int i) {
    Part& p = parts_[size_t(i)];
    held_ = i;
    if (p.rounds) program_.steps_.push_back({Step::Is::round});
    if (p.value < 0 && p.last > i + 1) {
      if (free_.empty()) free_.push_back(slots_++);
      p.slot = free_.back();
      free_.pop_back();
    }
    if (p.value >= 0 || p.slot >= 0) emit({Step::Is::store}, {At::part, i});
    for (Part& read : parts_)
      if (read.slot >= 0 && read.last == i) free_.push_back(read.slot), read.last = -1;
    return slots_ <= ThreadedProgram::kMostSpilled && program_.steps_.size() < ThreadedProgram::kMostSteps;
  }

 public:
  explicit ThreadedWriter(const std::vector<FusedValue>& values) : values_(values), made_(values.size(), -1) {}

  std::optional<ThreadedProgram> write(const std::vector<FusedStep>& steps) {
    for (const FusedStep& s : steps)
      if (!add(s)) return std::nullopt;
    for (int i = 0; i < int(parts_.size()); ++i) {
      const Part& p = parts_[size_t(i)];
      if (p.a.at == At::part) parts_[size_t(p.a.index)].last = i;
      if (!unary(p) && p.b.at == At::part) parts_[size_t(p.b.index)].last = i;
    }
    for (int i = 0; i < int(parts_.size()); ++i)
      if (!compute(parts_[size_t(i)]) || !keep(i)) return std::nullopt;
    return std::move(program_);
  }
};

std::optional<ThreadedProgram> ThreadedProgram::make(const std::vector<FusedValue>& values,
                                                     const std::vector<FusedStep>& steps) {
  return ThreadedWriter(values).write(steps);
}

bool ThreadedProgram::can_repeat(const std::vector<FusedValue>& values, const std::vector<FusedStep>& steps,
                                 char* const* memory) const {
  int stored = 0;
  bool over_input = false;
  for (const FusedStep& s : steps) {
    if (values[size_t(s.out)].lies != Lies::dense) continue;
    ++stored;
    for (const FusedStep& reads : steps)
      for (int i = 0; i < reads.inputs; ++i)
        if (const int v = reads.in[i]; v >= 0 && v != s.out) over_input |= memory[v] == memory[s.out];
  }
  return stored == 1 || !over_input;  // one: it is not stored where it has a NaN
}

void ThreadedProgram::place(Ready& ready, const std::vector<FusedValue>& values, char* const* memory,
                            const bool* streamed) const {
  const ThreadedKernel& kernel = threaded_kernel();
  ThreadedStep* to = ready.steps;
  for (const Step& s : steps_) {
    ThreadedStep& t = *to++ = ThreadedStep{};
    t.found_nan = &ready.found_nan;
    const bool single = s.value >= 0 && values[size_t(s.value)].lies == Lies::single;
    if (s.number >= 0) t.number = numbers_[size_t(s.number)];
    if (single)
      tiles::splat(*values[size_t(s.value)].format, memory[s.value], Compute::f32, reinterpret_cast<char*>(&t.number), 1);
    else if (s.value >= 0)
      t.memory = memory[s.value], t.moves = -1;
    else if (s.slot >= 0)
      t.memory = ready.spilled + s.slot * kernel.block * int64_t(sizeof(float));
    const bool low = s.value >= 0 && !single && values[size_t(s.value)].format == bf16.format();
    const bool stream = s.value >= 0 && streamed[s.value];
    switch (s.is) {
      case Step::Is::load:
        t.run = low ? kernel.load_bf16 : kernel.load;
        break;
      case Step::Is::store:
        t.run = low ? (stream ? kernel.stream_bf16 : kernel.store_bf16) : stream ? kernel.stream : kernel.store;
        break;
      case Step::Is::round:
        t.run = kernel.round_bf16;
        break;
      case Step::Is::unary:
        t.run = kernel.unary[int(s.op)];
        break;
      case Step::Is::binary:
        t.run =
            low ? kernel.binary_bf16[int(s.op) - kUnary][int(s.against)] : kernel.binary[int(s.op) - kUnary][int(s.against)];
    }
  }
  to->run = kernel.end;
}

}  // namespace dyadic::inline v1
