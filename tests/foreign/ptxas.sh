#!/bin/sh
# ptxas.sh PTXAS: tests the stand-in for ptxas that keeps PTX.
set -eu
ptxas=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '// made by hand\n.version 8.0\n.target sm_80\n' > 'a b.ptx'
"$ptxas" -lineinfo -v --gpu-name=sm_90a 'a b.ptx' -o out.cubin
cmp 'a b.ptx' out.cubin
"$ptxas" -arch sm_80 -O 3 'a b.ptx'
cmp 'a b.ptx' elf.o
# The output may replace the input, also under another name of the same file.
ln -s 'a b.ptx' other
"$ptxas" 'a b.ptx' -o other
[ "$(grep -c '' 'a b.ptx')" = 3 ]
"$ptxas" --version | grep -q '^Cuda compilation tools, release [0-9]'
printf '\177ELF' > machine
for wrong in machine nothing ''; do
    if "$ptxas" $wrong -o not 2> /dev/null; then
        echo "'$wrong' was no error"
        exit 1
    fi
done
