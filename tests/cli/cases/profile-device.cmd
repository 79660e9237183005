# exit 4
# What cannot be profiled: a variant that is not there, a device that does not count.
kiln profile add -v nothing
