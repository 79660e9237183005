# LeakSanitizer guesses where the thread-local storage of a loaded library is. Behind `kiln doctor`, which loads LLVM, gcc 12's
# guess was an address in the first page (Debian 12), and the process faulted. Without this interceptor it does not guess.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}intercept_tls_get_addr=0"
kiln doctor >out
code=$?
grep -c . out | grep -q '[1-9]' && echo "$code"
grep -c 'llvm .*simulated kernels' out
KILN_NVRTC=/nowhere/libnvrtc.so kiln doctor >out
echo $?
grep -o '^MISSING  nvrtc' out
