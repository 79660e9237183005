kiln sim run --quiet --device h200 nvidia-smi -L | sed 's/GPU-[-0-9a-f]*/UUID/'
kiln sim run --quiet --device a100 nvidia-smi --query-gpu=index,name,compute_cap --format=csv
KILN_SIM_MEMORY=1048576000 kiln sim run --quiet nvidia-smi --query-gpu=memory.total,memory.used --format=csv,noheader,nounits
kiln sim run --quiet nvidia-smi --query-gpu=power; echo "exit $?"
kiln sim run --quiet nvidia-smi -x; echo "exit $?"
kiln sim run --quiet --device nothing sh -c 'echo started'; echo "exit $?"
kiln sim run --quiet sh -c 'KILN_SIM_DEVICE=nothing nvidia-smi'; echo "exit $?"
# Every command takes the name of a profile with and without `sim:`.
kiln sim run --quiet --device sim:t4 nvidia-smi -L | sed 's/GPU-[-0-9a-f]*/UUID/'
kiln sim run --quiet --device sim nvidia-smi -L | sed 's/GPU-[-0-9a-f]*/UUID/'
export KILN_PATH="$SPECS:$SPECS/../../../specs"
kiln run add --no-verify --device t4 | grep device
kiln run add --no-verify --device generic | grep device
# An architecture that no profile has: the nearest one, with a warning.
kiln run add --no-verify --arch sm_89 | grep device
kiln run add --no-verify --arch sm_86 | grep device
kiln run add --no-verify --arch sm_87 --quiet | grep device
# An architecture, and a name that is nearly right.
kiln sim run --quiet --device sim:sm_80 nvidia-smi -L | sed 's/GPU-[-0-9a-f]*/UUID/'
kiln sim run --quiet --device sm_80 nvidia-smi -L | sed 's/GPU-[-0-9a-f]*/UUID/'
kiln run add --device h20; echo $?
