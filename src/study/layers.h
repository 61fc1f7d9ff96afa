// Where a format's loss comes from: one module at a time stored in it, one at a time spared, and the mixture that is near
// enough.
#pragma once
#include "dyadic/progress.h"
#include "study/evaluate.h"

namespace dyadic::inline v1::study {

// Of the format that comes nearest to the tolerance among those that take less than the recommended one and miss it; where
// there is none, of the recommended one. Nothing when that is f32. Of the mixture: modules are kept in the recommended format
// in the order of what they lose for each byte that keeping them costs, as few as bring the whole within the tolerance.
std::optional<Layers> study_layers(const Reference& reference, const StudyResult& study, train::Progress& progress);

}  // namespace dyadic::inline v1::study
