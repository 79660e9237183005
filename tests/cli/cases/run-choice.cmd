kiln run add -v wide -p BLOCK=64 -pITEMS=4 -s prime --no-measure
kiln run add --variant=wide --size N=5 --no-verify
kiln run -v plain -- add
