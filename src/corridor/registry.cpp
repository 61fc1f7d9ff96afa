// The table of records, one column per instruction set; the running machine's is picked before main.
#include "base/parallel.h"
#include "corridor/call.h"
#include "corridor/family.h"
#include "op_table.inc"

namespace dyadic::inline v1 {
namespace {

constinit const OpDef* const* g_table = k_sse4;  // right from the first instruction, if slow; replaced below

[[gnu::constructor]] void pick() { g_table = isa() == Isa::avx512 ? k_avx512 : isa() == Isa::avx2 ? k_avx2 : k_sse4; }

}  // namespace

const OpDef& op_def(Op op) { return *g_table[int(op)]; }
const char* op_name(Op op) { return kNames[int(op)]; }
const char* op_family(Op op) { return kFamilies[int(op)]; }

}  // namespace dyadic::inline v1
