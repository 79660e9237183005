# Headers of the host: Kiln provides small ones. For the others the message says what to do.
spec() {
    cat >"$1.yaml" <<EOF
kiln: 1
name: $1
source: $1.cu
sizes: {default: {N: 1}}
buffers: {y: {type: f32, shape: [N], out: true}}
launch: {kernel: k, grid: [1], block: [1], args: [y]}
EOF
}
kernel() { printf 'extern "C" __global__ void k(float *y) { *y = %s; }\n' "$1"; }
try() {
    spec "$1"
    { [ -z "$2" ] || printf "#include <%s>\n" $2; kernel "$3"; } >"$1.cu"
    echo "== $2 $3"
    kiln run "$1.yaml" --no-verify --output y=y.npy 2>&1 | grep -E '^ *answer|^\(' | sed "s|/[^ ]*/include|FOLDER|"
    [ -e y.npy ] && tail -c 4 y.npy | od -An -t f4 | tr -d ' '
    rm -f y.npy
}
try a "stdint.h math.h stdio.h assert.h stdlib.h string.h float.h limits.h stdbool.h stddef.h inttypes.h" \
    "sizeof(uint16_t) + (INFINITY > FLT_MAX) + CHAR_BIT + (M_PI > 3)"
try b "cstdint cmath cstdio cassert cstdlib cstring cfloat climits cstddef" "sizeof(std::uint64_t) + std::sqrt(4.0f)"
try c "cuda.h cuda_runtime.h cuda_fp16.h" "sizeof(CUtensorMap)"
try d "" "INFINITY"
try e "" "sizeof(uint32_t)"
try e "" "sizeof(uint)"
try e "stdlib.h" "sizeof(uint) + sizeof(ushort)"
try f "" "std::max(1, 2)"
try g "vector string iostream" "std::max(1, 2)"
try l "type_traits tuple utility cmath" \
    "std::is_same<int, float>::value + std::get<1>(std::make_tuple(1, 2)) + std::pair<int, int>(1, 2).first + std::sqrt(4.f)"
try m "vector" "std::vector<int>(3).size()"
try h "helper_math.h" 1
# A header that declares functions of the host, as cuda_profiler_api.h does (which not every set of CUDA headers has): they are left out.
printf '#include "driver_types.h"\nextern "C" { extern __host__ cudaError_t CUDARTAPI profilerStart(void); }\n' >profiler.h
try i "profiler.h" 1
# A function that a kernel calls, and that is the host's by what it calls.
echo 'int f() { return getpid(); }' >more
spec j
{ cat more; kernel "f()"; } >j.cu
kiln run j.yaml 2>&1 | grep '^('
