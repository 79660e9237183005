# exit 2
cat > small.profile <<'END'
title: A device of my own
sm_count: 1000000
smcount: 3
clock_mhz: fast
shared_carveouts_kib: 8 4
this is no line
END
kiln run add --device sim:small.profile
rm small.profile
kiln run add --device sim:h2000
