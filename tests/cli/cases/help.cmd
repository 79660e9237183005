kiln help
