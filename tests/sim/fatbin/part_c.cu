// part_c.cu - has a constant. README.md says how the fat binaries beside it are made.
__constant__ int bias = 100;
