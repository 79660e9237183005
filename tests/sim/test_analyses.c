/* Tests that each analysis of a whole module takes time in proportion to the size of the module. The work is counted in
 * visits of pages. The pages of the module cannot be read, a visit makes one page readable, and only the last OPEN
 * visited pages stay readable. An analysis that reads a function once for each of its registers visits each page many
 * times. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "code_internal.h"
#include "vm_check.h"
#include "vm_checks_internal.h"
#include "vm_count.h"

#define HEAD ".version 8.0\n.target sm_90a\n.address_size 64\n"
#define PARAMS "(.param .u64 in)\n"
enum { OPEN = 16, PASSES = 100, ROOM = 1 << 28 };

/* The memory of a device and its module. The handler of the signal can only reach global variables. */
static struct {
    unsigned char *base, *open[OPEN];
    size_t used, closed, page; /* `closed` counts the first bytes, whose visits are counted */
    unsigned next;
    volatile size_t visits, most;
} room;

/* Allocates memory in this array. The memory is never used again after it was freed. */
static void *resize_in_room(void *user, void *pointer, size_t size)
{
    (void)user;
    size_t *head = pointer ? (size_t *)pointer - 2 : NULL; /* the size is stored before the bytes, which stay aligned */
    if (size == 0)
        return NULL;
    if (head && *head >= size)
        return pointer;
    size_t *made = (size_t *)(void *)(room.base + room.used);
    room.used += 2 * sizeof *made + (size + 63) / 64 * 64;
    if (room.used > ROOM)
        abort();
    *made = size;
    if (head)
        memcpy(made + 2, pointer, *head);
    return made + 2;
}

/* Makes a visited page readable. Above the limit it makes all pages readable, so that the analysis ends soon. */
static void visit(int number, siginfo_t *info, void *context)
{
    (void)context;
    const size_t at = (size_t)((unsigned char *)info->si_addr - room.base);
    if (at >= room.closed) {
        signal(number, SIG_DFL); /* an access elsewhere faults again without the handler, which ends the process */
        return;
    }
    if (++room.visits > room.most) {
        mprotect(room.base, room.closed, PROT_READ | PROT_WRITE);
        return;
    }
    if (room.open[room.next])
        mprotect(room.open[room.next], room.page, PROT_NONE);
    room.open[room.next] = room.base + at / room.page * room.page;
    mprotect(room.open[room.next], room.page, PROT_READ | PROT_WRITE);
    room.next = (room.next + 1) % OPEN;
}

static struct sigaction before;

/* Begins to count the visits of the pages that were allocated so far. */
static void begin_count(void)
{
    struct sigaction action = {.sa_sigaction = visit, .sa_flags = SA_SIGINFO};
    memset(room.open, 0, sizeof room.open);
    room.used = room.closed = (room.used + room.page - 1) / room.page * room.page;
    room.visits = 0;
    room.most = room.closed / room.page * PASSES;
    sigaction(SIGSEGV, &action, &before);
    mprotect(room.base, room.closed, PROT_NONE);
}

/* Ends the count. An analysis may read all memory PASSES times. */
static void end_count(void)
{
    mprotect(room.base, room.closed, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before, NULL);
    CU_ASSERT(room.visits > 0);
    CU_ASSERT(room.visits <= room.most);
    room.closed = 0;
}

typedef struct bench {
    vm_device *device;
    vm_module *module;
} bench;

static bench bench_new(kiln__text *text)
{
    static const kiln_allocator mem = {resize_in_room, NULL}; /* the module keeps its address */
    const vm_limits limits = {.memory = 64u << 20, .shared_per_block = 227u << 10, .step_budget = 1u << 24, .cc = 90};
    bench b = {0};
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    room.page = (size_t)sysconf(_SC_PAGESIZE);
    room.base = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_FATAL(room.base != MAP_FAILED);
    room.used = 0;
    b.device = vm_device_new(&mem, &limits);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b.device);
    ptx_result result = ptx_parse(&mem, text->data, text->length, &ptx, &log);
    if (result == PTX_OK)
        result = decode_module_load(b.device, ptx, &b.module, &log);
    if (result != PTX_OK)
        fprintf(stderr, "%s", kiln__text_get(&log));
    CU_ASSERT_EQUAL_FATAL(result, PTX_OK);
    kiln__text_free(&log);
    kiln__text_free(text);
    return b;
}

static void bench_end(bench *b)
{
    vm_module_unload(b->device, b->module);
    vm_device_free(b->device);
    munmap(room.base, ROOM);
}

/* Tests that the question whether the result of an atomic is used takes no search of the whole function. */
static void test_results_of_atomics(void)
{
    enum { ATOMICS = 3000 };
    kiln__text text = {0};
    kiln__text_printf(&text, HEAD ".visible .entry k" PARAMS "{ .reg .b32 %%r<%u>; .shared .u32 s;\n", ATOMICS);
    for (unsigned k = 0; k < ATOMICS; k++)
        kiln__text_printf(&text, "atom.shared.add.u32 %%r%u, [s], 1;\n", k);
    kiln__text_printf(&text, "ret; }\n");
    bench b = bench_new(&text);
    begin_count();
    vm_profile *profile = count_profile_new(NULL, b.module);
    end_count();
    CU_ASSERT_PTR_NOT_NULL_FATAL(profile);
    CU_ASSERT(profile->joined[0] && profile->joined[ATOMICS - 1]);
    count_profile_free(profile);
    bench_end(&b);
}

/* Tests a chain of copies of a product's register. The text has the copies in reverse order. */
static void test_copies_of_a_register(void)
{
    enum { COPIES = 3000 };
    kiln__text text = {0};
    kiln__text_printf(&text,
                      HEAD ".visible .entry k" PARAMS "{ .reg .f32 %%f<%u>, %%g<3>; .reg .b64 %%d; mov.u64 %%d, 0;\n",
                      COPIES + 1);
    kiln__text_printf(
        &text, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%f0,%%g0,%%g1,%%g2}, %%d, %%d, 1, 1, 1, 0, 0;\n");
    for (unsigned k = COPIES; k-- > 0;)
        kiln__text_printf(&text, "mov.f32 %%f%u, %%f%u;\n", k + 1, k);
    kiln__text_printf(&text, "ret; }\n");
    bench b = bench_new(&text);
    begin_count();
    CU_ASSERT(check_analyse_module(b.module, NULL));
    end_count();
    CU_ASSERT_EQUAL(b.module->check->reg_count, COPIES + 4);
    bench_end(&b);
}

/* Tests many accesses to local variables. The end of each variable must be found without a search of the whole
 * function. */
static void test_many_local_accesses(void)
{
    enum { STORES = 3000 };
    kiln__text text = {0};
    kiln__text_printf(&text, HEAD ".visible .entry k" PARAMS "{ .reg .b64 %%l, %%m; .reg .b32 %%r;\n"
                                  ".local .align 4 .b8 l[64]; mov.u64 %%l, l; add.u64 %%m, %%l, 16;\n");
    for (unsigned k = 0; k < STORES; k++)
        kiln__text_printf(&text, "st.local.u32 [%%m], %%r;\n");
    kiln__text_printf(&text, "ret; }\n");
    bench b = bench_new(&text);
    begin_count();
    CU_ASSERT(check_analyse_module(b.module, NULL));
    end_count();
    CU_ASSERT_EQUAL(b.module->check->pieces[2].start, 16);
    CU_ASSERT_EQUAL(b.module->check->pieces[STORES + 1].end, 64);
    bench_end(&b);
}

/* Tests that a finding reads a variable's name only once, for a name in which a number may begin at every second
 * character. */
static void test_long_name_of_a_variable(void)
{
    enum { PARTS = 100000 };
    kiln__text text = {0};
    kiln__text name = {0};
    for (unsigned k = 0; k < PARTS; k++)
        kiln__text_add(&name, "E1", 2);
    kiln__text_printf(&text,
                      HEAD ".shared .b8 _ZZ%s[16];\n.visible .entry k" PARAMS "{ .reg .b32 %%r;\n"
                           "ld.shared.u8 %%r, [_ZZ%s]; ret; }\n",
                      kiln__text_get(&name), kiln__text_get(&name));
    kiln__text_free(&name);
    bench b = bench_new(&text);
    vm_check *check = check_new(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(check);
    check_attach(b.device, check);
    const uint64_t params = 0;
    struct vm_watch watch = {.checks = &check_hooks};
    const vm_launch launch = {.module = b.module,
                              .kernel = vm_module_kernel(b.module, "k"),
                              .grid = {1, 1, 1},
                              .block = {1, 1, 1},
                              .params = &params,
                              .hooks = &count_watch_hooks,
                              .watch = &watch};
    vm_counters counters;
    vm_fault fault;
    begin_count();
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, &counters, &fault), VM_OK);
    end_count();
    CU_ASSERT_EQUAL(check_count_findings(check), 1);
    bench_end(&b);
    check_free(check);
}

/* Tests a program that asks for every kernel of its module by name. */
static void test_names_of_kernels(void)
{
    enum { KERNELS = 5000 };
    kiln__text text = {0};
    char name[16];
    kiln__text_printf(&text, HEAD);
    for (unsigned k = 0; k < KERNELS; k++)
        kiln__text_printf(&text, ".entry k%u() { ret; }\n", k);
    bench b = bench_new(&text);
    bool found = true;
    begin_count();
    for (int k = 0; k < KERNELS; k++) {
        snprintf(name, sizeof name, "k%d", k);
        found &= vm_module_kernel(b.module, name) == k;
    }
    found &= vm_module_kernel(b.module, "k") == -1 && vm_module_kernel(b.module, "k9x") == -1;
    end_count();
    CU_ASSERT(found);
    bench_end(&b);
}

static const check_case cases[] = {{"names of kernels", test_names_of_kernels, CHECK_ONE_THREAD},
                                   {"results of atomics", test_results_of_atomics, CHECK_ONE_THREAD},
                                   {"copies of a register", test_copies_of_a_register, CHECK_ONE_THREAD},
                                   {"many local accesses", test_many_local_accesses, CHECK_ONE_THREAD},
                                   {"long name of a variable", test_long_name_of_a_variable, CHECK_ONE_THREAD}};
KILN_SUITE("analyses of a module", cases)
