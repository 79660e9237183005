# So many of each variant; without --each of all together.
kiln check add --each -m 2 -s tiny
kiln check add -v plain,wide --each -m 1 -s tiny --json
kiln check add -m 2 -s tiny
