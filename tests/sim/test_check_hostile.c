/* The checks of kernels that attack the simulator: accesses of its own memory, and work or memory without a limit. */
#include "check_bench.h"
#include "vm_checks_internal.h"

#define HEAD ".version 8.0\n.target sm_90a\n.address_size 64\n"
#define PARAMS "(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"

/* A child writes with more threads than a block of its launcher has. The launcher then copies the same bytes by the
 * asynchronous proxy: no fence of its own threads orders them. */
static void test_thread_of_a_child(void)
{
    // clang-format off
    static const char text[] = HEAD
        ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 s);\n"
        ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12],\n"
        "    .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n"
        ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
        ".visible .entry child(.param .u64 to)\n"
        "{ .reg .b64 %a; .reg .b32 %t; ld.param.u64 %a, [to]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a;\n"
        "  st.global.u32 [%a], %t; ret; }\n"
        ".visible .entry parent" PARAMS
        "{ .reg .b64 %a, %p, %f; .reg .b32 %r, %s, %m; .param .b64 x, y; .param .b64 z; .param .align 4 .b8 g[12];\n"
        "  .param .align 4 .b8 b[12]; .param .b32 e; .param .b32 k; .param .b64 st;\n"
        "  .shared .align 128 .b8 s[16]; .shared .align 8 .b64 bar;\n"
        "  ld.param.u64 %a, [out];\n"
        "  st.param.b64 [x], 8; st.param.b64 [y], 8; call (z), cudaGetParameterBuffer, (x, y); ld.param.b64 %p, [z];\n"
        "  st.u64 [%p], %a; mov.u64 %f, child; st.param.b64 [x], %f; st.param.b64 [y], %p;\n"
        "  st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
        "  st.param.b32 [b], 64; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;\n"
        "  st.param.b32 [k], 0; st.param.b64 [st], 0;\n"
        "  call (e), cudaLaunchDevice, (x, y, g, b, k, st); call (e), cudaDeviceSynchronize, ();\n"
        "  mov.u32 %s, s; mov.u32 %m, bar; mbarrier.init.shared.b64 [%m], 1;\n"
        "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%a+128], 16, [%m]; ret; }\n";
    // clang-format on
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT_EQUAL(check_bench_run(&b, "parent", 1, 1, 0), VM_OK);
    CU_ASSERT_FATAL(vm_check_count(b.check) > 0);
    CU_ASSERT_EQUAL(vm_check_at(b.check, 0)->kind, KILN_CHECK_ASYNC);
    CU_ASSERT_PTR_NOT_NULL(strstr(vm_check_at(b.check, 0)->message, "without fence.proxy.async between them"));
    check_bench_end(&b);
}

int main(int count, char **arguments)
{
    static const check_case cases[] = {{"a thread of a child", test_thread_of_a_child}};
    return check_main(count, arguments, "checks of hostile kernels", cases, KILN__COUNT(cases));
}
