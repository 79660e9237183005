# What is said depends on the machine; that it is said does not.
kiln run add --device cuda:77 2>err
echo $?
grep -c '^kiln: ' err
