// What a file that is compiled once per instruction set computes with, and its precompiled header: Vec and Mask (float,
// double), their mathematical functions, Complex (pairs of Vec) and Lane (integers). Such a file lives in namespace
// dyadic::DY_ISA and instantiates nothing of std.
#pragma once
#include "base/simd/arc.h"
#include "base/simd/bessel.h"
#if !DY_ISA_reference && !DY_ISA_cuda
#include "base/simd/bf16.h"
#endif
#include "base/simd/complex.h"
#include "base/simd/divide.h"
#include "base/simd/erf.h"
#include "base/simd/erfinv.h"
#include "base/simd/exp.h"
#include "base/simd/frexp.h"
#include "base/simd/gamma.h"
#include "base/simd/hyperbolic.h"
#include "base/simd/igamma.h"
#include "base/simd/lane.h"
#include "base/simd/log.h"
#include "base/simd/pow.h"
#include "base/simd/trig.h"
#include "base/simd/vec.h"
