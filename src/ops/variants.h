// Calls that stand for another op, by their arguments: OpDef::variant of add, clamp, div ... They are no part of the op files,
// which are compiled once per instruction set.
#pragma once
#include <cstdint>

namespace dyadic::inline v1 {

struct Arg;
enum class Op : uint16_t;

}  // namespace dyadic::inline v1

namespace dyadic::inline v1::ops {

Op add_variant(Arg* args, int& n);           // alpha
Op sub_variant(Arg* args, int& n);           // alpha
Op rsub_variant(Arg* args, int& n);          // sub of the operands exchanged
Op neg_variant(Arg* args, int& n);           // not of bool
Op div_variant(Arg* args, int& n);           // rounding_mode
Op scatter_variant(Arg* args, int& n);       // reduce
Op pow_variant(Arg* args, int& n);           // integers to a negative number fail
Op sum_variant(Arg* args, int& n);           // dtype
Op mean_variant(Arg* args, int& n);          // dtype
Op prod_variant(Arg* args, int& n);          // dtype
Op floor_divide_variant(Arg* args, int& n);  // integers by zero fail
Op trunc_divide_variant(Arg* args, int& n);
Op remainder_variant(Arg* args, int& n);
Op fmod_variant(Arg* args, int& n);
Op round_variant(Arg* args, int& n);        // decimals
Op gelu_variant(Arg* args, int& n);         // approximate
Op logit_variant(Arg* args, int& n);        // eps
Op clamp_variant(Arg* args, int& n);        // one bound or two, numbers or tensors
Op clamp_min_variant(Arg* args, int& n);    // a number
Op clamp_max_variant(Arg* args, int& n);    // a number
Op nan_to_num_variant(Arg* args, int& n);   // what infinities become by default
Op hardtanh_variant(Arg* args, int& n);     // of integers with whole numbers
Op threshold_variant(Arg* args, int& n);    // of integers with whole numbers
Op isclose_variant(Arg* args, int& n);      // a bool as a number
Op bitwise_not_variant(Arg* args, int& n);  // of bool

}  // namespace dyadic::inline v1::ops
