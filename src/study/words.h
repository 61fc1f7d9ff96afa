// Names, of folders too, and messages, shortened.
#pragma once
#include <string>
#include <string_view>

namespace dyadic::inline v1::study {

// A name in at most so many columns of a terminal: its middle becomes an ellipsis, since names differ at their ends.
std::string short_name(const std::string& name, int most);

// A name as part of a folder's: what means something in a path, or cannot be typed, becomes a dash.
std::string file_name(std::string name);

// The folder of a run that was given none: the first free of kind-name, kind-name-2 ...; to resume, kind-name.
std::string run_folder(const std::string& kind, const std::string& name, bool resume);

// The folder of the Python package that this is a part of, with a slash behind it; empty: of none.
extern std::string g_package_folder;

// The first line of an error. One of Python's tells its whole way before: of that, the last place outside of the package.
std::string in_one_line(std::string_view what);

}  // namespace dyadic::inline v1::study
