# exit 11
kiln tune wrong -v huge | cat; kiln tune wrong -v huge >/dev/null
