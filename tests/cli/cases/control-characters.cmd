# The text of a spec cannot move the cursor of a terminal. hostile-text.cmd tries all ways to do so.
printf 'kiln: 1\nname: esc\ntitle: "red \\e[31m"\nsource: add.cu\nsizes: {tiny: {N: 3}}\nbuffers: {x: {type: f32, shape: [N]}}\nvariants: {v: {params: {BLOCK: [32], ITEMS: [1]}, launch: {kernel: add, grid: [1], block: [BLOCK], args: [x, x, x, N]}}}\n' >esc.yaml
kiln show ./esc.yaml | tr '\033' '!' | head -n 1
