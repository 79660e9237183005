kiln run ad 2>&1 | sed 's/earched .*/earched .../'
kiln run nothing 2>&1 | sed 's/earched .*/earched .../'
kiln run nothing 2>/dev/null
echo $?
