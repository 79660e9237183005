/* fake_llvm.c - a library that defines a symbol of LLVM, which all libraries of the process can see. test_jit_host.c
 * uses it. */
void *LLVMContextCreate(void);
void *LLVMContextCreate(void) { return 0; }
