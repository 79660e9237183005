kiln sim run --quiet --device h200 nvidia-smi -L | sed 's/GPU-[-0-9a-f]*/UUID/'
kiln sim run --quiet --device a100 nvidia-smi --query-gpu=index,name,compute_cap --format=csv
KILN_SIM_MEMORY=1048576000 kiln sim run --quiet nvidia-smi --query-gpu=memory.total,memory.used --format=csv,noheader,nounits
kiln sim run --quiet nvidia-smi --query-gpu=power; echo "exit $?"
kiln sim run --quiet nvidia-smi -x; echo "exit $?"
kiln sim run --quiet --device nothing sh -c 'echo started'; echo "exit $?"
kiln sim run --quiet sh -c 'KILN_SIM_DEVICE=nothing nvidia-smi'; echo "exit $?"
