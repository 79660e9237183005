kiln run add -s N=4 --output z=z.npy --output x=x.npy >/dev/null || exit
kiln run add -s N=4 --input x=z.npy --output z=again.npy --no-verify | grep wrote
tail -c 16 z.npy | od -An -tf4
tail -c 16 again.npy | od -An -tf4
