#!/usr/bin/env bash
# What a GPU does with this build: packed here, run on a machine that has one, without anybody there and without network.
# `tools/gpu_evidence.sh` alone lists the verbs.
set -euo pipefail

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
readonly root build=$root/build
readonly package=$build/gpu/package.tar.xz
readonly most_package=$((55 << 20)) most_together=$((62 << 20)) # bytes: of the package; of it and the tree that it travels with

say() { printf 'gpu_evidence: %s\n' "$*" >&2; }
die() { say "$@" && exit 1; }

usage() {
  cat <<'TEXT'
usage: tools/gpu_evidence.sh VERB [arguments]

  pack                        the programs, the plug-in and the libraries that they need, in build/gpu/package.tar.xz
  run [--within SECONDS] [PIECE...]
                              there: unpacks it, runs the pieces (default: all, as long as there is time: 540 seconds), and leaves
                              evidence.json and evidence.log in $OUT, else in build/gpu/results
  list                        the pieces, the most telling first

GPU_EVIDENCE_PLUGIN names the plug-in (default: build/cuda90/lib/libdyadic_cuda.so, which pack builds for sm_90 alone). With the
simulator (build/release/lib/libdyadic_cudasim.so) run tries everything but the card, on smaller calls.
GPU_EVIDENCE_BUILD names the folder of the programs (default: build/release).
TEXT
}

# The plug-in for one architecture: all of them together would be several times as large.
build_plugin() {
  local dir=$build/cuda90
  cmake -S "$root" -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDYADIC_TESTS=OFF -DDYADIC_CUDA=ON -DDYADIC_CUDA_ARCHITECTURES=90 >&2
  ninja -C "$dir" dyadic_cuda >&2
  printf '%s\n' "$dir/lib/libdyadic_cuda.so"
}

# libraries FILE...: what they need beside the C library, whose own parts are the system's.
libraries() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -Ev '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so'
}

write_info() { # write_info PLUGIN: what the package was made from
  local changed=false
  [[ ! $(git -C "$root" status --porcelain) ]] || changed=true
  printf '{"commit": "%s", "changed": %s, "plugin": "%s", "nvcc": "%s"}\n' "$(git -C "$root" rev-parse HEAD)" "$changed" \
    "$(basename "$1")" "$({ nvcc --version || /usr/local/cuda/bin/nvcc --version; } 2>/dev/null | sed -n 's/.*release .*, V//p')"
}

tree_bytes() {
  (cd "$root" && git ls-files -co --exclude-standard -z | xargs -0 -r stat -c %s -- 2>/dev/null) | awk '{ all += $1 } END { print all + 0 }'
}

verb_pack() {
  local plugin programs=${GPU_EVIDENCE_BUILD:-$build/release}/bin stage size together
  plugin=${GPU_EVIDENCE_PLUGIN:-$(build_plugin)}
  for file in "$programs/dyadic" "$programs/dyadic_tests" "$plugin"; do
    [[ -f $file ]] || die "pack: $file is missing; ./dev build --cuda and ninja -C build/release dyadic_tests make it"
  done
  stage=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder of now
  trap "rm -rf '$stage'" EXIT
  mkdir -p "$stage/bin" "$stage/lib/runtime" "$(dirname "$package")"
  cp "$programs/dyadic" "$programs/dyadic_tests" "$stage/bin/"
  cp "$plugin" "$stage/lib/"
  libraries "$programs/dyadic" "$programs/dyadic_tests" "$plugin" | xargs -r cp -L -t "$stage/lib/"
  mv "$stage"/lib/libstdc++.so* "$stage"/lib/libgcc_s.so* "$stage/lib/runtime/"
  strip --strip-all "$stage"/bin/*
  strip --strip-unneeded "$stage"/lib/*.so* "$stage"/lib/runtime/*
  write_info "$plugin" >"$stage/info.json"
  tar -C "$stage" -c bin lib info.json | xz -T0 -6 >"$package"
  size=$(stat -c %s "$package")
  together=$((size + $(tree_bytes)))
  say "build/gpu/package.tar.xz: $((size >> 20)) MiB ($(du -sm "$stage" | cut -f 1) MiB unpacked); with the tree $((together >> 20)) MiB"
  ((size <= most_package)) || die "pack: the package may have $((most_package >> 20)) MiB"
  ((together <= most_together)) || die "pack: the package and the tree may have $((most_together >> 20)) MiB together"
}

unpack() { tar -C "$1" -xJf "$package" 2>/dev/null || python3 -m tarfile -e "$package" "$1"; }

verb_run() {
  local stage out=${OUT:-$build/gpu/results}
  [[ -f $package ]] || die "run: $package is missing; pack makes it"
  stage=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder of now
  trap "rm -rf '$stage'" EXIT
  unpack "$stage"
  mkdir -p "$out"
  python3 "$root/tools/gpu_evidence/run.py" --package "$stage" --out "$out" "$@"
}

main() {
  local verb=${1:-help}
  case $verb in
  pack) verb_pack ;;
  run) shift && verb_run "$@" ;;
  list) python3 "$root/tools/gpu_evidence/run.py" --list ;;
  help | -h | --help) usage ;;
  *) say "unknown verb '$verb'" && usage >&2 && exit 2 ;;
  esac
}

main "$@"
