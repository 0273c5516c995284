#!/usr/bin/env bash
# What never ran on a GPU, or not in its present form, in order of risk: each step ends by itself, with a log and a verdict,
# and a hang of one costs its own time alone. Run again it goes on behind the last step that passed.
# Usage: first.sh BUILD_FOLDER LOG_FOLDER [STEP...]     BUILD_FOLDER has bin/ with the test_gpu_* programs, lib/ and images/,
# and include/, a link to this checkout's, if it was built on another machine: some instances are compiled when first used.
# WARPWRIGHT_SECONDS: seconds after which no step is begun, and none goes on (default 570: a call of ten minutes).
# WARPWRIGHT_JOBS: how many steps run side by side (default 1); what they find does not depend on time.
# first.sh --list says what the steps ask. Exit 0 when all passed, 1 otherwise, 3 without a GPU, 4 when time ran
# out first.
# shellcheck disable=SC2154  # steps.sh assigns them
set -uo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

# name | seconds | what only hardware can tell | command, in which BIN stands for the folder of the programs
steps() {
  cat <<'END'
images    | 60  | ptxas of this machine: no spills, no wgmma that waits for the one before, setmaxnreg not ignored | python3 tests/device/images.py BUILD/images
recorder  | 240 | the driver takes every tensor map (pairs for swiglu, whose strides do not grow, matrices [k, n] as a third dimension), launch and call that the recorder takes; what it forbids during capture | BIN/test_gpu_recorder
gathered  | 120 | cp.async of rows beside TMA of B on one barrier, its proxy fence; multicast to one CTA of two | BIN/test_gpu_moe_sm90 --gtest_filter=*EachGathered*
moe       | 120 | route, gather, product, sum: launches that read what the one ahead wrote; equal bits | BIN/test_gpu_moe_sm90 --gtest_filter=MoeSm90.*
layouts   | 120 | groups with B [k, n], groups along k with A and B [k, m] and [k, n]: wgmma of MN-major panels, edges that threads clear | BIN/test_gpu_grouped_sm90 --gtest_filter=*_nn_*
modes     | 120 | the same along k, and sums that cp.reduce.async.bulk adds to fp32 | BIN/test_gpu_grouped_modes_sm90 --gtest_filter=*_tn_*:*added*
realigned | 120 | rows that begin at any byte: cp.async of whole vectors, moved into the stage by eight warps; to the bytes of the simulator | BIN/test_gpu_examples --gtest_filter=*nt_by_threads*
edges     | 120 | the same under memcheck: no vector before a matrix, none past its end | compute-sanitizer --tool memcheck --error-exitcode 9 BIN/test_gpu_examples --gtest_filter=*one_small_shape/*nt_by_threads*
swiglu    | 240 | dense and skinny products of pairs, to the bytes of the simulator | BIN/test_gpu_examples --gtest_filter=*nt_swiglu*
own       | 180 | epilogues of one's own, compiled by this machine's NVRTC: the bits of every function | BIN/test_gpu_own_epilogue
mma_sync  | 400 | batches, layouts, few rows and split-K of mma.sync | BIN/test_gpu_mma_sync
api       | 120 | plans that are made during capture, choice by measurement on the caller's stream | BIN/test_gpu_api
python    | 300 | the compiled warm call with this torch, graphs, torch.compile, gradients, streams | python3 -m pytest -q --disable-warnings -p no:cacheprovider python/tests/test_torch_gpu_layers.py
routings  | 240 | random routings with their gradients against float64, launches beside a busy stream | python3 tests/gpu/moe_routings.py --count 400 --launches 2000
verify    | 60  | the comparison of WARPWRIGHT_VERIFY | BIN/test_gpu_verify
memcheck  | 300 | no access beyond an array in what is new | compute-sanitizer --tool memcheck --error-exitcode 9 BIN/test_gpu_moe_sm90 --gtest_filter=*EachGathered*128x256*:MoeSm90.*
racecheck | 300 | gathered rows and what waits for them, as the sanitizer sees it; reports of scales are known (docs/hardware.md) | compute-sanitizer --tool racecheck --error-exitcode 9 BIN/test_gpu_examples --gtest_filter=*one_small_shape/*gathered*
old       | 300 | what ran before, in its present form: torch tensors and quantization | python3 -m pytest -q --disable-warnings -p no:cacheprovider python/tests/test_torch.py python/tests/test_torch_quantize.py
END
}

if [[ ${1:-} == --list ]]; then
  steps | awk -F ' *[|] *' '{ printf "%-10s %s\n", $1, $3 }'
  exit 0
fi
if (($# < 2)); then
  sed -n '2,9s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
build=$(cd -- "$1" && pwd)
bin=$build/bin
mkdir -p "$2"
logs=$(cd -- "$2" && pwd)
shift 2
. "$root/tests/gpu/steps.sh"
cd "$root" || exit
if [[ $gpu == "no GPU" ]]; then
  echo "nvidia-smi finds no GPU" >&2
  exit 3
fi
until=$((SECONDS + ${WARPWRIGHT_SECONDS:-570}))
# As many random products and launches as a step has time for.
export WARPWRIGHT_RANDOM_SHAPES=${WARPWRIGHT_RANDOM_SHAPES:-300} WARPWRIGHT_RANDOM_KERNELS=${WARPWRIGHT_RANDOM_KERNELS:-0}
export WARPWRIGHT_RANDOM_TABLES=${WARPWRIGHT_RANDOM_TABLES:-200} WARPWRIGHT_LAUNCHES=${WARPWRIGHT_LAUNCHES:-500}
command -v compute-sanitizer >/dev/null || PATH=$PATH:/usr/local/cuda/bin

wanted() {
  local name=$1
  shift
  (($# == 0)) && return
  [[ " $* " == *" $name "* ]]
}

# A filter that matches nothing, or tests that are all skipped, would look as good as right ones.
good() { passed "$1" && ! grep -qE '^\[  PASSED  \] 0 tests|^[0-9]+ skipped|no tests ran' "$1"; }

# One step, with its log, its verdict as a line, and beside the log a word that stays when it did not pass.
step() {  # name, seconds, command
  local name=$1 seconds=$2 log=$logs/first-$1.txt left began=$SECONDS verdict=ok words
  rm -f "$logs/first-$name.not"
  if [[ -f $log ]] && good "$log"; then
    printf '%-10s before %s\n' "$name" "$(last_words "$log")"
    return
  fi
  left=$((until - SECONDS))
  if ((left < 20)); then
    printf '%-10s not begun: no time is left\n' "$name"
    echo 4 >"$logs/first-$name.not"
    return
  fi
  # Words of one's own in the table have no spaces, so they may be split here.
  read -ra words <<<"${3//BIN/$bin}"
  recorded "$log" $((seconds < left ? seconds : left)) "${words[@]//BUILD/$build}"
  if ! good "$log"; then
    verdict=FAILED
    echo 1 >"$logs/first-$name.not"
  fi
  printf '%-10s %-6s %4d s  %s\n' "$name" "$verdict" $((SECONDS - began)) "$(last_words "$log")"
}

jobs=${WARPWRIGHT_JOBS:-1}
while IFS='|' read -r name seconds _ command; do
  name=${name// /} seconds=${seconds// /}
  wanted "$name" "$@" || continue
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
  step "$name" "$seconds" "$command" </dev/null &
done < <(steps)
wait
verdicts=$(cat "$logs"/first-*.not 2>/dev/null)
rm -f "$logs"/first-*.not
case $verdicts in
  *1*) exit 1 ;;
  *4*) exit 4 ;;
esac
