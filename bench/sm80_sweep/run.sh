#!/usr/bin/env bash
# The exhaustive sweep of the mma.sync GEMM on the GPU of this machine: generates the orders, compiles each, measures.
# Usage: run.sh FOLDER RESULT.json [SECONDS]; CUTLASS=checkout adds its kernels as peers.
set -euo pipefail
folder=$1 result=$2 seconds=${3:-200}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
flags=(-std=c++20 -O3 --expt-relaxed-constexpr -arch=sm_90a -I"$root/include" -I"$root/src" -I"$here")
mkdir -p "$folder"

"${CXX:-g++}" -std=c++20 -O2 -I"$root/include" "$here/generate.cpp" -o "$folder/generate"
"$folder/generate" "$folder"
# shellcheck disable=SC2016
find "$folder" -name '*.cu' -print0 |
  xargs -0 -P "$(nproc)" -I{} sh -c 'test -e "${1%.cu}.cubin" || "$0" "$@" -cubin -o "${1%.cu}.cubin"' \
    "$nvcc" {} "${flags[@]}"
# What measures takes the driver as the library does.
for source in memory driver; do
  "${CXX:-g++}" -std=c++20 -O2 -DFMT_HEADER_ONLY -I"$root/include" -I"$root/src" -c "$root/src/gpu/$source.cpp" \
    -o "$folder/$source.o"
done
"$nvcc" "${flags[@]}" "$here/measure.cu" "$folder"/{memory,driver}.o -o "$folder/measure" -ldl
peer=()
if [ -n "${CUTLASS:-}" ]; then
  "$nvcc" -std=c++17 -O3 --expt-relaxed-constexpr -arch=sm_90a -shared -Xcompiler -fPIC -I"$CUTLASS/include" \
    "$here/cutlass_peer.cu" -o "$folder/libpeer.so"
  peer=(--peer "$(cd "$folder" && pwd)/libpeer.so")
fi
"$folder/measure" "$folder" "$result" --seconds "$seconds" "${peer[@]}"
