#!/usr/bin/env bash
# Every test that needs a Hopper GPU, side by side, with one log each: the gpu-tests-*.txt of docs/evidence.
# Usage: all.sh BIN_FOLDER LOG_FOLDER     BIN_FOLDER holds the test_gpu_* programs; libwarpwright.so lies in its ../lib
# WARPWRIGHT_RANDOM_SHAPES, _KERNELS, _TABLES, _QUANTIZATIONS, WARPWRIGHT_LAUNCHES and _ROUTINGS say how many.
# Exit 0 when all passed, 1 otherwise.
set -uo pipefail
bin=$(cd -- "$1" && pwd)
mkdir -p "$2"
logs=$(cd -- "$2" && pwd)
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)

run() {  # name, command...
  local name=$1 words
  shift
  words="$(basename "$1") ${*:2}"
  {
    printf '# %s\n# %s, %s\n' "${words//"$root/"/}" "$(date -u +%Y-%m-%d)" "$gpu"
    "$@" 2>&1
    printf '# exit code %d\n' $?
  } >"$logs/gpu-tests-$name.txt"
}

export WARPWRIGHT_RANDOM_SHAPES=${WARPWRIGHT_RANDOM_SHAPES:-20000} WARPWRIGHT_RANDOM_KERNELS=${WARPWRIGHT_RANDOM_KERNELS:-16}
export WARPWRIGHT_RANDOM_TABLES=${WARPWRIGHT_RANDOM_TABLES:-5000} WARPWRIGHT_LAUNCHES=${WARPWRIGHT_LAUNCHES:-10000}
for name in random api moe_sm90 grouped_sm90 grouped_modes_sm90 grouped_random quantize mma_sync ptx verify recorder; do
  run "$name" "$bin/test_gpu_$name" &
done
# The longest ones in parts: the simulator and its compiler work on the host.
shards=8
for ((i = 0; i < shards; ++i)); do
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i run "examples-$i" "$bin/test_gpu_examples" &
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i run "same_instance-$i" "$bin/test_gpu_same_instance" &
done
if python3 -c 'import torch, pytest, numpy' 2>/dev/null; then
  WARPWRIGHT_LIBRARY=$bin/../lib/libwarpwright.so WARPWRIGHT_TOOL=$bin/warpwright-tool \
    run python python3 -m pytest -q --disable-warnings -p no:cacheprovider "$root"/python/tests/test_torch{,_quantize}.py &
  WARPWRIGHT_LIBRARY=$bin/../lib/libwarpwright.so \
    run moe_routings python3 "$root/tests/gpu/moe_routings.py" --count "${WARPWRIGHT_ROUTINGS:-10000}" &
fi
wait
for name in examples same_instance; do
  cat "$logs/gpu-tests-$name"-?.txt >"$logs/gpu-tests-$name.txt" && rm "$logs/gpu-tests-$name"-?.txt
done
run record "$bin/test_gpu_record"  # alone: it reads clocks

status=0
for log in "$logs"/gpu-tests-*.txt; do
  last=$(grep -E '^\[  (PASSED|FAILED)  \]|passed|failed' "$log" | tail -n 1)
  word=ok
  if ! grep -q '^# exit code 0$' "$log" || grep -q '^# exit code [1-9]' "$log"; then word=FAILED status=1; fi
  printf '%-28s %-6s %s\n' "$(basename "$log")" "$word" "$last"
done
exit $status
