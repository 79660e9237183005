kiln tune add --no-early-stop | sed -E -e 's/(plain|wide)  .*/.../' -e '/The best of each/,/^$/d' -e 's/-v .* -p ITEMS=[0-9]+/.../'
