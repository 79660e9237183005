# exit 6
# needs python3
# A reference that a command computes: refused unless it is allowed, given a folder of its own, which is then removed.
export TMPDIR=$PWD/temporary && mkdir temporary
cat >scale.cu <<'END'
extern "C" __global__ void scale(const float *x, float *y, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        y[i] = FACTOR * x[i];
}
END
cat >scale.yaml <<'END'
kiln: 1
name: scale
source: scale.cu
sizes: {default: {N: 6}}
params: {BLOCK: [32, 64], FACTOR: [2, 3]}
buffers:
  x: {type: f32, shape: [N], fill: {iota: [1, 0.5]}}
  y: {type: f32, shape: [N], out: true}
launch: {kernel: scale, grid: [1], block: [BLOCK], args: [x, y, N]}
verify: {y: {against: {command: python3 ref.py double}}}
END
cat >ref.py <<'END'
import array, os, sys
how, folder, sizes = sys.argv[1], sys.argv[2], sys.argv[3:]
if not os.path.isdir(folder):
    print('there is no folder ' + folder)
    sys.exit(1)
if how == 'fails':
    print('no module named numpy')
    sys.exit(3)
if how == 'hangs':
    os.system('sleep 1000')
data = open(folder + '/in/x.npy', 'rb').read()
head, values = data[:-24], array.array('f', data[-24:])
open('ran', 'a').write('%s %s %s\n' % (how, sizes, sorted(os.listdir(folder + '/in'))))
if how == 'short':
    head = head.replace(b'(6,)', b'(5,)')
if how in ('wide', 'whole'):
    head = head.replace(b"'<f4'", b"'<f8'").replace(b'(6,), }  ', b'(2, 3), }')
if how == 'whole':
    head = head.replace(b"'<f8'", b"'<i8'")
code = {'wide': 'd', 'whole': 'q'}.get(how, 'f')
if how != 'silent':
    open(folder + '/out/y.npy', 'wb').write(head + array.array(code, [2 * (int(v) if code == 'q' else v) for v in values]).tobytes())
END
kiln run scale.yaml
[ -e ran ] && echo "it ran"
kiln run scale.yaml --allow-commands | grep answer
kiln run scale.yaml --allow-commands -p FACTOR=3
cat ran
echo "--- once for a sweep" >&2
rm ran
echo "# a script that changed: no kept reference is its own" >>ref.py
kiln tune scale.yaml --allow-commands --no-store | grep configurations
cat ran
for how in wide whole fails silent short "double; touch shell" '$(touch shell)'; do
    echo "--- $how" >&2
    sed "s/ref.py double/ref.py $how/" scale.yaml >wrong.yaml
    kiln run wrong.yaml --allow-commands | grep answer
done
ls shell 2>/dev/null
echo "--- hangs" >&2
sed 's/python3 ref.py double/[python3, ref.py, hangs]/' scale.yaml >wrong.yaml
kiln run wrong.yaml --allow-commands --sample-timeout 4
sed 's/python3 ref.py double/absent-program/' scale.yaml >wrong.yaml
kiln run wrong.yaml --allow-commands
ls temporary
kiln run wrong.yaml
