kiln doctor >out
code=$?
grep -c . out | grep -q '[1-9]' && echo "$code"
grep -c 'llvm .*simulated kernels' out
KILN_NVRTC=/nowhere/libnvrtc.so kiln doctor >out
echo $?
grep -o '^MISSING  nvrtc' out
