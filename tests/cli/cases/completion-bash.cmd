# needs bash
cat >try.sh <<'END'
source <(kiln completion bash)
compopt() { echo "left to readline: $*"; }
try() { # what is offered at the end of the words; completion-bash-typed.cmd has it in an interactive shell
    COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
    _kiln_complete kiln "${COMP_LINE##*[[:space:]=:]}" # readline takes = and : for the end of a word
    echo "$*| ${COMPREPLY[*]}"
}
try "kiln t"
try "kiln run --no-"
try "kiln show ad"
try "kiln run add -v "
try "kiln tune add --variants pl"
try "kiln run add -v plain -p BLOCK=1"
try "kiln run add -v wide -p BLOCK="
try "kiln tune add --variants=plain,wide -p ITEMS="
try "kiln tune add -p BLOCK="
try "kiln tune add --strategy "
try "kiln compare-strategies --strategies s"
try "kiln run add --size "
try "kiln run add -s pr"
try "kiln run add --log-level=i"
try "kiln cache c"
try "kiln run add --device s"
try "kiln completion "
try "kiln run --output z="
try "kiln run --cache-dir "
try "kiln run ./ad"
try "kiln run add -v 'pl"
try "kiln run 'add' -v pl"
END
bash try.sh
