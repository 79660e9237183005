kiln help exit-codes
