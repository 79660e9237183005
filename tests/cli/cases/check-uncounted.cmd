# More configurations than can be counted: some of them are drawn.
kiln check hard --strategy random -m 2 --no-verify
kiln check hard -m 2 --no-verify
