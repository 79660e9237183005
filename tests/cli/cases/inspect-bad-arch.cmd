kiln inspect add --arch sm_1
echo $?
kiln inspect add --arch hopper
echo $?
