# needs python3
# Sizes that are extents of files, and files whose names have sizes in them.
cat >double.cu <<'END'
extern "C" __global__ void twice(const float *a, float *b, int rows, int columns)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < rows * columns)
        b[i] = 2 * a[i];
}
END
cat >double.yaml <<'END'
kiln: 1
name: double
source: double.cu
sizes: {default: {SET: 1, ROWS: "a.shape[0]", COLUMNS: "a.shape[1]"}}
bake: [COLUMNS]
params: {BLOCK: [32, 64]}
buffers:
  a: {file: "data/{SET}.npy"}
  b: {type: f32, shape: [ROWS, COLUMNS], out: true}
launch: {kernel: twice, grid: [ceil_div(ROWS * COLUMNS, BLOCK)], block: [BLOCK], args: [a, b, ROWS, COLUMNS]}
verify:
  b: {against: {file: "data/want-{SET}.npy"}}
END
mkdir data
python3 - <<'END'
import struct
def npy(name, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    data = struct.pack('<%df' % len(values), *values)
    open(name, 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + data)
for name, rows, columns in ((1, 3, 4), (2, 5, 7)):
    values = list(range(rows * columns))
    npy('data/%d.npy' % name, (rows, columns), values)
    npy('data/want-%d.npy' % name, (rows, columns), [2 * v for v in values])
END
kiln show double.yaml | grep sizes -A 2
kiln run double.yaml | head -4
kiln run double.yaml -s SET=2 | head -4
kiln tune double.yaml -s SET=2 --store s.db >first
kiln tune double.yaml -s SET=2 --store s.db >again
diff first again | grep -c verified
grep -h 'configurations' first again
kiln run double.yaml -s ROWS=2
sed -i 's/want-{SET}/same-{SET}/' double.yaml && cp data/want-2.npy data/same-2.npy
kiln tune double.yaml -s SET=2 --store s.db | grep configurations
kiln run double.yaml -s SET=3 2>&1 | sed 's|; searched.*||'
