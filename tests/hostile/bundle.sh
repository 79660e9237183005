#!/bin/sh
# tests/hostile/bundle.sh PROGRAM FOLDER: copies the program, built with the preset asan, and all libraries that it needs to
# FOLDER, with a script to run it: FOLDER/run.sh SECONDS JOBS [FIRST-SEED]. Any x86-64 Linux machine can run it then.
set -eu
program=$1
folder=$2
mkdir -p "$folder/lib"
strip --strip-debug -o "$folder/hostile" "$program"
for library in $(ldd "$program" | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p') /lib64/ld-linux-x86-64.so.2; do
    strip --strip-unneeded -o "$folder/lib/$(basename "$library")" "$library"
done
cat >"$folder/run.sh" <<'END'
#!/bin/sh
# run.sh SECONDS JOBS [FIRST-SEED]: prints the total counts. The exit code is 0 if nothing was found. The file
# found/job-N.txt has the last words of each child that ended.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/found"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:symbolize=0:verify_asan_link_order=0"
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib" "$here/hostile" --seconds "$1" --jobs "$2" \
    --seed "${3:-10000000}" --sets 1024 --log "$here/found"
END
chmod +x "$folder/run.sh"
