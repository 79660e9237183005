kiln tune add | sed -E -e 's/^( +[0-9]+)  .*(plain|wide)  .*/\1  .../' -e '/The best of each/,/^$/d' \
    -e 's/-v .* -p ITEMS=[0-9]+/.../'
