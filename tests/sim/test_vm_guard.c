/* Tests guard pages: an access before or after the memory of kernels ends the process, and never reaches other memory
 * of the host. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm_block.h"
#include "vm_check.h"
#include "vm_child.h"
#include "vm_limit.h"
#include "vm_machine.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* Returns true if a read at `at` ends a process: by a signal or, under the address sanitizer, with a status other than
 * 0. The thread sanitizer would also end the process with a status, because it handles the signals of faults itself. */
static bool ends(const volatile unsigned char *at)
{
    const pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO);
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        _exit(*at == *at ? 0 : 1); /* the second read keeps the compiler from removing the first */
    }
    int status = 0;
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    return SANITIZED ? !WIFEXITED(status) || WEXITSTATUS(status) != 0
                     : WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

/* Returns the begin of the free region that ends at `end`, or NULL if there is no such region. */
static const unsigned char *begin_of(const vm_guards *g, const unsigned char *end)
{
    for (unsigned k = 0; k < VM_GUARD_CLASSES; k++)
        for (size_t n = 0; n < g->regions[k].count; n++)
            if (g->regions[k].at[n] + g->regions[k].size == end)
                return g->regions[k].at[n];
    return NULL;
}

static void regions(void)
{
    static const size_t sizes[] = {1,    64,    1000,   1024,    4096,           4160,
                                   8192, 12288, 100000, 1 << 18, (1 << 18) + 64, 5 << 20};
    vm_guards g = {0};
    CU_ASSERT_TRUE_FATAL(vm_guards_open(&g, NULL));
    for (size_t k = 0; k < KILN__COUNT(sizes); k++) {
        const size_t bytes = sizes[k], end = (bytes + 63) / 64 * 64;
        unsigned char *at = vm_guard_take(&g, bytes, VM_GUARD_OWN, true);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        CU_ASSERT_EQUAL((uintptr_t)at % 64, 0);
        CU_ASSERT(bytes % 4096 || (uintptr_t)at % 4096 == 0);
        for (size_t n = 0; n < bytes; n++)
            CU_ASSERT_FATAL(at[n] == 0);
        CU_ASSERT_FALSE(ends(at));
        CU_ASSERT_FALSE(ends(at + bytes - 1));
        CU_ASSERT_TRUE(ends(at + end));
        CU_ASSERT_TRUE(ends(at + end + (1 << 18))); /* the largest distance that a descriptor of wgmma can have */
        memset(at, 7, bytes);
        vm_guard_give(&g, at, bytes, VM_GUARD_OWN);
        const unsigned char *begin = begin_of(&g, at + end);
        CU_ASSERT_PTR_NOT_NULL_FATAL(begin);
        /* rounding the size adds at most this much */
        CU_ASSERT_TRUE(begin <= at && (size_t)(at - begin) <= bytes / 4 + 4096);
        CU_ASSERT_TRUE(ends(begin - 1));
        CU_ASSERT_TRUE(ends(begin - (1 << 16))); /* the whole guard */
        unsigned char *again = vm_guard_take(&g, bytes, VM_GUARD_OWN, true);
        CU_ASSERT_PTR_EQUAL(again, at); /* the same memory is used again, without a new mapping */
        CU_ASSERT_EQUAL(again[0] | again[bytes - 1], 0);
        vm_guard_give(&g, again, bytes, VM_GUARD_OWN);
    }
    CU_ASSERT_PTR_NULL(vm_guard_take(&g, SIZE_MAX, VM_GUARD_ANY, false));
    CU_ASSERT_PTR_NULL(vm_guard_take(&g, SIZE_MAX / 8, VM_GUARD_ANY, false));
    vm_guards_close(&g);
}

/* Tests small pieces of memory, which are in slots of an arena, between guard pages. */
static void arenas(void)
{
    enum { SLOTS = 4096, SIZE = 512 };
    static unsigned char *at[SLOTS];
    vm_guards g = {0};
    CU_ASSERT_TRUE_FATAL(vm_guards_open(&g, NULL));
    for (unsigned k = 0; k < SLOTS; k++) {
        at[k] = vm_guard_take(&g, SIZE - 64 * (k % 3), VM_GUARD_ANY, false);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at[k]);
        memset(at[k], (int)(k & 0xff), SIZE - 64 * (k % 3));
    }
    unsigned wrong = 0;
    for (unsigned k = 0; k < SLOTS; k++)
        for (unsigned n = 0; n < SIZE - 64 * (k % 3); n++)
            wrong += at[k][n] != (k & 0xff);
    CU_ASSERT_EQUAL(wrong, 0);
    for (unsigned a = 0; a < g.arena_count; a++) {
        CU_ASSERT_TRUE(ends(g.arenas[a].at - 1));
        CU_ASSERT_FALSE(ends(g.arenas[a].at));
        CU_ASSERT_TRUE(ends(g.arenas[a].at + g.arenas[a].bytes));
    }
    CU_ASSERT_EQUAL(g.arena_count, SANITIZED ? 0 : 2);
    for (unsigned k = 0; k < SLOTS; k++)
        vm_guard_give(&g, at[k], SIZE - 64 * (k % 3), VM_GUARD_ANY);
    for (unsigned k = 0; k < SLOTS; k++)
        at[k] = vm_guard_take(&g, SIZE, VM_GUARD_ANY, true);
    CU_ASSERT_EQUAL(g.arena_count, SANITIZED ? 0 : 2);
    for (unsigned k = 0; k < SLOTS; k++) {
        wrong += at[k][0] != 0 || at[k][SIZE - 1] != 0;
        vm_guard_give(&g, at[k], SIZE, VM_GUARD_ANY);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    vm_guards_close(&g);
}

static uintptr_t pages_of(const vm_block *block)
{
    return (uintptr_t)block->shared / 4096 + (uintptr_t)block->local / 4096;
}

/* Tests the memory of a block, and memory that a device allocates. */
static void memory_of_kernels(void)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n.const .b8 fixed[100];\n"
                               ".visible .entry k(.param .u64 a)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
                               ".shared .align 16 .b8 s[100]; .local .align 16 .b8 l[40];\nld.param.u64 %rd1, [a];\n"
                               "mov.u64 %rd2, l; mov.u32 %r1, s; st.local.u32 [l], %r1; st.shared.u32 [s], %r1;\n"
                               "ld.const.u32 %r2, [fixed];\nret;\n}\n";
    vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 1});
    const uint64_t params[] = {0};
    vm_fault fault = {0};
    vm_family family = {.fault = &fault};
    const vm_launch launch = {
        .module = b.module, .kernel = 0, .grid = {1, 1, 1}, .block = {64, 1, 1}, .params = params};
    vm_run_state run = {.device = b.device, .family = &family, .launch = &launch};
    vm_runner runner = {.run = &run};
    vm_limit_init(&family, b.device, &launch);
    CU_ASSERT_EQUAL_FATAL(vm_launch_prepare(&run, &fault), VM_OK);
    vm_cluster *cluster = vm_cluster_new(&runner);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cluster);
    const unsigned char *shared = cluster->blocks[0]->shared, *local = cluster->blocks[0]->local;
    const size_t local_bytes = (size_t)run.local_bytes * 64;
    CU_ASSERT_FALSE(ends(shared + run.shared_reach - 1));
    CU_ASSERT_TRUE(ends(shared + run.shared_reach));
    CU_ASSERT_TRUE(ends(shared - 4096));
    CU_ASSERT_FALSE(ends(local + local_bytes - 1));
    CU_ASSERT_TRUE(ends(local + local_bytes));
    CU_ASSERT_TRUE(ends(local - 8192));
    vm_cluster *other = vm_cluster_new(&runner);
    vm_cluster_free(cluster);
    cluster = vm_cluster_new(&runner);
    /* Blocks that follow each other have the same mappings, so either of the two memories may have either address. */
    CU_ASSERT_EQUAL(pages_of(cluster->blocks[0]), (uintptr_t)shared / 4096 + (uintptr_t)local / 4096);
    vm_cluster_free(cluster);
    vm_cluster_free(other);
    enum { BYTES = 1 << 20 };
    const unsigned char *large = vm_pointer(b.device, vm_alloc(b.device, BYTES), BYTES),
                        *host = vm_alloc_host(b.device, 100, true);
    CU_ASSERT_FALSE(ends(large + BYTES - 1));
    CU_ASSERT_TRUE(ends(large + BYTES));
    CU_ASSERT_TRUE(ends(large - 1));
    CU_ASSERT_FALSE(ends(host + 4095));
    CU_ASSERT_TRUE(ends(host + 4096));
    CU_ASSERT_TRUE(ends(host - 1));
    unsigned char *texels = vm_storage_new(b.device, BYTES);
    CU_ASSERT_FALSE(ends(texels + BYTES - 1));
    CU_ASSERT_TRUE(ends(texels + BYTES));
    vm_storage_free(b.device, texels, BYTES);
    vm_bench_end(&b);
}

static const check_case cases[] = {
    {"regions", regions},
    {"arenas", arenas},
    {"memory of kernels", memory_of_kernels},
};
KILN_SUITE("vm guard", cases)
