# exit 5
# A link is not written through: the message says where it leads. The link and its file stay.
touch real.npy
ln -s real.npy link.npy
kiln run add -q -o z=link.npy
code=$?
test -L link.npy && test ! -s real.npy && echo kept
exit $code
