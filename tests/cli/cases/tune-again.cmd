# The command in the last line of a sweep runs.
line=$(kiln tune add -v wide -s prime | tail -n 1)
$line | head -n 1 | sed 's/  .*//'
