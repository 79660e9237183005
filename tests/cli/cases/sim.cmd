kiln sim coverage | head -n 4
kiln sim coverage | sed -n 's/^\(mma\|fma\|ldmatrix\) .*/\1/p'
kiln sim coverage --json | grep -c '"name"' | sed 's/[0-9]*/some/'
kiln sim coverage --json | sed -n '/"name": "elect"/,/}/p;/"refused"/,+1p'
kiln sim coverage --page | head -n 3
