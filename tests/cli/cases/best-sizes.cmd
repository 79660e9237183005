# The sizes of `best` are those of `tune`: without a GPU and without a device or sizes by name, the first set.
unset KILN_DEVICE
export KILN_LIBCUDA=/nowhere/libcuda.so.1
one="--variants plain -p BLOCK=32 -p ITEMS=1"
kiln best add
kiln best add --json | grep size_set
kiln tune add $one -q >/dev/null
kiln tune add $one --json | grep size_set | head -n 2
kiln best add | sed -E 's/[0-9]{4}-[0-9]+-[0-9]+$/DATE/'
# A choice of the user, and a device by name.
kiln best add -s tiny --json | grep size_set
kiln best add --device sim:h200 | sed -n 2,3p
kiln best add -s N=300 | sed -n 2p
# A sweep of `best` takes them too. If only the small sizes are known, these are shown.
kiln best add -v plain -p BLOCK=64 -p ITEMS=1 --tune 60 | sed -E 's/, verified//'
kiln tune add --variants plain -p BLOCK=128 -p ITEMS=1 --device sim:h200 -q >/dev/null
kiln best add -v plain -p BLOCK=128 | sed -E 's/[0-9]{4}-[0-9]+-[0-9]+$/DATE/'
