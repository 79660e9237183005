# needs bash
cat >try.sh <<'END'
source <(kiln completion bash)
try() { # what is offered at the end of the words
    COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
    # As bash splits them: = and : are words of their own.
    read -ra COMP_WORDS <<<"$(sed 's/\([=:]\)/ \1 /g' <<<"$COMP_LINE")"
    [[ $COMP_LINE == *[[:space:]] ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _kiln_complete
    echo "$*| ${COMPREPLY[*]}"
}
try "kiln t"
try "kiln run --no-"
try "kiln show ad"
try "kiln run add -v "
try "kiln tune add --variants pl"
try "kiln run add -v plain -p BLOCK=1"
try "kiln run add --size "
try "kiln run add -s pr"
try "kiln run add --log-level=i"
try "kiln cache c"
try "kiln run add --device s"
try "kiln completion "
END
bash try.sh
