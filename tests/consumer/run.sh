#!/bin/sh
# run.sh BUILD_FOLDER SOURCE_FOLDER: installs Kiln from its build folder into a fresh prefix, builds the consumer
# against it by find_package and by pkg-config, moves the prefix, and runs both on the simulated device. Then
# `uninstall` removes the installed files, and a file of the user must stay.
set -eu
build=$1 source=$2 here=$2/tests/consumer
work=$(mktemp -d)
# A person may have installed from this build folder. The script restores the list of these files.
list=$build/install_manifest.txt
[ ! -e "$list" ] || cp "$list" "$work/list"
end() {
    if [ -e "$work/list" ]; then cp "$work/list" "$list"; else rm -f "$list"; fi
    rm -rf "$work"
}
trap end EXIT
export KILN_CACHE_DIR="$work/cache" KILN_DEVICE=sim
unset KILN_PATH KILN_WORKER || true

cmake --install "$build" --prefix "$work/first" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
prefix=$work/elsewhere
mv "$work/first" "$prefix" # an installed tree may be moved

cmake -S "$here" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
    cmake --build "$work/cmake" >>"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name kiln.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # lists of words
${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic "$here/main.c" $(pkg-config --cflags --libs kiln-catalogue) -lm \
    -Wl,-rpath,"$(pkg-config --variable=libdir kiln)" -o "$work/by-pkg-config"

cd "$work" # the source tree is not near, so the installed spec and its source are used
cp "$here/known.yaml" .
"$work/cmake/consumer"
"$work/by-pkg-config" | grep 'known from the nearest sizes on this device'
"$prefix/bin/kiln" run matmul --size one >"$work/run.out"
grep -q verified "$work/run.out"
"$prefix/bin/kiln" spec --schema | cmp - "$(dirname "$(find "$prefix" -name matmul.yaml -not -path "*/known/*")")/kiln.schema.json"
echo "consumer: installed command runs"

# Builds the examples of the installed folder with the installed headers. Two examples call the driver, and link with
# the installed libcuda of the simulated device.
examples=$(dirname "$(find "$prefix" -path "*/engine/examples/launch.c")")
specs=$(dirname "$(find "$prefix" -path "*/specs/examples/first.yaml")")
cmake -S "$examples" -B "$work/examples" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" \
    >"$work/log" 2>&1 && cmake --build "$work/examples" >>"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"$work/examples/example_launch" "$specs/first.yaml" | grep -x '1000 results are right'
for example in own_context graph; do
    [ ! -e "$work/examples/example_$example" ] ||
        "$prefix/bin/kiln" sim run "$work/examples/example_$example" "$specs/first.yaml"
done
[ "$(find "$work/examples" -maxdepth 1 -name 'example_*' | wc -l)" -ge 8 ] || { echo "consumer: examples are missing" >&2; exit 1; }

# Checks that each link of the pages leads to an installed file.
python3 "$source/tests/book/links.py" pages "$prefix/share"

mv "$prefix" "$work/first" # the list has paths relative to this folder
touch "$work/first/share/kiln/specs/mine.yaml"
cmake -DMANIFEST="$list" -P "$source/tools/uninstall.cmake" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
left=$(cd "$work/first" && find . ! -type d)
[ "$left" = ./share/kiln/specs/mine.yaml ] || { echo "consumer: uninstall left $left" >&2; exit 1; }
[ -z "$(find "$work/first/lib" "$work/first/share/doc" "$work/first/libexec" -path '*/kiln*')" ] ||
    { echo "consumer: uninstall left empty folders" >&2; exit 1; }
grep -q 'Uninstalled: [1-9][0-9]* files removed' "$work/log"
echo "consumer: uninstalled"
