#!/usr/bin/env bash
# Every test that needs a Hopper GPU, side by side, with one log each: the gpu-tests-*.txt of docs/evidence.
# Usage: all.sh BIN_FOLDER LOG_FOLDER     BIN_FOLDER holds the test_gpu_* programs; libwarpwright.so lies in its ../lib
# WARPWRIGHT_RANDOM_SHAPES, _KERNELS, _TABLES, _QUANTIZATIONS, WARPWRIGHT_LAUNCHES and _ROUTINGS say how many, WARPWRIGHT_LIMIT
# how many seconds one of them may take (default 3600). What never ran on a GPU comes first in first.sh.
# Exit 0 when all passed, 1 otherwise.
# shellcheck disable=SC2154  # steps.sh assigns them
set -uo pipefail
bin=$(cd -- "$1" && pwd)
mkdir -p "$2"
logs=$(cd -- "$2" && pwd)
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/gpu/steps.sh"
limit=${WARPWRIGHT_LIMIT:-3600}

run() {  # name, command...
  local name=$1
  shift
  recorded "$logs/gpu-tests-$name.txt" "$limit" "$@"
}

export WARPWRIGHT_RANDOM_SHAPES=${WARPWRIGHT_RANDOM_SHAPES:-20000} WARPWRIGHT_RANDOM_KERNELS=${WARPWRIGHT_RANDOM_KERNELS:-16}
export WARPWRIGHT_RANDOM_TABLES=${WARPWRIGHT_RANDOM_TABLES:-5000} WARPWRIGHT_LAUNCHES=${WARPWRIGHT_LAUNCHES:-10000}
# The longest ones in parts: the simulator and its compiler work on the host. record reads clocks, and comes alone.
shards=8
for program in "$bin"/test_gpu_*; do
  name=${program##*/test_gpu_}
  case $name in
    record) ;;
    examples | same_instance)
      for ((i = 0; i < shards; ++i)); do
        GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i run "$name-$i" "$program" &
      done
      ;;
    *) run "$name" "$program" & ;;
  esac
done
if has_torch; then
  run python python3 -m pytest -q --disable-warnings -p no:cacheprovider "${python_tests[@]}" &
  run moe_routings python3 "$root/tests/gpu/moe_routings.py" --count "${WARPWRIGHT_ROUTINGS:-10000}" \
    --launches "$WARPWRIGHT_LAUNCHES" &
fi
wait
for name in examples same_instance; do
  cat "$logs/gpu-tests-$name"-?.txt >"$logs/gpu-tests-$name.txt" && rm "$logs/gpu-tests-$name"-?.txt
done
run record "$bin/test_gpu_record"

status=0
for log in "$logs"/gpu-tests-*.txt; do
  word=ok
  passed "$log" || word=FAILED status=1
  printf '%-28s %-6s %s\n' "$(basename "$log")" "$word" "$(last_words "$log")"
done
exit $status
