#!/usr/bin/env bash
# What a new user does: clones the project, types the commands of "Two commands" in README.md, and waits. The
# environment is empty: no variable of the caller, a new home, so no compiler cache, a fresh clone of the last commit.
# Prints what the commands print, the seconds of each, of processor time too, and the time to the first result.
#
# Usage: fresh_user.sh [--demo-only] [--test NAME] [--python] [--source FOLDER] [--jobs N] [--root FOLDER] [--keep]
#   --demo-only   leave `test` out
#   --test        give `test` the name of a test: everything is built, and one test is run
#   --python      then install the package and run the example, as "Python" in docs/getting-started.md says
#   --source      the checkout to clone (this one); a folder without .git is copied
#   --jobs        compile with N processes (default: all cores)
#   --root        do it inside this bare system, packages included. As root, one is made by
#                 debootstrap --variant=minbase bookworm FOLDER
#   --keep        leave the folder behind
# WARPWRIGHT_CUDA is passed on, and PIP_CERT, which some networks need.
set -euo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
source=$here jobs='' inside='' demo_only='' test_name='' python='' keep=''
while (($#)); do
  case $1 in
    --demo-only) demo_only=yes ;;
    --test) test_name=$2 && shift ;;
    --python) python=yes ;;
    --keep) keep=yes ;;
    --source) source=$(cd -- "$2" && pwd) && shift ;;
    --jobs) jobs=$2 && shift ;;
    --root) inside=$(cd -- "$2" && pwd) && shift ;;
    *) echo "fresh_user.sh: unknown option '$1'." >&2 && exit 2 ;;
  esac
  shift
done

folder=$(mktemp -d "${inside:-${TMPDIR:-/tmp}}/fresh-user.XXXXXX")
if [[ -z $keep ]]; then trap 'rm -rf -- "$folder"' EXIT; fi
mkdir "$folder/home"
seen=${folder#"$inside"}  # as the commands see it

environment=(env -i HOME="$seen/home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
  TERM=dumb USER="$(id -un)")
[[ -n $jobs ]] && environment+=(CMAKE_BUILD_PARALLEL_LEVEL="$jobs" CTEST_PARALLEL_LEVEL="$jobs")
if [[ -n ${PIP_CERT:-} ]]; then
  cp -- "$PIP_CERT" "$folder/certificates.pem"
  environment+=(PIP_CERT="$seen/certificates.pem")
fi
[[ -n ${WARPWRIGHT_CUDA:-} ]] && environment+=(WARPWRIGHT_CUDA="$WARPWRIGHT_CUDA")

# Runs a line in the clone, in the empty environment.
as_newcomer() {
  if [[ -z $inside ]]; then
    (cd -- "$folder/warpwright" && "${environment[@]}" bash -c "$1")
  else
    # /proc is mounted for these processes only.
    unshare --mount bash -c 'mount -t proc proc "$0/proc" && exec chroot "$@"' "$inside" \
      "$inside" "${environment[@]}" bash -c "cd '$seen/warpwright' && $1"
  fi
}

# Names are looked up as on this machine.
[[ -n $inside ]] && install -m 644 -- /etc/resolv.conf "$inside/etc/resolv.conf"

now() { date +%s.%N; }
seconds_since() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f", to - from }'; }

if [[ -d $source/.git ]]; then
  commit=$(git -C "$source" rev-parse --short HEAD)
else
  commit='a copy'
fi
printf '# fresh user: %s, %s cores%s, %s\n' "$commit" "$(nproc)" "${jobs:+, $jobs jobs}" "$(date -u +%Y-%m-%d)"
if [[ -n $inside ]]; then
  printf '# in a bare system: %s, %s packages\n' "$(. "$inside/etc/os-release" && echo "$PRETTY_NAME")" \
    "$(chroot "$inside" dpkg-query -W | wc -l)"
else
  printf '# in %s, with what is installed here\n' "$(. /etc/os-release && echo "$PRETTY_NAME")"
fi

begin=$(now)
if [[ -d $source/.git ]]; then
  git clone --quiet "file://$source" "$folder/warpwright"
else
  cp -a -- "$source" "$folder/warpwright"
fi
printf '# clone: %s s\n' "$(seconds_since "$begin")"

mapfile -t commands < <(sed -n '/^## Two commands/,/^## [^T]/p' "$folder/warpwright/README.md" |
  sed -n '/^```/,/^```/{s/^\(\.\/warpwright [a-z]*\).*/\1/p}')
((${#commands[@]} == 2)) || { echo "fresh_user.sh: README.md does not show two commands." >&2 && exit 1; }

TIMEFORMAT='%R s, %U s of processor time'
# Runs a line; says how it ended and how long it took, and stops with the end of its log if it failed.
try() {
  local name=$1 line=$2 status=0
  { time as_newcomer "$line" 2>"$folder/log"; } 2>"$folder/time" || status=$?
  printf '# %s: exit code %d, %s\n' "$name" "$status" "$(<"$folder/time")"
  ((status)) || return 0
  tail -n 40 "$folder/log"
  exit 1
}

for command in "${commands[@]}"; do
  if [[ $command == *test ]]; then
    [[ -n $demo_only ]] && continue
    command+=${test_name:+ $test_name}
  fi
  printf '\n$ %s\n' "$command"
  try "$command" "$command"
  if [[ $command == *demo ]]; then
    printf '# time to the first result, from nothing: %s s\n' "$(seconds_since "$begin")"
    grep -E '^(Installing|No GPU|-- Device code|\[[0-9]+/[0-9]+\] Linking CXX executable bin/warpwright-(tool|demo))' \
      "$folder/log" | sort -u | sed 's/^/# /' || true
    { time as_newcomer "$command" >/dev/null 2>&1; } 2>"$folder/time"
    printf '# again: %s\n' "$(<"$folder/time")"
  fi
done
[[ -n $python ]] || exit 0

# The lines of a fenced block in the section "Python".
block() {
  awk '/^## / { on = ($0 == "## Python") } on' "$folder/warpwright/docs/getting-started.md" |
    sed -n "/^\`\`\`$1/,/^\`\`\`\$/{//d;p}"
}
install=$(block text) example=$(block python)
[[ -n $install && -n $example ]] || { echo "fresh_user.sh: docs/getting-started.md has no example for Python." >&2 && exit 1; }
printf '\n'
sed 's/^/$ /' <<<"$install"
try 'installation' "{ $install
} | grep -o '^Successfully installed.*'"
printf '\n'
sed 's/^/>>> /' <<<"$example"
printf '%s\n' "$example" >"$folder/warpwright/example.py"
try 'example' '. .venv/bin/activate && python example.py'
