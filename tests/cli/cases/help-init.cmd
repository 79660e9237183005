kiln help init
