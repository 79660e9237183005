unset LD_LIBRARY_PATH
kiln sim run nothing-there; echo "exit $?"
printf '\177ELF\2\1' >broken; kiln sim run ./broken; echo "exit $?"
kiln sim run; echo "exit $?"
kiln sim env more; echo "exit $?"
kiln sim env --device a100 | sed 's/=.*kiln/=...kiln/; s/:.*/:.../'
(kiln sim env; echo 'case $PATH in */kiln/bin:*) echo the shell has it ;; esac') | sh
printf '#!/bin/sh\necho "a script: $1"\n' >script; chmod +x script; kiln sim run ./script --help
kiln sim run --quiet --device h200 --check sh -c 'echo "$KILN_SIM_DEVICE $KILN_SIM_CHECK $KILN_SIM_CHECK_EXIT $0"; exit 3' --json
kiln sim env --devices 3 --device h200 | tail -n 2
kiln sim run --quiet --devices 2 sh -c 'echo "$KILN_SIM_DEVICES devices"'
kiln sim env --devices 17; echo "exit $?"
