kiln run ad 2>&1 | sed 's/ooked in .*/ooked in .../'
kiln run nothing 2>&1 | sed 's/ooked in .*/ooked in .../'
kiln run nothing 2>/dev/null
echo $?
