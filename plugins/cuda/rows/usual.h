// Operands of kernels that are compiled for a few formats: as they lie, or converted in the workspace.
#pragma once
#include "corridor/call.h"
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/rows/chunks.h"

namespace dyadic::gpu {

// The workspace of a plan, piece by piece.
class Room {
  int64_t& bytes_;

 public:
  explicit Room(Plan& plan) : bytes_(plan.workspace) { bytes_ = 0; }
  int64_t take(int64_t bytes) {  // where it begins
    const int64_t at = bytes_;
    bytes_ += padded(bytes);
    return at;
  }
};
inline void* at_place(void* workspace, int64_t place) { return static_cast<char*>(workspace) + place; }

// A dense operand in format `code`.
struct Usual {
  Code code = Code::none, own = Code::none;
  bool result = false;
  int64_t count = 0, place = -1;  // place: of the copy in the workspace; -1: there is none
  double max = 0;

  Usual() = default;
  Usual(const Operand& o, Code as, Room& room, bool result = false) : result(result) {
    if (!o.defined()) return;
    code = as, own = code_of(o.format), count = o.count, max = o.format->def->max;
    if (own != as) place = room.take(count * stored_bytes(as));
  }
  bool defined() const { return code != Code::none; }
  const void* read(const void* given, void* workspace) const {
    if (place < 0 || !given) return given;
    copy(code, own).run(at_place(workspace, place), given);
    return at_place(workspace, place);
  }
  void* open(void* given, void* workspace) const { return place < 0 || !given ? given : at_place(workspace, place); }
  void close(void* given, void* workspace) const {
    if (place >= 0 && given) copy(own, code).run(given, at_place(workspace, place));
  }

 private:
  Transfer copy(Code to, Code from) const {
    Transfer t{to, from, max, {}};
    t.space.add(count, {1, 1});
    t.space.finish();
    return t;
  }
};
// The format that a kernel takes instead of an operand's own.
inline Code usual_code(const Format* f) {
  const Code own = code_of(f);
  return is_usual(own) ? own : Code::f32;
}

}  // namespace dyadic::gpu
