# exit 2
# A search on a "GPU" (the driver of `kiln sim run`) begins with estimates, whose code it uses too.
unset KILN_DEVICE
on_gpu() { kiln sim run --quiet kiln tune "$@" --no-store --no-finals --log-level info; }
on_gpu add -m 100 --estimates sim:h200 2>&1 | grep -E 'estimates|cache|as many|all were'
on_gpu add -m 3 --estimates sim 2>&1 | grep estimates
on_gpu add -m 4 --estimates sim:nothing 2>&1 | grep nothing
# A search that learns nothing needs none.
on_gpu add -m 2 --estimates sim --strategy random 2>&1 | grep -c estimates
kiln tune add -m 4 --estimates sim --device sim:h200 2>&1 | grep estimates
kiln tune add --estimates sim
