#!/usr/bin/env bash
# usage: install_test.sh CMAKE BUILD_FOLDER COMPILER VERSION
# Installs BUILD_FOLDER into a temporary prefix, moves that elsewhere (nothing may depend on where it was), builds the program in
# consumer/ and the C++ program of README.md against it, and checks that the installed files are what the documentation promises.
set -euo pipefail
cmake=$1 build=$2 compiler=$3 version=$4
here=$(dirname "$(readlink -f "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "FAILED: $*" && exit 1; }

"$cmake" --install "$build" --prefix "$folder/first" >"$folder/install.log" || { cat "$folder/install.log" && fail "cmake --install"; }
grep KiB "$folder/install.log"
mv "$folder/first" "$folder/prefix"

# Every public header compiles on its own: one source file each.
mkdir "$folder/headers"
for header in "$folder"/prefix/include/dyadic/*.h; do
  name=$(basename "$header" .h)
  printf '#include <dyadic/%s.h>\n#include <dyadic/%s.h>\n' "$name" "$name" >"$folder/headers/$name.cpp"
done
[[ -f $folder/headers/dyadic.cpp ]] || fail "include/dyadic/dyadic.h is not installed"

# The C++ blocks of README.md, a program each.
mkdir "$folder/readme"
awk -v folder="$folder/readme" '/^```cpp$/ { file = folder "/block" ++n ".cpp"; next } /^```/ { file = "" } file { print > file }' \
  "$here/../../README.md"
[[ -f $folder/readme/block1.cpp ]] || fail "README.md shows no C++"

"$cmake" -S "$here/consumer" -B "$folder/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$folder/prefix" -DHEADER_SOURCES="$folder/headers" -DREADME_SOURCES="$folder/readme" -DDYADIC_WANTED="$version" >"$folder/configure.log" ||
  { cat "$folder/configure.log" && fail "find_package(dyadic)"; }
"$cmake" --build "$folder/consumer"
said=$("$folder/consumer/consumer")
[[ $said == "dyadic $version: 1.5 2 bf16 Error" ]] || fail "the consumer printed '$said'"

said=$("$folder/consumer/for_libtorch")
[[ $said == 1 ]] || fail "the program written for libtorch printed '$said'"

for block in "$folder/readme"/*.cpp; do
  name=$(basename "$block" .cpp)
  "$folder/consumer/$name" >"$folder/$name.out" || fail "$name of README.md ends with $?"
  [[ -s $folder/$name.out ]] || fail "$name of README.md prints nothing"
done
# Its 200 steps learn sin, and its weights become nf4.
losses=$(awk '/^[0-9]+ [0-9.]+$/ { print $2 }' "$folder/block1.out")
awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR == 4 && last < first / 5) }' <<<"$losses" ||
  fail "the losses of README.md's program are" $losses
grep -q nf4 "$folder/block1.out" || fail "README.md's program prints no nf4"

program=$folder/prefix/bin/dyadic
said=$("$program" --version)
[[ $said == *"$version"* ]] || fail "dyadic --version printed '$said'"
exported=$(nm -D --defined-only --demangle "$program" | grep -c 'dyadic::' || true)
((exported == 0)) || fail "the program exports $exported symbols of namespace dyadic; they should be hidden"
! nm "$program" 2>/dev/null | grep -q . || fail "the installed program is not stripped"
if grep -rlF "$build" "$folder/prefix/lib"*/cmake "$folder/prefix/lib"*/*/cmake 2>/dev/null; then
  fail "the installed CMake files name the build folder"
fi
bytes=$(stat -c %s "$program")
((bytes < 60000000)) || fail "the program has $bytes bytes"
