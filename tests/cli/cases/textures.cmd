# exit 11
# A texture of a buffer's memory, and a texture of a CUDA array: run, checked, captured and run again; and rows that no
# device accepts.
cat >tex.cu <<'END'
extern "C" __global__ void blur(cudaTextureObject_t in, float *out, int w)
{
    out[blockIdx.x * w + threadIdx.x] = tex2D<float>(in, threadIdx.x + 1.0f, blockIdx.x + 0.5f);
}
END
cat >tex.yaml <<'END'
kiln: 1
name: tex
source: tex.cu
sizes: {default: {H: 2, W: 8}}
buffers: {x: {type: f32, shape: [H, W], fill: {iota: [0]}}, y: {type: f32, shape: [H, W], out: true}}
verify: {y: {against: {variant: memory}, exact: true}}
variants:
  memory: {launch: {kernel: blur, grid: [H], block: [W], args: [{texture: x, filter: linear}, y, W]}}
  array: {launch: {kernel: blur, grid: [H], block: [W], args: [{texture: x, filter: linear, array: true}, y, W]}}
END
kiln check tex.yaml
kiln run tex.yaml -v array --output y=y.npy --capture captured | grep -E 'answer|code'
tail -c 64 y.npy | od -An -tf4
kiln run captured/tex-000/tex.yaml -v array | grep answer
kiln init tex.cu | sed -n '/^launch/,$p'
kiln run tex.yaml -v memory -s W=7
