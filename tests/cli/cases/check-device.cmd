# exit 18
kiln check add --device cuda:0 2>/dev/null || { code=$?; [ $code = 7 ] && exit 18; exit $code; }
