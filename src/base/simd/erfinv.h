// The inverse error function, the quantiles of the normal distribution, and erfcx: relatives of erf.h.
#pragma once
#include "base/simd/erf.h"
#include "base/simd/lanewise.h"
#include "base/simd/log.h"

namespace dyadic::DY_ISA {

namespace math {

// erfinv(m), m >= 0, from w = -log(1 - m^2), as M. Giles (Approximating the erfinv function, GPU Computing Gems 2, 2011) does,
// with own fits: in w up to 6.25 (2^-52.4), in sqrt(w) beyond, up to where 1 - m is the smallest number (2^-52.5).
DY_INLINE Vec<double> erfinv_center(Vec<double> t) {
  return poly(t, 1.6536545626831027, 0.7504943200799634, -0.05892256710377774, -0.02260444745344268, 0.017808361818285486,
              -0.004137314377635318, -0.0012716922681254151, 0.0012324855718632917, -0.00026439367288082666,
              -0.00011688886556874679, 9.336742725235717e-05, -1.5027582849378313e-05, -1.1257494271261268e-05,
              7.12964290056048e-06, -6.831540544487474e-07, -1.0584174019720917e-06, 5.382078862956788e-07,
              -1.1520113194027729e-08, -9.687946564826633e-08, 4.0471163864192056e-08, 3.028556497072375e-09,
              -9.393027907670294e-09, 2.6475312265412627e-09, 1.0717484218699534e-09, -6.725570072690228e-10,
              -4.858347047596851e-11, 6.429272956363972e-11);
}
DY_INLINE Vec<double> erfinv_b(Vec<double> t) {
  return poly(t, 3.0838856104922208, 0.7539442257706239, 0.003021139436374796, -0.0015825410894020754, 0.0007883078513037062,
              -0.0004006356984658501, 0.00016966502201395562, -4.739182621090278e-05, 2.405864553961797e-06,
              5.1273107998549535e-06, -2.6647929019048458e-06, 5.264816664010632e-07, 9.289123106534858e-08,
              -9.472931730402785e-08, 2.640207676146399e-08, -3.1762860610433224e-10, -2.4631252310387788e-09,
              9.484146288570452e-10, -1.1668488242884922e-10, -4.6670908711308964e-11, 2.410988140506669e-11,
              -3.42833449329419e-12);
}
DY_INLINE Vec<double> erfinv_c(Vec<double> t) {
  return poly(t, 5.102469766505421, 1.2627439715993545, -0.0004286291993763817, -0.00029305859763612376, 0.00013464044547553114,
              -4.2795204589825366e-05, 1.1897275196518985e-05, -3.0868011966710537e-06, 7.803319216292192e-07,
              -2.0974858655501377e-07, 7.282879515638282e-08, -3.7346461364335156e-08, 2.3731902869061557e-08,
              -1.498749961354358e-08, 8.461707292464467e-09, -4.0524664030906e-09, 1.577807735447544e-09,
              -4.461102477035146e-10, 1.6436932055391626e-11, 8.586640949873736e-11, -5.2175691678753645e-11,
              1.0884867952970727e-11);
}
DY_INLINE Vec<double> erfinv_d(Vec<double> t) {
  return poly(t, 9.13592711288067, 2.767948514793853, -0.002976840021217196, 0.0004207885164984392, -2.2786784226935552e-05,
              -1.709919081652991e-05, 1.0825714515598637e-05, -4.619829010836205e-06, 1.7166676605283025e-06,
              -5.93934836623737e-07, 1.96622704551638e-07, -6.313878024664758e-08, 1.9819382279204294e-08,
              -6.109481942679526e-09, 1.853141951378099e-09, -5.554474234826224e-10, 1.669274763782041e-10,
              -4.886686386716828e-11, 1.2381806241238328e-11, -3.5770625707660086e-12, 1.771331170998316e-12,
              -4.935807507560654e-13);
}
DY_INLINE Vec<double> erfinv_e(Vec<double> t) {
  return poly(t, 19.92805556415854, 8.018810913919932, -0.005537381237732327, 0.0016864760743558406, -0.000516382470181154,
              0.00015602129114792763, -4.559766584132247e-05, 1.248915753440991e-05, -2.989543829090764e-06,
              4.85614357975091e-07, 5.973281327626866e-08, -1.1563237154383988e-07, 8.021981360541077e-08,
              -4.424932266339772e-08, 2.0931818293400364e-08, -9.989403616424686e-09, 6.051579406379325e-09,
              -2.657081493847426e-09, 5.988684811270175e-11, -4.1813017632873e-11, 4.821080657564153e-10,
              -2.0110953311516207e-10);
}
DY_INLINE Vec<double> erfinv_of(Vec<double> w, Vec<double> m) {
  Vec<double> s = sqrt(w), y = erfinv_center(w * 0.32 - 1);
  y = select(w > 6.25, erfinv_b((s - 3.25) * (1 / 0.75)), y);
  y = select(s > 4, erfinv_c((s - 5.25) * 0.8), y);
  if (any(s > 6.5)) [[unlikely]]
    y = select(s > 6.5, select(s > 12, erfinv_e((s - 20) * 0.125), erfinv_d((s - 9.25) * (1 / 2.75))), y);
  return select(w < kInf, y * m, kInf);
}

}  // namespace math

DY_INLINE Vec<double> erfinv(Vec<double> x) {
  Vec<double> a = abs(x), w = -log((1 - a) * (1 + a));
  return copysign(select(a <= 1, math::erfinv_of(w, a), kNaN), x);
}
// The x below which a standard normal variable stays with probability p.
DY_INLINE Vec<double> ndtri(Vec<double> p) {
  Mask<double> low = p < 0.5;
  Vec<double> q = 2 * select(low, p, 1 - p);
  Vec<double> y = math::erfinv_of(-log(q * (2 - q)), 1 - q) * 1.4142135623730951;
  return select((p >= 0) & (p <= 1), select(low, -y, y), kNaN);
}
// exp(x^2) erfc(x).
DY_INLINE Vec<double> erfcx(Vec<double> x) {
  using namespace math;
  Vec<double> a = abs(x);
  Vec<double> e = exp_square(at_most(a, 27), 1), far = select(isinf(a), 0, erfcx_positive(a));
  return select(x < 0, 2 * e - far, far);
}
// In f32: fits to 2^-27.4 in w up to 6.25 and to 2^-26.8 in sqrt(w) beyond.
DY_INLINE Vec<float> erfinv(Vec<float> x) {
  Vec<float> a = abs(x), w = -math::log_unrepaired((1 - a) * (1 + a));
  Vec<float> y = math::poly(w * 0.32 - 1, 1.65365458, 0.750494301, -0.0589231439, -0.022603994, 0.0178146027, -0.00413997658,
                            -0.00129635562, 0.00124072505, -0.000220179034, -0.000131837791, 5.66453673e-5);
  if (any(w > 6.25)) {
    Vec<float> far = math::poly((sqrt(w) - 3.25) * (1 / 0.75), 3.08388567, 0.753944039, 0.00302169821, -0.00157984615,
                                0.000784806733, -0.000410392298, 0.00017755969, -3.4598954e-5, -5.08620406e-6);
    y = select(w > 6.25, far, y);
  }
  return select(a < 1, y * x, select(a == 1, x * kInf, kNaN));
}
DY_IN_DOUBLE(ndtri)
DY_IN_DOUBLE(erfcx)

}  // namespace dyadic::DY_ISA
