// The drawings of report.html. Each takes the width it is drawn for: text keeps its size, so a phone gets a drawing of its own
// rather than a shrunken one. An empty string means that there is nothing to draw yet.
#pragma once
#include <string>
#include <vector>

#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

std::string curves_chart(const StudyResult& s, double width);   // training loss (faint) and validation loss, by step
std::string gap_chart(const StudyResult& s, double width);      // validation loss minus f32's at the same step
std::string bytes_chart(const StudyResult& s, double width);    // stacked categories, measured above predicted
std::string recipes_chart(const StudyResult& s, double width);  // loss against peak memory, or time
std::string formats_chart(const StudyResult& s, double width);  // loss against bits per weight
std::string speed_chart(const StudyResult& s, double width);    // tokens per second, with the share of the peak
std::string layers_chart(const StudyResult& s, double width);   // what each module loses in the format, worst first

inline constexpr double kPerColumn = 8;  // pixels that a column of text takes in a drawing: DejaVu Sans, the widest in use

// Memory categories in the order of the stack: name and CSS class "m0" ...; those that a result holds.
struct MemoryCategory {
  const char* name;
  Amount Bytes::* amount;
};
std::vector<MemoryCategory> memory_categories(const StudyResult& s);

// "s0" for f32, "s1" ... for the others in their order, repeating after "s7".
std::string series_class(const StudyResult& s, const std::string& recipe);
int series_index(const StudyResult& s, const std::string& recipe);
inline int series_shape(int index) { return index + index / 8; }  // where colours repeat, shapes are others

}  // namespace dyadic::inline v1::study
