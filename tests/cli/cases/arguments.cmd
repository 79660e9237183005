# exit 11
# Arguments: structures by value, places in buffers, null and lists of pointers; and arguments that do not fit.
cat >many.cu <<'END'
struct inner { char tag; short low; };
struct shape { int rows; double scale; inner in; float2 z; const float *data; unsigned char raw[3]; };

extern "C" __global__ void many(shape s, const float *half, const float *none, float *const *parts, float *y, int n,
                                unsigned key)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n || none)
        return;
    bool right = s.rows == n && s.in.tag == 7 && s.in.low == -2 && s.raw[0] == 1 && s.raw[2] == 255 && key == 0x01020304;
    float value = right ? (float)s.scale * s.data[i] + s.z.x * s.z.y : -1;
    for (int k = 0; k < 3; k++)
        value += parts[k] ? parts[k][i % 4] : 100;
    y[i] = value + half[i % 4];
}
END
cat >many.yaml <<'END'
kiln: 1
name: many
source: many.cu
sizes: {default: {N: 8}}
params: {BLOCK: [8]}
buffers:
  x: {type: f32, shape: [N], fill: {iota: [0]}}
  y: {type: f32, shape: [N], out: true}
launch:
  kernel: many
  grid: [1]
  block: [BLOCK]
  args:
    - struct:
        rows: [i32, N]
        scale: [f64, 10]
        in: {struct: {tag: [i8, 7], low: [i16, -2]}}
        z: [complex64, 0.5, 2]
        data: x
        raw: {bytes: 01 02 ff}
    - x + N // 2
    - null
    - pointers: [x, null, x + 4]
    - y
    - N
    - {bytes: "04030201"}
END
kiln run many.yaml --output y=y.npy
tail -c 32 y.npy | od -An -tf4
# A structure that is one pointer, as classes around pointers are.
cat >holder.cu <<'END'
struct holder { const float *data; };
extern "C" __global__ void twice(holder x, float *y) { y[threadIdx.x] = 2 * x.data[threadIdx.x]; }
END
cat >holder.yaml <<'END'
kiln: 1
name: holder
source: holder.cu
sizes: {default: {N: 4}}
buffers: {x: {type: f32, shape: [N], fill: {iota: [0]}}, y: {type: f32, shape: [N], out: true}}
launch: {kernel: twice, grid: [1], block: [N], args: [{struct: {data: x}}, y]}
END
kiln run holder.yaml --output y=z.npy
tail -c 16 z.npy | od -An -tf4
sed 's/in: .*/in: [i16, 7]/; s/complex64/f64/; s/, 0.5, 2/, 0.5, 2, 3/' many.yaml >large.yaml
kiln run large.yaml
sed 's/N \/\/ 2/N + 1/' many.yaml >behind.yaml
kiln run behind.yaml
sed 's/tag: .i8, 7/tag: [i8, 200/' many.yaml >range.yaml
kiln run range.yaml
sed 's/    - N$/    - null/' many.yaml >pointer.yaml
kiln run pointer.yaml
