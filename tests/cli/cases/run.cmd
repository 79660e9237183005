kiln run add
