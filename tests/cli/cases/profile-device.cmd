# exit 4
# Errors of kiln profile: a variant that does not exist, and a device that does not count.
kiln profile add -v nothing
