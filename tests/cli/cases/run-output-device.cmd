# exit 5
# A device is neither written nor replaced.
ln -s /dev/full full
kiln run add -q -o z=full
code=$?
test -c /dev/full || echo "/dev/full is no device any more"
exit $code
