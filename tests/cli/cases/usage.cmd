for line in "run" "run a b" "run add --param" "run add -p" "run add -p BLOCK" "run add -p =3" "run add --json=1" \
    "run add -j 0" "run add -j x" "run add --budget -1" "run add --budget nan" "run add --memory-limit 3Q" \
    "run add -s tiny -s prime" "run add --log-level loud" "run add --input x" "run add --flush-l2 --keep-l2" "cache" \
    "cache lst" "cache show" "cache gc" "cache list 1" "cache gc --max-size much" "completion tcsh" "completion" \
    "inspect add --cubin --json" "tune add --top 0" "tune add --lead-only"; do
    kiln $line
    echo "$line: $?"
done
