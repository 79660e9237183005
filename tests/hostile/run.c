/* run.c - runs one kernel in one world. Every set is executed. A fault ends a launch, and the next launch begins
 * with the next set. In the end the guards must be unchanged. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "jit.h"
#include "vm_checks_internal.h"
#include "vm_count.h"
#include "vm_machine.h"

typedef struct arguments { /* the arguments of the kernel, in the order of kernel.c */
    uint64_t sets;
    uint32_t from, end;
    uint64_t done, results, maps;
    unsigned char more[HOSTILE_PARAMS];
} arguments;

/* The run in progress, for hostile_describe(). */
static struct {
    const hostile_kernel *kernel;
    const hostile_world *world;
    hostile_engine engine;
    uint32_t from;
} now;

static const char *const engines[HOSTILE_ENGINES] = {"interpreter", "jit", "checks"};

static uint32_t progress_of(const hostile_world *world)
{
    uint32_t done = 0;
    const void *at = vm_pointer_read(world->device, world->progress, sizeof done);
    if (at)
        memcpy(&done, at, sizeof done);
    return done;
}

static void describe_set(const hostile_kernel *kernel, const uint64_t *set)
{
    const uint64_t *at = set + 1 + HOSTILE_MAP_WORDS;
    fprintf(stderr, "lanes 0x%08" PRIx32 ", odd lane %" PRIu64 "\n", (uint32_t)set[0], set[0] >> 32);
    if (kernel->rank) {
        vm_tensor_map m;
        memcpy(&m, set + 1, sizeof m);
        fprintf(stderr, "map: rank %u type %u swizzle %u address 0x%" PRIx64 " im2col %u channels %u pixels %u\n",
                m.rank, m.type, m.swizzle, m.address, m.im2col, m.channels, m.pixels);
        for (unsigned k = 0; k < VM_TENSOR_RANK; k++)
            fprintf(stderr, "  dimension %u: box %u step %u last %" PRIu32 " stride 0x%" PRIx64 "\n", k, m.box[k],
                    m.step[k], m.last[k], k ? m.stride[k - 1] : 0);
    }
    if (kernel->frame) {
        fprintf(stderr, "format \"%.511s\"\n", (const char *)at);
        at += 64 + 32;
    }
    for (unsigned k = 0; k < kernel->operand_count; k++, at += 3)
        fprintf(stderr, "operand %u (%c): base 0x%" PRIx64 " stride 0x%" PRIx64 ", odd 0x%" PRIx64 "\n", k,
                kernel->operands[k].kind, at[0], at[1], at[2]);
}

void hostile_describe(void)
{
    if (!now.kernel)
        return;
    const char *code = strstr(kiln__text_get(&now.kernel->text), "// the instruction");
    const char *name = now.kernel->op == PTX_OP_CALL ? hostile_function_at(now.kernel->function)->name
                                                     : ptx_op_name(now.kernel->op);
    fprintf(stderr, "---- %s, engine %s, cluster of %u, compute capability %d\n%.*s", name, engines[now.engine],
            now.kernel->cluster, now.kernel->cc, code ? (int)strcspn(code + 19, ";") + 20 : 0, code ? code : "");
    if (!now.world->sets)
        return;
    const uint32_t set = progress_of(now.world);
    const size_t words = hostile_set_words(now.kernel);
    fprintf(stderr, "\nset %" PRIu32 " of the launch from set %" PRIu32 "\n", set, now.from);
    if ((set + 1) * words <= now.world->table_words)
        describe_set(now.kernel, now.world->sets + set * words);
}

static void swallow(void *user, const char *text, size_t length)
{
    size_t *sum = user;
    for (size_t k = 0; k < length; k++) /* the sanitizer reports a wrong pointer or length */
        *sum += (unsigned char)text[k];
}

/* Launches the kernel for the sets from `from` to `end`. Returns the first set that was not executed. */
static uint32_t launch(const hostile_kernel *kernel, hostile_world *world, const vm_module *module, uint32_t from,
                       uint32_t end, hostile_count *count, bool verbose)
{
    arguments a = {world->table, from, end, world->progress, world->results, world->maps, {0}};
    for (unsigned k = 0; k < HOSTILE_PARAMS; k++)
        a.more[k] = (unsigned char)k;
    size_t sum = 0;
    vm_launch launch = {.module = module,
                        .kernel = vm_module_kernel(module, "k"),
                        .grid = {kernel->cluster * kernel->blocks, 1, 1},
                        .block = {kernel->threads, 1, 1},
                        .cluster = {kernel->cluster, 1, 1},
                        .params = &a,
                        .print = swallow,
                        .user = &sum};
    struct vm_watch watch = {.checks = &check_hooks};
    launch.watch = world->check ? &watch : NULL;
    launch.hooks = world->check ? &count_watch_hooks : NULL;
    now.from = from;
    unsigned char *done = vm_pointer(world->device, world->progress, 8);
    memcpy(done, &from, 4);
    vm_counters counters;
    vm_fault fault;
    const vm_fault_kind kind = vm_run(world->device, &launch, &counters, &fault);
    count->launches++;
    if (kind != fault.kind || (kind != VM_OK && !fault.message[0])) {
        fputs("a launch that failed without a message\n", stderr);
        abort();
    }
    uint32_t past = end;
    if (kind != VM_OK) {
        const uint32_t at = progress_of(world);
        past = at >= from && at < end ? at + 1 : from + 1;
        count->faults++;
        if (verbose)
            fprintf(stderr, "set %" PRIu32 ": %s\n", past - 1, fault.message);
    }
    count->executions += past - from;
    return past;
}

/* Frees the memory that kernels of earlier launches allocated and did not free, once there is much of it. Under the
 * address sanitizer each allocation is a separate mapping, and a process may have 65,530 mappings. For the same
 * reason a launch of a kernel that allocates has few sets. */
enum { HEAP_SETS = 16 };
static void free_heap(const hostile_world *world)
{
    enum { LIVE_MOST = 4096 };
    vm_device *device = world->device;
    for (size_t k = device->live_count > LIVE_MOST ? device->live_count : 0; k-- > 0;)
        if (device->live[k]->from_kernel)
            vm_free(device, device->live[k]->base);
}

/* A repetition shows its memory instead of comparing it. hostile_has_host_address() explains `seed`. */
static bool check(const hostile_world *world, const hostile_wish *wish, const uint64_t *seed, uint64_t set)
{
    if (wish->show)
        return hostile_show(world, wish->show);
    kiln__text what = {0};
    bool good = hostile_world_check(world, &what);
    good = !hostile_has_host_address(world, seed, &what) && good;
    if (what.length)
        fprintf(stderr, "after set %" PRIu64 ": %s", set, kiln__text_get(&what));
    kiln__text_free(&what);
    return good;
}

static vm_module *load(const hostile_kernel *kernel, const hostile_world *world, kiln__text *log)
{
    ptx_module *ptx;
    vm_module *module = NULL;
    if (ptx_parse(NULL, kernel->text.data, kernel->text.length, &ptx, log) == PTX_OK)
        decode_module_load(world->device, ptx, &module, log);
    return module;
}

/* Runs the kernel with all sets. If `each`, compares the guards after each set, which finds the set that changed a
 * guard. */
static bool run_kernel(hostile_source *s, const hostile_wish *wish, const hostile_kernel *kernel, hostile_count *count,
                       bool each)
{
    hostile_world world;
    kiln__text log = {0};
    const size_t words = hostile_set_words(kernel);
    bool good = hostile_world_open(s, &world, kernel, wish->engine, words * wish->sets);
    if (!good) {
        fputs("hostile: no world could be made\n", stderr);
        hostile_world_close(&world);
        return false;
    }
    if (world.check && wish->often)
        world.check->often = wish->often;
    now.kernel = kernel, now.world = &world, now.engine = wish->engine, now.from = 0;
    vm_module *module = load(kernel, &world, &log);
    if (module) {
        count->modules++;
        hostile_guard_module(&world, module);
        for (unsigned k = 0; k < wish->sets; k++)
            hostile_set_make(s, &world, kernel, world.sets + k * words);
        const uint32_t step = each ? 1 : kernel->heap ? HEAP_SETS : wish->sets; /* the number of sets of a launch */
        for (uint32_t from = 0; good && from < wish->sets;) {
            const uint32_t end = wish->sets - from < step ? wish->sets : from + step;
            from = launch(kernel, &world, module, from, end, count, wish->verbose);
            free_heap(&world);
            if (each && !(good = check(&world, wish, NULL, from - 1)))
                hostile_describe();
        }
        if (good && wish->plant && !hostile_plant(&world, wish->plant)) {
            fprintf(stderr, "hostile: nothing to plant: %s\n", wish->plant);
            good = false;
        }
        good = good && check(&world, wish, each ? NULL : wish->seed, wish->sets - 1);
        vm_module_unload(world.device, module);
    } else {
        count->refused++;
        if (wish->verbose)
            fprintf(stderr, "refused: %s%s\n", kiln__text_get(&log), kiln__text_get(&kernel->text));
    }
    now.kernel = NULL;
    hostile_world_close(&world);
    kiln__text_free(&log);
    return good;
}

unsigned hostile_handler_count(void)
{
    unsigned count = hostile_function_count();
    for (unsigned op = 0; op < PTX_OP_COUNT; op++)
        count += op != PTX_OP_CALL && hostile_case_of((ptx_op)op);
    return count;
}

void hostile_handler_at(unsigned index, hostile_wish *wish)
{
    for (unsigned op = 0; op < PTX_OP_COUNT; op++)
        if (op != PTX_OP_CALL && hostile_case_of((ptx_op)op) && index-- == 0) {
            wish->op = (ptx_op)op;
            return;
        }
    wish->op = PTX_OP_CALL;
    wish->function = index;
}

static ptx_op choose_op(hostile_source *s)
{
    if (hostile_chance(s, 20)) /* `call` is one instruction, but it calls many functions, so it is chosen often */
        return PTX_OP_CALL;
    for (;;) {
        const ptx_op op = (ptx_op)hostile_below(s, PTX_OP_COUNT);
        if (hostile_case_of(op))
            return op;
    }
}

bool hostile_run(hostile_source *s, const hostile_wish *wish, hostile_counts *counts)
{
    hostile_kernel kernel;
    const ptx_op op = wish->op < PTX_OP_COUNT ? wish->op : choose_op(s);
    const unsigned function = wish->function != UINT32_MAX ? wish->function
                                                           : hostile_below(s, hostile_function_count());
    const unsigned form = wish->form >= 0 ? (unsigned)wish->form : hostile_below(s, hostile_form_count(op));
    hostile_count *count = op == PTX_OP_CALL ? &counts->functions[function] : &counts->ops[op], before = *count;
    if (!hostile_kernel_make(s, op, form, function, &kernel)) {
        count->refused++;
        return true;
    }
    hostile_source again = *s;
    bool good = run_kernel(s, wish, &kernel, count, false);
    counts->engines[wish->engine] += count->executions - before.executions;
    if (!good) {
        hostile_count unused = {0};
        run_kernel(&again, wish, &kernel, &unused, true);
    }
    kiln__text_free(&kernel.text);
    return good;
}
