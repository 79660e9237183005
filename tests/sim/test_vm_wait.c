/* Tests kernels that wait for other blocks and warps in loops. Tests how many instructions the waiting takes, and the
 * message if the wait cannot end. The number of instructions is the same in every run on one host thread. */
#include "vm_check.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define KERNEL(regs, body)                                                                                             \
    HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n" regs        \
         "ld.param.u64 %rd1, [p];\n" body "ret;\n}\n"

static vm_fault_kind wait_run(vm_bench *b, uint32_t blocks, uint32_t threads, bool cooperative, uint64_t data)
{
    vm_launch launch = {.module = b->module,
                        .kernel = vm_module_kernel(b->module, "k"),
                        .grid = {blocks, 1, 1},
                        .block = {threads, 1, 1},
                        .params = &data,
                        .cooperative = cooperative};
    return vm_run(b->device, &launch, &b->counters, &b->fault);
}

/* Executes grid.sync() of cooperative groups ten times. Thread 0 of a block adds to the counter, and reads its upper
 * bit in a loop. */
#define GRID_SYNC_BY(load)                                                                                             \
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\nmov.u32 %r4, 0;\n"                         \
    "LOOP:\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra JOIN;\n"                                                   \
    "mov.u32 %r5, 1;\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra ADD;\nsub.u32 %r5, 0x80000001, %r3;\n"                        \
    "ADD:\nfence.acq_rel.gpu;\natom.global.add.u32 %r6, [%rd1], %r5;\n"                                                \
    "POLL:\n" load " %r7, [%rd1];\nxor.b32 %r8, %r7, %r6;\nsetp.ge.s32 %p3, %r8, 0;\n"                                 \
    "@%p3 bra POLL;\n"                                                                                                 \
    "JOIN:\nbar.sync 0;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, 10;\n@%p4 bra LOOP;\n"
#define GRID_SYNC GRID_SYNC_BY("ld.acquire.gpu.global.u32")

static void is_cheap(const char *text, uint32_t blocks, uint32_t threads, bool cooperative, uint64_t most)
{
    for (unsigned hosts = 1; hosts <= 3; hosts += 2) {
        vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = hosts});
        uint32_t *memory;
        uint64_t data = vm_bench_zeros(&b, 4096, &memory);
        CU_ASSERT_EQUAL(wait_run(&b, blocks, threads, cooperative, data), VM_OK);
        if (b.fault.kind != VM_OK)
            fprintf(stderr, "%s\n", b.fault.message);
        CU_ASSERT_EQUAL(memory[1], blocks);
        if (hosts == 1)
            CU_ASSERT(b.counters.warp_instructions <= most);
        if (hosts == 1 && b.counters.warp_instructions > most)
            fprintf(stderr, "%llu warp instructions\n", (unsigned long long)b.counters.warp_instructions);
        vm_bench_end(&b);
    }
}

/* counts the blocks that have ended */
#define COUNT "setp.ne.u32 %p7, %r1, 0;\n@!%p7 red.global.add.u32 [%rd1+4], 1;\n"

/* Without the loops, each warp would need 11 instructions for each barrier, and a few more. */
static void grid_barriers(void)
{
    is_cheap(KERNEL("", GRID_SYNC COUNT), 264, 256, true, 264 * 8 * 10 * 12);
    /* here the launch does not require that all blocks run at once, like many programs */
    is_cheap(KERNEL("", GRID_SYNC COUNT), 100, 64, false, 100 * 2 * 10 * 40);
    /* tests loads that bypass the L1 cache, and that no other instruction orders */
    is_cheap(KERNEL("", GRID_SYNC_BY("ld.global.cg.u32") COUNT), 100, 64, false, 100 * 2 * 10 * 40);
    is_cheap(KERNEL("", GRID_SYNC_BY("ld.cv.u32") COUNT), 100, 64, false, 100 * 2 * 10 * 40);
}

/* Each block waits for the block after it. The last block has not started when the first one begins to wait. */
static void flags(void)
{
    is_cheap(KERNEL("", "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\n"
                        "sub.u32 %r4, %r3, %r2;\nsub.u32 %r4, %r4, 1;\n"
                        "POLL:\nld.volatile.global.u32 %r5, [%rd1];\nsetp.ne.u32 %p1, %r5, %r4;\n@%p1 bra POLL;\n"
                        "bar.sync 0;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra DONE;\nadd.u32 %r5, %r5, 1;\nmembar.gl;\n"
                        "st.volatile.global.u32 [%rd1], %r5;\nDONE:\n" COUNT),
             60, 64, false, 60 * 60 * 20);
}

/* Each lane of the grid takes a lock. The lane that has the lock waits for the other lanes of its warp, which wait for
 * the lock in a loop. */
static void locks(void)
{
    is_cheap(KERNEL("",
                    "mov.u32 %r1, %tid.x;\n"
                    "POLL:\natom.global.cas.b32 %r2, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra POLL;\n"
                    "ld.volatile.global.u32 %r3, [%rd1+8];\nadd.u32 %r3, %r3, 1;\n"
                    "st.volatile.global.u32 [%rd1+8], %r3;\nmembar.gl;\natom.global.exch.b32 %r4, [%rd1], 0;\n" COUNT),
             4, 64, false, 40000);
}

/* One warp waits in shared memory for another warp, which computes for a long time. */
static void shared_flag(void)
{
    is_cheap(
        KERNEL(".shared .u32 flag;\n",
               "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nst.volatile.shared.u32 [flag], %r2;\nbar.sync 0;\n"
               "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra POLL;\n"
               "WORK:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 100000;\n@%p2 bra WORK;\n"
               "st.volatile.shared.u32 [flag], %r2;\nbra DONE;\n"
               "POLL:\nld.volatile.shared.u32 %r3, [flag];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra POLL;\nDONE:\n" COUNT),
        2, 64, false, 2 * 300200);
}

static void is_endless(const char *text, uint32_t blocks, bool cooperative, const char *says)
{
    for (unsigned hosts = 1; hosts <= 3; hosts += 2) {
        vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = hosts});
        uint32_t *memory;
        uint64_t data = vm_bench_zeros(&b, 4096, &memory);
        CU_ASSERT_EQUAL(wait_run(&b, blocks, 64, cooperative, data), VM_FAULT_DEADLOCK);
        const bool said = hosts > 1 || strstr(b.fault.message, says);
        CU_ASSERT(said);
        if (!said)
            fprintf(stderr, "%s\n", b.fault.message);
        vm_bench_end(&b);
    }
}

/* A wait that can never end must be a fault at once. The message must have the waiting thread, the place and the
 * condition. */
static void endless(void)
{
    is_endless(
        KERNEL("", "mov.u32 %r9, %ctaid.x;\nsetp.eq.u32 %p6, %r9, 2;\n@%p6 exit;\n" GRID_SYNC), 12, true,
        "deadlock: nothing can change what is waited for; 11 warps poll and 11 are at barriers: "
        "block (0,0,0) warp 0 in the loop at PTX line 32 of 'k', which reads memory at offset 0 of an allocation");
    is_endless(KERNEL(".shared .b64 bar;\n",
                      "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [bar], 2;\n"
                      "bar.sync 0;\n@!%p1 mbarrier.arrive.shared.b64 %rd2, [bar];\n"
                      "W: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra W;\n"),
               1, false,
               "2 warps poll: block (0,0,0) warp 0 in the loop at PTX line 17 of 'k', "
               "which waits for the mbarrier at shared address 0x400; block (0,0,0) warp 1");
    is_endless(KERNEL("", "mov.u32 %r1, %tid.x;\nPOLL:\natom.global.exch.b32 %r2, [%rd1+64], 1;\n"
                          "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra POLL;\n"),
               3, false, "at PTX line 14 of 'k', which reads memory at offset 64 of an allocation");
}

/* A wait that ends after some time must not be a fault. */
static void patient(void)
{
    is_cheap(KERNEL("",
                    "mov.u32 %r1, %tid.x;\nmov.u32 %r3, 0;\n" /* gives up */
                    "POLL:\nld.volatile.global.u32 %r2, [%rd1];\nadd.u32 %r3, %r3, 1;\nsetp.ge.u32 %p1, %r3, 20000;\n"
                    "@%p1 bra DONE;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra POLL;\nDONE:\n" COUNT),
             2, 32, false, 2 * 20000 * 6 + 100);
    is_cheap(KERNEL("",
                    "mov.u32 %r1, %tid.x;\nmov.u64 %rd3, %clock64;\n" /* the loop ends after a time limit */
                    "POLL:\nld.volatile.global.u32 %r2, [%rd1];\nmov.u64 %rd4, %clock64;\nsub.u64 %rd4, %rd4, %rd3;\n"
                    "setp.gt.u64 %p1, %rd4, 200000;\n@%p1 bra DONE;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra POLL;\n"
                    "DONE:\n" COUNT),
             2, 32, false, 2 * 200000);
    /* the host may write its own memory at any time */
    static const char host[] =
        KERNEL("", "POLL:\nld.volatile.u32 %r2, [%rd1];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra POLL;\n");
    vm_bench b = vm_bench_text(host, sizeof host - 1, (vm_limits){.threads = 1, .step_budget = 1 << 20});
    uint32_t *memory = vm_alloc_host(b.device, 64, true);
    CU_ASSERT_EQUAL(wait_run(&b, 1, 32, false, (uintptr_t)memory), VM_FAULT_STEPS);
    vm_free(b.device, (uintptr_t)memory);
    vm_bench_end(&b);
}

/* If a launch does not end, the message must name the memory for which one path waits. Another path ran last, in a
 * function with fewer registers. */
static void waits_of_another_path(void)
{
    kiln__text text = {0};
    kiln__text_printf(&text, HEAD
                      ".func f()\n{ .reg .b32 %%x; mov.u32 %%x, 0;\nL: add.u32 %%x, %%x, 1; bra L; }\n"
                      ".visible .entry k(.param .u64 p)\n{ .reg .b64 %%d<300>; .reg .b32 %%r, %%t; .reg .pred %%q;\n"
                      "ld.param.u64 %%d0, [p]; mov.u32 %%t, %%tid.x;\n");
    for (unsigned k = 1; k < 300; k++) /* many registers, so that the address is in the last one */
        kiln__text_printf(&text, "add.u64 %%d%u, %%d%u, %u;\n", k, k - 1, k < 65);
    kiln__text_printf(&text, "setp.gt.u32 %%q, %%t, 15;\n@%%q bra C;\n"
                             "P: ld.global.u32 %%r, [%%d299]; setp.eq.u32 %%q, %%r, 0;\n@%%q bra P;\nret;\n"
                             "C: call f; ret; }\n");
    vm_bench b = vm_bench_text(text.data, text.length, (vm_limits){.threads = 1, .step_budget = 1 << 20});
    uint32_t *memory;
    const uint64_t data = vm_bench_zeros(&b, 4096, &memory);
    CU_ASSERT_EQUAL(wait_run(&b, 1, 32, false, data), VM_FAULT_STEPS);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, ", which reads memory at offset 64 of an allocation (4096 bytes"));
    if (!strstr(b.fault.message, "at offset 64"))
        fprintf(stderr, "%s\n", b.fault.message);
    vm_bench_end(&b);
    kiln__text_free(&text);
}

static const check_case cases[] = {{"waits of another path", waits_of_another_path},
                                   {"grid barriers", grid_barriers},
                                   {"flags", flags},
                                   {"locks", locks},
                                   {"shared flag", shared_flag},
                                   {"endless", endless},
                                   {"patient", patient}};
KILN_SUITE("vm wait", cases)
