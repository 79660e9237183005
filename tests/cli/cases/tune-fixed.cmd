kiln tune add --variants plain,wide -p ITEMS=8 -p BLOCK=64 --top 1
