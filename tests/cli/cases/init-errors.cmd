cp "$SPECS"/init/*.cu .
echo mine > taken.yaml
kiln init saxpy.cu -o taken.yaml; echo $?
cat taken.yaml
kiln init odd.cu -k f; echo $?
kiln init odd.cu -k h; echo $?
kiln init odd.cu -k nothing | sed -n '/^launch/,$p'
kiln init odd.cu -k missing; echo $?
kiln init wrong.cu; echo $?
kiln init nowhere.cu; echo $?
kiln init gemm.json; echo $?
echo 'int main() {}' > none.cu
kiln init none.cu; echo $?
