#!/bin/sh
# Makes the .ptx of the planted bugs anew: needs nvcc. Names of headers lose their folders, which differ by machine.
set -e
cd "$(dirname "$0")"
for name in memory order async cluster missed script; do
    nvcc -ptx -lineinfo -arch="compute_$(case "$name" in async | cluster) echo 90 ;; *) echo 80 ;; esac)" "$name.cu" -o "$name.ptx"
    sed -i -E 's|(\.file[[:space:]]+[0-9]+ )"/.*/([^/"]+)"|\1"\2"|' "$name.ptx"
done
