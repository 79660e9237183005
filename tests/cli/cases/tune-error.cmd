# The front of time and error: a longer interval of mri's rotation takes less time and errs more.
kiln tune mri -v rotation -p BLOCK=128 -p BLOCK_X=32 -p POINTS=4 -p UNROLL=4 -s NX=64 -s NY=2 -s NZ=2 -s SAMPLES=1024 \
    -s TRAJECTORY=lines -s LINE=256 --device sim:h200 --no-store --objective time --objective error >out
sed -n '/^Pareto front/,/^$/s/.*\(INTERVAL=[0-9]*\)$/\1/p' out | sed -n '1p;$p'
grep -o 'configurations .* failed' out
