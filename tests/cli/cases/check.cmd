kiln check add -v plain
