kiln help >&-
echo $?
kiln run add >&-
echo $?
kiln run add 2>&- >/dev/null
echo $?
