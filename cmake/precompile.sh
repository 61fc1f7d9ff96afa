#!/bin/sh
# usage: precompile.sh COMPILER ARGUMENT...: runs the compiler; beside a precompiled header it leaves HEADER.gch.sum, the checksum of
# everything that was included. ccache compares that file (CCACHE_PCH_EXTSUM): g++ writes addresses and paths into a precompiled
# header, so no two are alike, and what is compiled with one would never be found in the store.
set -eu
"$@"
output='' depends='' previous=''
for word in "$@"; do
  case $previous in
  -o) output=$word ;;
  -MF) depends=$word ;;
  esac
  previous=$word
done
case $output in
*.gch | *.pch)
  # cmake_pch.hxx itself names the build folder.
  tr -s ' \\' '\n' <"$depends" | grep '^/' | grep -v '/cmake_pch\.hxx' | xargs -d '\n' cat | sha256sum >"$output.sum"
  ;;
esac
