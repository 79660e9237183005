#!/bin/sh
# devices.sh DEVICES_PROGRAM NVIDIA_SMI tests which devices a process can see. Each line below has the values of
# $KILN_SIM_DEVICES and $CUDA_VISIBLE_DEVICES ("unset" means not set), and the expected output of the program.
program=$1 smi=$2 failed=0
uuid() { KILN_SIM_DEVICES=3 "$smi" --query-gpu=uuid --format=csv,noheader | sed -n "$1p"; }
is() {
    if [ "$1" = "$2" ]; then return; fi
    echo "$3: '$1', not '$2'"
    failed=1
}
while IFS='|' read -r devices visible expected; do
    if [ "$visible" = unset ]; then
        got=$(KILN_SIM_DEVICES=$devices "$program" list 2>/dev/null)
    else
        got=$(KILN_SIM_DEVICES=$devices CUDA_VISIBLE_DEVICES=$visible "$program" list 2>/dev/null)
    fi
    is "$got" "$expected" "KILN_SIM_DEVICES=$devices CUDA_VISIBLE_DEVICES=$visible"
done <<END
|unset|0000:00:00.0
1|unset|0000:00:00.0
3|unset|0000:00:00.0 0000:01:00.0 0000:02:00.0
3|1,0|0000:01:00.0 0000:00:00.0
3| 2 , 1 |0000:02:00.0 0000:01:00.0
3|2,3,1|0000:02:00.0
3|0,-1,1|0000:00:00.0
3|$(uuid 2),0|0000:01:00.0 0000:00:00.0
3|$(uuid 3 | cut -c1-12)|0000:02:00.0
3|GPU-|CUDA_ERROR_NO_DEVICE
3|1,1|CUDA_ERROR_NO_DEVICE
3||CUDA_ERROR_NO_DEVICE
3|-1|CUDA_ERROR_NO_DEVICE
0|unset|CUDA_ERROR_INVALID_VALUE
17|unset|CUDA_ERROR_INVALID_VALUE
two|unset|CUDA_ERROR_INVALID_VALUE
END
# NVML also lists devices that $CUDA_VISIBLE_DEVICES hides, and each has its own bus id.
got=$(KILN_SIM_DEVICES=2 CUDA_VISIBLE_DEVICES= "$smi" --query-gpu=index,pci.bus_id,count --format=csv,noheader)
is "$got" "0, 00000000:00:00.0, 2
1, 00000000:01:00.0, 2" "nvidia-smi"
is "$(KILN_SIM_DEVICES=16 "$smi" -L | sort -u -k8 | wc -l)" 16 "nvidia-smi -L"
exit $failed
