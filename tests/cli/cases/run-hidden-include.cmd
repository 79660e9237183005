# exit 6
# Neither joined lines nor a macro's text nor the name of a source hides an #include from the rules of what may be read.
echo 'MUST NOT BE SEEN' >../secret.h
spec() {
    printf 'kiln: 1\nname: hidden\nsource: %s\nsizes: {tiny: {N: 1}}\nparams: {X: [%s]}\n' "$1" "$2"
    printf 'buffers: {y: {type: f32, shape: [N], out: true}}\nlaunch: {kernel: k, grid: [1], block: [1], args: [y]}\n'
}
printf '#inc\\\nlude "%s/../secret.h"\nextern "C" __global__ void k(float *y) { *y = 1; }\n' "$PWD" >a.cu
printf 'R"x( */\n#include "%s/../secret.h"\n//)x"\n' "$PWD" >b.cu
printf 'extern "C" __global__ void k(float *y) { *y = 1; }\n' >>b.cu
spec a.cu 1 >a.yaml
spec b.cu '"/*"' >b.yaml
spec b.cu '"R\"y("' >c.yaml
spec b.cu '"1\n#include \"x\""' >d.yaml
spec b.cu '"1 \\"' >e.yaml
spec '"b\n.cu"' 1 >f.yaml
spec b.cu '"1 ??/"' >g.yaml
printf 'int i = 0'"'"'a /*'"'"';\n#include "%s/../secret.h"\n//*/\n' "$PWD" >h.cu
printf 'import "%s/../secret.h";\n' "$PWD" >i.cu
spec h.cu 1 >h.yaml
spec i.cu 1 >i.yaml
for name in a b c d e f g h i; do
    kiln run $name.yaml
    code=$?
    test $code = 6 || exit $code
done
exit $code
