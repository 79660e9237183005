kiln profile add --lines | sed -n '/^  line/,$p' | sed -E 's/^( +[-0-9]+) +[0-9,]+ +[0-9.]+/\1 N N/'
