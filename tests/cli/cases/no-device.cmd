# The text of the message depends on the machine, but there is a message on every machine.
kiln run add --device cuda:77 2>err
echo $?
grep -c '^kiln: ' err
