cp "$SPECS/init/saxpy.cu" "$SPECS/init/matmul.cu" "$SPECS/init/sums.cu" .
kiln init saxpy.cu > saxpy.yaml && cat saxpy.yaml && kiln tune saxpy.yaml | grep configurations
kiln init matmul.cu -o matmul.yaml && cat matmul.yaml && kiln tune matmul.yaml | grep configurations
kiln init sums.cu --kernel total > total.yaml && kiln tune total.yaml | grep configurations
kiln init sums.cu | sed -n '/^buffers/,$p'
