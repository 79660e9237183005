kiln help hosts
