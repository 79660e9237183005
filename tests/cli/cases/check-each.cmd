# With --each the given number of configurations of each variant is checked; without --each, of all variants together.
kiln check add --each -m 2 -s tiny
kiln check add -v plain,wide --each -m 1 -s tiny --json
kiln check add -m 2 -s tiny
