# Registers depend on the compiler. The form of the table, the threads and the cliffs of a block of 1024 do not.
kiln study occupancy add --over BLOCK --arch sm_80 | sed -E 's/  +[0-9]+  +0 B  /  N  0 B  /; s/  \+[0-9]+  +\+/  +N  +/'
kiln study occupancy add --over ITEM
kiln study occupancy add --over BLOCK -p BLOCK=32
echo $?
