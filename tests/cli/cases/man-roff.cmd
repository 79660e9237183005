# needs groff
kiln man | groff -man -Tascii -ww >/dev/null
