kiln inspect add --json --arch sm_80 | grep -E '"(arch|limited_by|name|symbol|spec|variant)"' | sed 's/"limited_by.*/.../'
