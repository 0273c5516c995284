# What all.sh, first.sh and bench/measurements.sh share. To be sourced, with $root, the checkout, and $bin, the folder of the
# programs, set.
# shellcheck shell=bash disable=SC2034,SC2154
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "no GPU")
export WARPWRIGHT_LIBRARY=$bin/../lib/libwarpwright.so WARPWRIGHT_TOOL=$bin/warpwright-tool
python_tests=("$root"/python/tests/test_torch{,_quantize,_gpu_layers}.py)

has_torch() { python3 -c 'import torch, pytest, numpy' 2>/dev/null; }

# recorded LOG SECONDS COMMAND...: its own words, the date and the device above its output, its exit code below. One that
# takes longer is ended, first with a signal that lets it speak, and has exit code 124.
recorded() {
  local log=$1 seconds=$2 words
  shift 2
  words="$(basename "$1") ${*:2}"
  {
    printf '# %s\n# %s, %s\n' "${words//"$root/"/}" "$(date -u +%Y-%m-%d)" "$gpu"
    timeout --kill-after=20 "$seconds" "$@" 2>&1
    printf '# exit code %d\n' $?
  } >"$log"
}

# Whether a log, or every part of one, ended well.
passed() { grep -q '^# exit code 0$' "$1" && ! grep -q '^# exit code [1-9]' "$1"; }

# The last line that says how it ended.
last_words() {
  if grep -q '^# exit code 1\(24\|37\)$' "$1"; then
    echo "it took too long; the last line: $(grep -v '^#' "$1" | tail -n 1 | cut -c1-120)"
  else
    grep -E '^\[  (PASSED|FAILED)  \]|passed|failed|right,|complaints|ERROR SUMMARY' "$1" | tail -n 1
  fi
}
