#!/usr/bin/env bash
# The libraries that a build needs, as one folder for a machine that has a GPU and a compiler, but neither these packages nor a
# network: CLI11, nlohmann-json, {fmt}, GoogleTest, and of Boost what Boost.Context needs. From a Debian or Ubuntu with the packages.
# Usage: prefix.sh FOLDER     then, there: cmake --preset release -DWARPWRIGHT_CUDA=ON -DWARPWRIGHT_INSTANCES=ALL \
#                                              -DCMAKE_PREFIX_PATH=FOLDER && ninja -C build/release
set -euo pipefail
if (($# != 1)) || [[ $1 == -* ]]; then
  sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
mkdir -p "$1"
to=$(cd -- "$1" && pwd)

# Paths of the system below /usr are paths below the folder: the CMake files of these packages find what is beside them.
take() {
  local file
  while read -r file; do
    [[ -f $file && $file == /usr/* ]] || continue
    mkdir -p "$to/$(dirname "${file#/usr/}")"
    cp --no-dereference --preserve=mode "$file" "$to/${file#/usr/}"
  done
}

of_packages() { dpkg -L "$@" | grep -E '^/usr/(include|lib|share/(cmake|pkgconfig))' || true; }

of_packages libcli11-dev nlohmann-json3-dev libfmt-dev libgtest-dev | take
dpkg -L libfmt9 libfmt10 2>/dev/null | grep '\.so' | take || true
# Headers of Boost are many; the compiler knows which are read.
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
mapfile -t packages < <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 'libboost-context1.*' | sed -n 's/^installed //p')
of_packages "${packages[@]}" | take
{
  grep -rh '^#include <boost/' "$root/src" "$root/include" | sort -u
  echo '#include <boost/version.hpp>'
} | g++ -std=c++20 -M -x c++ - | grep -o '/usr/include/boost/[^ ]*' | take
find /usr/lib -path '*/cmake/Boost*' -type f -o -path '*/cmake/boost_headers*' -type f | take
du -sh "$to"
