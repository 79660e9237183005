kiln inspect add --arch sm_90 | sed -E '1!s/[0-9.]+( (B|KiB|%))?/N/g'
kiln inspect add --source | head -n 3
kiln inspect add --ptx | grep -c '.visible .entry add('
kiln inspect add --ptx=add.ptx --cubin=add.cubin | head -n 1
grep -c '.visible .entry add(' add.ptx
head -c 4 add.cubin | od -An -c
