# exit 2
# needs python3
# Buffers of bf16, floats of 8, 6 and 4 bits, bool and complex numbers: from files as numpy writes them, and back into files.
cat >types.cu <<'END'
#include <cuda_bf16.h>
#include <cuda_fp8.h>

extern "C" __global__ void types(const __nv_bfloat16 *b, const __nv_fp8_e4m3 *e, const bool *m, const float2 *c,
                                 const unsigned char *four, const unsigned char *power, __nv_bfloat16 *twice,
                                 __nv_fp8_e5m2 *wide, bool *big, float2 *conjugate, unsigned char *six,
                                 unsigned char *double_power, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
    float x = __bfloat162float(b[i]);
    twice[i] = __float2bfloat16(2 * x);
    wide[i] = __nv_fp8_e5m2(float(e[i]));
    big[i] = m[i] && x > 0;
    conjugate[i] = make_float2(c[i].x, WRONG - c[i].y);
    six[i] = four[i] << 2; /* e2m1 and e2m3 have the same bias */
    double_power[i] = power[i] + (power[i] < 255);
}
END
cat >types.yaml <<'END'
kiln: 1
name: types
source: types.cu
sizes: {default: {N: 4}}
params: {BLOCK: [32], WRONG: [0, 1]}
buffers:
  b: {type: bf16, file: b.npy}
  e: {type: f8e4m3, file: e.npy}
  m: {type: bool, shape: [N], file: m.npy}
  c: {type: complex64, shape: [N], fill: {uniform: [-1, 1]}}
  four: {type: f4e2m1, file: four.npy}
  power: {type: ue8m0, file: power.npy}
  twice: {type: bf16, shape: [N], out: true}
  wide: {type: f8e5m2, shape: [N], out: true}
  big: {type: bool, shape: [N], out: true}
  conjugate: {type: complex64, shape: [N], out: true}
  six: {type: f6e2m3, shape: [N], out: true}
  double_power: {type: ue8m0, shape: [N], out: true}
launch: {kernel: types, grid: [1], block: [BLOCK], args: [b, e, m, c, four, power, twice, wide, big, conjugate, six, double_power, N]}
verify:
  twice: {against: {file: twice.npy}}
  wide: {against: {file: wide.npy}}
  big: {against: {file: big.npy}}
  conjugate: {against: {variant: default}}
  six: {against: {file: six.npy}}                    # f32
  double_power: {against: {file: double_power.npy}}  # the bits, as u1
END
cat >make.py <<'END'
import struct
def npy(name, descr, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    open(name, 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + data)
npy('b.npy', '<V2', '(4,)', struct.pack('<4H', 0x3f80, 0xc000, 0x4049, 0))
npy('twice.npy', '<V2', '(4,)', struct.pack('<4H', 0x4000, 0xc080, 0x40c9, 0))
npy('e.npy', '|V1', '(4,)', bytes([0x38, 0xb8, 0x7e, 0x01]))  # 1, -1, 448, 2^-9
npy('wide.npy', '|V1', '(4,)', bytes([0x3c, 0xbc, 0x5f, 0x18]))
npy('four.npy', '|V1', '(4,)', bytes([1, 15, 2, 8]))  # 0.5, -6, 1, -0
npy('six.npy', '<f4', '(4,)', struct.pack('<4f', 0.5, -6, 1, 0))
npy('power.npy', '|V1', '(4,)', bytes([0, 127, 253, 255]))  # 2^-127, 1, 2^126, nan
npy('double_power.npy', '|u1', '(4,)', bytes([1, 128, 254, 255]))
npy('m.npy', '|b1', '(4,)', bytes([1, 1, 0, 1]))
npy('big.npy', '|b1', '(4,)', bytes([1, 0, 0, 0]))
END
python3 make.py
kiln run types.yaml --output wide=w.npy --output big=g.npy --output twice=t.npy --output six=s.npy
tail -c 4 w.npy | od -An -tx1
tail -c 4 s.npy | od -An -tx1
cmp t.npy twice.npy && head -c 66 t.npy | tail -c 56; echo
cmp w.npy wide.npy && cmp g.npy big.npy && echo the same files
kiln run types.yaml -p WRONG=1
sed -i 's/type: f8e4m3, //' types.yaml
kiln run types.yaml
