# The line that a sweep ends with runs.
line=$(kiln tune add -v wide -s prime | tail -n 1)
$line | head -n 1 | sed 's/  .*//'
