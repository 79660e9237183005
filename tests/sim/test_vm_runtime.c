/* Tests structures that kernels pass to the device runtime by address. They need only the alignment of their
 * members. */
#include "vm_check.h"

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) cudaMemcpy3DAsync (.param .b64 p, .param .b64 stream);\n"
    ".extern .func (.param .b32 r) cudaFuncGetAttributes (.param .b64 p, .param .b64 f);\n"
    ".visible .entry copy(.param .u64 what) {\n.reg .b64 %d<2>;\nld.param.u64 %d0, [what];\nmov.b64 %d1, 0;\n"
    "{\n.param .b64 p;\n.param .b64 s;\n.param .b32 r;\nst.param.b64 [p], %d0;\nst.param.b64 [s], %d1;\n"
    "call (r), cudaMemcpy3DAsync, (p, s);\n}\nret;\n}\n"
    ".visible .entry ask(.param .u64 what) {\n.reg .b64 %d<2>;\nld.param.u64 %d0, [what];\nmov.u64 %d1, ask;\n"
    "{\n.param .b64 p;\n.param .b64 f;\n.param .b32 r;\nst.param.b64 [p], %d0;\nst.param.b64 [f], %d1;\n"
    "call (r), cudaFuncGetAttributes, (p, f);\n}\nret;\n}\n";

enum { BYTES = 1024 };

/* The word indices of the members of cudaMemcpy3DParms that the test sets. */
enum { FROM = 4, FROM_PITCH, TO = 12, TO_PITCH, WIDTH = 16, HEIGHT, DEPTH };

static void structures_of_words(void)
{
    vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){0});
    uint64_t *parameters;
    unsigned char *from, *to;
    const uint64_t at = vm_bench_zeros(&b, BYTES, &parameters), source = vm_bench_zeros(&b, 16, &from),
                   target = vm_bench_zeros(&b, 16, &to);
    for (unsigned word = 0; word < 40; word++) { /* at each place that is aligned for eight bytes */
        memset(parameters, 0, BYTES);
        uint64_t *p = parameters + word;
        p[FROM] = source, p[TO] = target, p[FROM_PITCH] = p[TO_PITCH] = 16;
        p[WIDTH] = 16, p[HEIGHT] = p[DEPTH] = 1;
        memset(from, (int)word + 1, 16);
        const uint64_t here = at + word * 8;
        vm_bench_run(&b, "copy", 1, 1, &here);
        CU_ASSERT_EQUAL(to[15], word + 1);
        memset(parameters, 0, BYTES);
        vm_bench_run(&b, "ask", 1, 1, &here);
        CU_ASSERT_EQUAL((uint32_t)p[3], 1024); /* maxThreadsPerBlock */
    }
    uint64_t odd = at + 4;
    CU_ASSERT_EQUAL(vm_bench_try(&b, "copy", 1, 1, &odd, 0), VM_FAULT_MISALIGNED);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "ask", 1, 1, &odd, 0), VM_FAULT_MISALIGNED);
    odd = at + BYTES - 32; /* only the beginning of the structure is inside */
    CU_ASSERT_EQUAL(vm_bench_try(&b, "copy", 1, 1, &odd, 0), VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "ask", 1, 1, &odd, 0), VM_FAULT_ADDRESS);
    vm_bench_end(&b);
}

static const check_case cases[] = {
    {"structures are aligned as their members", structures_of_words},
};
KILN_SUITE("vm runtime", cases)
