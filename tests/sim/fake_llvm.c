/* fake_llvm.c - a library with a symbol of LLVM's, for all libraries of the process to see: test_jit_host.c. */
void *LLVMContextCreate(void);
void *LLVMContextCreate(void) { return 0; }
