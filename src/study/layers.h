// Where a format's loss comes from: one module at a time stored in it, one at a time spared, and the mixture that is near
// enough.
#pragma once
#include "dyadic/progress.h"
#include "study/evaluate.h"

namespace dyadic::inline v1::study {

// Of up to three formats that take less than the recommended one and miss the tolerance, the one with the smallest mixture;
// where there is none, of the recommended one. Nothing when that is f32. Of the mixture: modules are kept in the recommended
// format in the order of what they lose for each byte that keeping them costs, as few as bring the whole within the tolerance.
std::optional<Layers> study_layers(const Reference& reference, const StudyResult& study, train::Progress& progress);
// Into the study, or a note of the error that it ended in.
void add_layers(const Reference& reference, StudyResult& study, train::Progress& progress);

}  // namespace dyadic::inline v1::study
