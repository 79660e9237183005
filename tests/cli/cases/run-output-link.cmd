# What a link leads to is written; the link stays.
touch real.npy
ln -s real.npy link.npy
kiln run add -q -o z=link.npy >/dev/null && test -L link.npy && test -s real.npy && echo kept
