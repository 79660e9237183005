# exit 4
kiln run add >/dev/null; kiln cache show ffffffffffffffffffffffffffffffff
