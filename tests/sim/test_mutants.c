/* Tests mutants of correct kernels with asynchronous copies, mbarriers and wgmma (mutants/idioms.cu), and with tensor
 * memory (mutants/tensor.cu). Each mutant removes or changes one fence, barrier, wait, count or phase. The checks must
 * find every mutant that can give a wrong answer, and must find nothing in the originals. Every mutant counts as
 * harmful, unless it is in `harmless`. The comment of each entry of `harmless` gives its reason by PTX's memory model.
 * The checks must find nothing in these mutants.
 *
 * sim_test_mutants -a prints each mutant with its findings. */
#include <stdalign.h>

#include "vm_checks.h"
#include "vm_check.h"

enum { BYTES = 16384, INSN = 400 };

typedef struct idiom {
    const char *name;
    uint32_t threads, blocks; /* `blocks` is the size of the cluster, or 0 without a cluster */
} idiom;
static const idiom idioms[] = {
    {"copy_double", 64}, {"copy_ring", 64},       {"copy_mbarrier", 64}, {"bulk_ring", 96},       {"bulk_elected", 64},
    {"bulk_sync", 64},   {"bulk_store", 64},      {"box_store", 64},     {"bulk_in_place", 64},   {"bulk_global", 64},
    {"again", 64},       {"specialised", 256},    {"overlapped", 256},   {"registers", 128},      {"written", 128},
    {"epilogue", 384},   {"exchange", 64, 4},     {"multicast", 64, 2},  {"shared_tile", 160, 2}, {"handed", 32, 2},
    {"pushed", 32, 2},   {"acknowledged", 32, 2}, {"whole_warp", 64},    {"scaled", 160},         {"uneven", 96},
    {"peeked", 96}};

static const idiom tensor_idioms[] = {{"t_once", 128},   {"t_again", 128}, {"t_roles", 192},     {"t_chain", 160},
                                      {"t_handed", 256}, {"t_relay", 128}, {"t_shared", 192, 2}, {"t_pair", 192, 2},
                                      {"t_named", 160},  {"t_copy", 128}};
/* The kernels of one source, which are compiled for one compute capability. */
typedef struct collection {
    const char *file;
    const idiom *idioms;
    size_t count;
    unsigned cc;
} collection;
static const collection collections[] = {{"idioms", idioms, KILN__COUNT(idioms), 90},
                                         {"tensor", tensor_idioms, KILN__COUNT(tensor_idioms), 100}};

/* The changes of an instruction that make mutants. */
#define CHANGES(X)                                                                                                     \
    X(REMOVE, "removed")                                                                                               \
    X(PARITY, "for the other parity")                                                                                  \
    X(OTHER, "at the next mbarrier")                                                                                   \
    X(MORE, "count higher")                                                                                            \
    X(LESS, "count lower")                                                                                             \
    X(PLAIN, "without bytes")                                                                                          \
    X(TWICE, "twice")                                                                                                  \
    X(READ, "of reads only")                                                                                           \
    X(NARROW, "released for the block only")                                                                           \
    X(COUNTED, "without .noinc")                                                                                       \
    X(SWIZZLE64, "of a swizzle of 64 bytes")                                                                           \
    X(SWIZZLE0, "of no swizzle")                                                                                       \
    X(AHEAD, "of a matrix 1024 bytes further")                                                                         \
    X(ALONE, "without multicast")                                                                                      \
    X(LATER, "after the next marked instruction")
typedef enum change {
#define KILN_X(name, text) name,
    CHANGES(KILN_X)
#undef KILN_X
        CHANGE_COUNT
} change;
static const char *const change_texts[] = {
#define KILN_X(name, text) text,
    CHANGES(KILN_X)
#undef KILN_X
};

typedef struct exception {
    const char *idiom, *mark;
    change change;
} exception;
static const exception harmless[] = {
    /* The removed instruction only makes the copy faster. */
    {"bulk_sync", "prefetch", REMOVE},
    /* Only the thread that has waited issues the next load. The other threads access the buffer only after the mbarrier
     * of this load. */
    {"bulk_in_place", "free", REMOVE},
    /* The fence and the barrier for global memory also come after the initialisation, and before the copy. */
    {"bulk_global", "init.fence", REMOVE},
    {"bulk_global", "init.sync", REMOVE},
    /* Lane 0 continues with its own wait. The other lanes only need the barrier after this wait. */
    {"bulk_elected", "issue.syncwarp", REMOVE},
    /* A product is complete for its warpgroup as soon as one of the threads has waited. */
    {"written", "read", REMOVE},
    /* barrier.cluster has release and acquire semantics, which is enough for arrivals by threads. */
    {"handed", "init.fence", REMOVE},
    {"exchange", "init.fence", REMOVE}, /* st.async is not in the asynchronous proxy */
    /* The proxy fence also comes after the initialisation. */
    {"pushed", "init.fence", REMOVE},
    {"acknowledged", "init.fence", REMOVE},
    /* Before the next arrival, the warp executes another barrier of its lanes. */
    {"uneven", "read1.syncwarp", REMOVE},
    /* The thread that frees stage 1 has freed stage 0 before. */
    {"uneven", "empty0.wait", OTHER},
    /* A block waits for all bytes that other blocks send to it. */
    {"exchange", "end.sync", REMOVE},
    {"handed", "end.sync", REMOVE},
    /* The following entries are about tensor memory. relinquish_alloc_permit only lets other blocks allocate
     * earlier. */
    {"t_once", "relinquish", REMOVE},
    {"t_roles", "relinquish", REMOVE},
    /* The thread that issues the product executes the proxy fence after the barrier. */
    {"t_once", "written.proxy", LATER},
    {"t_again", "written.proxy", LATER},
    {"t_chain", "written.proxy", LATER},
    {"t_relay", "written.proxy", LATER},
    {"t_named", "written.proxy", LATER},
    /* the next instruction is a fence, and this order of two fences does not matter */
    {"t_copy", "written.proxy", LATER},
    /* Nothing writes the columns after the load. A thread that uses a loaded register gets the right value even if
     * wait::ld is missing. */
    {"t_once", "ld", LATER},
    {"t_once", "ld.wait", REMOVE},
    {"t_once", "ld.wait", LATER},
    {"t_again", "ld", LATER},
    {"t_again", "ld.wait", REMOVE},
    {"t_again", "ld.wait", LATER},
    {"t_chain", "ld", LATER},
    {"t_chain", "ld.wait", REMOVE},
    {"t_chain", "ld.wait", LATER},
    {"t_relay", "ld", LATER},
    {"t_relay", "ld.wait", REMOVE},
    {"t_relay", "ld.wait", LATER},
    {"t_shared", "ld", LATER},
    {"t_shared", "ld.wait", REMOVE},
    {"t_pair", "ld", LATER},
    {"t_pair", "ld.wait", REMOVE},
    {"t_handed", "back.ld", LATER},
    {"t_handed", "back.wait", REMOVE},
    {"t_handed", "ld.wait", LATER}, /* the warp waits before its own store to these lanes */
    /* dealloc is synchronous, so it needs only the barrier. */
    {"t_once", "read.before", REMOVE},
    {"t_once", "read.before", LATER},
    {"t_again", "read.before", REMOVE},
    {"t_again", "read.before", LATER},
    {"t_chain", "read.before", REMOVE},
    {"t_chain", "read.before", LATER},
    {"t_relay", "read.before", REMOVE},
    {"t_relay", "read.before", LATER},
    {"t_shared", "read.before", REMOVE},
    {"t_shared", "read.before", LATER},
    {"t_pair", "read.before", REMOVE},
    {"t_pair", "read.before", LATER},
    /* Another fence comes after the barrier. */
    {"t_roles", "free.after", REMOVE},
    /* The products after this barrier depend on copies, and not on operations of tensor memory. */
    {"t_roles", "full.after", REMOVE},
    {"t_roles", "full.after", LATER},
    /* The bytes of the copy may come before they are announced. */
    {"t_roles", "full.expect", LATER},
    /* The two copies are independent. */
    {"t_roles", "load.a", LATER},
    /* The order of initialisations does not matter. */
    {"t_roles", "free1.init", LATER},
    {"t_shared", "sums.init", LATER},
    {"t_pair", "sums.init", LATER},
    /* The wait for the sums of the next tile ends later. */
    {"t_roles", "sums.wait", OTHER},
    /* The later commit of the first product tracks the second product of the round before. */
    {"t_chain", "reused.after", REMOVE},
    /* This later commit also arrives later, so whoever waits for it knows the phase of the second product. */
    {"t_chain", "reused.wait", REMOVE},
    {"t_chain", "reused.wait", OTHER},
    /* The change exchanges two barriers, or moves a load behind another barrier. */
    {"t_handed", "handed", LATER},
    {"t_handed", "read", LATER},
    /* The last barrier gives the same order. */
    {"t_handed", "back2", REMOVE},
    /* When a block has its sums, no product uses its memory any more. */
    {"t_pair", "end", REMOVE},
    /* The warp that waits does not access tensor memory between the wait and the barrier. The warps that read have
     * fences. */
    {"t_named", "done.after", REMOVE},
    {"t_named", "done.after", LATER},
    {"t_named", "done.before", REMOVE},
    {"t_named", "done.before", LATER},
};

/* ---- the text of a mutant ---- */

/* One marked instruction of the PTX, which mutants change. */
typedef struct site {
    size_t begin, end; /* the begin and the end of the instruction's line */
    char insn[INSN], mark[64];
} site;

/* Returns a module with only one kernel, which the caller frees. It has the head of `text`, this kernel, and the end of
 * `text`. It is read in a tenth of the time of the whole text. */
static char *module_of(const char *text, const idiom *of)
{
    char entry[100];
    snprintf(entry, sizeof entry, "\n.visible .entry %s(", of->name);
    const char *first = strstr(text, "\n.visible"), *begin = strstr(text, entry), *tail = strstr(text, "\n\t.file");
    CU_ASSERT_FATAL(first && begin && tail);
    const char *end = strstr(begin + 1, "\n.visible");
    if (!end)
        end = tail;
    char *made = malloc(strlen(text) + 1);
    CU_ASSERT_FATAL(made != NULL);
    sprintf(made, "%.*s%.*s%s", (int)(first - text), text, (int)(end - begin), begin, tail);
    return made;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* Writes an instruction before `insn` that changes the last operand of `insn`. */
static void with_operand(char *out, const char *insn, const char *before)
{
    const char *last = strrchr(insn, ',');
    int head = (int)(last - insn);
    char operand[64] = "";
    sscanf(last + 1, " %60[^;]", operand);
    sprintf(out, "{ .reg .u32 q; mov.u32 q, %s; %s %.*s, q; }", operand, before, head, insn);
}

/* Adds `by` to the constant at the end of the instruction, and writes the instruction. Returns false if the result
 * would be below `least`. */
static bool with_immediate(char *out, const char *insn, int by, int least)
{
    size_t at = strlen(insn);
    while (at && (insn[at - 1] < '0' || insn[at - 1] > '9'))
        at--;
    while (at && insn[at - 1] >= '0' && insn[at - 1] <= '9')
        at--;
    int value = atoi(insn + at) + by;
    sprintf(out, "%.*s%d;", (int)at, insn, value);
    return value >= least;
}

static bool at_next(char *out, const char *insn)
{
    const char *close = strchr(insn, ']');
    sprintf(out, "%.*s+8%s", (int)(close - insn), insn, close);
    return true;
}

/* Writes the changed instruction, or "" if the change removes it. Returns false if this instruction has no such
 * change. */
static bool changed(char *out, const char *insn, change what, unsigned cc)
{
    const char *label = begins(insn, "L: ") ? "L: " : "";
    const char *op = insn + strlen(label);
    bool test = begins(op, "mbarrier.try_wait") || begins(op, "mbarrier.test_wait"), parity = strstr(op, ".parity");
    bool expect = begins(op, "mbarrier.arrive.expect_tx"), arrive = begins(op, "mbarrier.arrive.shared"),
         layout = begins(op, "or.b64");
    bool init = begins(op, "mbarrier.init"), group = strstr(op, "wait_group") != NULL;
    bool load = begins(op, "cp.async.bulk.shared"), store = strstr(op, ".bulk_group [") != NULL;
    bool commit = begins(op, "tcgen05.commit");
    bool computes = begins(op, "tcgen05.mma") || begins(op, "tcgen05.ld") || begins(op, "tcgen05.st") ||
                    begins(op, "tcgen05.cp");
    char inner[INSN];
    *out = '\0';
    switch (what) {
    case REMOVE:
        if (test)
            strcpy(out, "L: setp.eq.u32 p, 0, 0;");
        else if (arrive && !strstr(op, " _,"))
            sprintf(out, "mov.b64 %.*s, 0;", (int)strcspn(strchr(op, ' ') + 1, ","), strchr(op, ' ') + 1);
        return !layout && !store && !computes;
    case PARITY:
        if (!parity)
            return false;
        with_operand(inner, op, "xor.b32 q, q, 1;");
        sprintf(out, "%s%s", label, inner);
        return true;
    case OTHER: return (parity || expect || commit || (arrive && strstr(op, " _,"))) && at_next(out, insn);
    case MORE:
        if (expect)
            with_operand(out, op, "add.u32 q, q, 16;");
        return expect || ((init || group) && with_immediate(out, op, 1, 0));
    case LESS:
        if (expect)
            with_operand(out, op, "sub.u32 q, q, 16;");
        if (load) {
            const char *bytes = strstr(op, "], %") + 3, *after = strchr(bytes, ',');
            sprintf(out, "{ .reg .u32 q; sub.u32 q, %.*s, 16; %.*s q%s }", (int)(after - bytes), bytes,
                    (int)(bytes - op), op, after);
        }
        return expect || load || (init && with_immediate(out, op, -1, 1));
    case PLAIN:
        if (expect)
            sprintf(out, "mbarrier.arrive.shared::cta.b64 _, %.*s;", (int)(strrchr(op, ',') - strchr(op, '[')),
                    strchr(op, '['));
        return expect;
    case TWICE: sprintf(out, "%s %s", insn, insn); return arrive || expect || commit;
    case READ:
        if (begins(op, "cp.async.bulk.wait_group "))
            sprintf(out, "cp.async.bulk.wait_group.read %s", strrchr(op, ' ') + 1);
        return *out != '\0';
    case NARROW:
        if (begins(op, "mbarrier.arrive.release.cluster"))
            sprintf(out, "mbarrier.arrive%s", op + strlen("mbarrier.arrive.release.cluster"));
        return *out != '\0';
    case COUNTED:
        if (strstr(op, ".noinc"))
            sprintf(out, "cp.async.mbarrier.arrive.shared::cta.b64 %s", strchr(op, '['));
        return *out != '\0';
    case SWIZZLE64:
    case SWIZZLE0:
        if (layout)
            sprintf(out, "%.*s%s;", (int)(strrchr(op, ',') - op) + 1, op,
                    what == SWIZZLE0 ? " 0" : " 0x8000000000000000");
        return layout;
    case AHEAD:
        if (layout)
            sprintf(out, "%s add.u64 %.*s, %.*s, 64;", op, (int)(strchr(op, ',') - op - 7), op + 7,
                    (int)(strchr(op, ',') - op - 7), op + 7);
        return layout && cc >= 100;
    case ALONE: {
        const char *cast = strstr(op, ".multicast::cluster"), *end = strrchr(op, ',');
        if (commit && cast)
            sprintf(out, "%.*s%.*s;", (int)(cast - op), op, (int)(end - strstr(op, ".b64")), strstr(op, ".b64"));
        return commit && cast;
    }
    default: return false;
    }
}

/* Finds the next marked line after *at. */
static bool next_site(const char *text, size_t *at, site *s)
{
    const char *mark;
    while ((mark = strstr(text + *at, "// @"))) {
        size_t begin = (size_t)(mark - text), end = begin + strcspn(mark, "\n");
        while (begin && text[begin - 1] != '\n')
            begin--;
        *at = end;
        const char *line = text + begin + strspn(text + begin, " \t");
        if (line >= mark || mark - line >= INSN)
            continue;
        *s = (site){.begin = begin, .end = end};
        while (mark > line && mark[-1] == ' ')
            mark--;
        snprintf(s->insn, sizeof s->insn, "%.*s", (int)(mark - line), line);
        sscanf(strstr(mark, "@") + 1, "%60s", s->mark);
        return true;
    }
    return false;
}

/* Writes the mutant in which a marked instruction of tensor memory comes after the next marked instruction. Returns
 * false if a branch or a label is between them. A wait for an mbarrier is a loop, and a product needs the predicate
 * before it. */
static bool moved(char *out, const char *text, size_t after, const site *s)
{
    site next;
    if (!next_site(text, &after, &next) || strstr(s->insn, "tcgen05.mma") || strstr(s->insn, "_wait") ||
        strstr(next.insn, "_wait") || (begins(s->insn, "mbarrier.init") && begins(next.insn, "mbarrier.init")))
        return false;
    for (size_t k = s->end; k < next.begin; k++)
        if (text[k] == ':' || (begins(text + k, "bra") && text[k - 1] < 'a'))
            return false;
    sprintf(out, "%.*s%.*s\n%s%s", (int)s->begin, text, (int)(next.end - s->end), text + s->end, s->insn,
            text + next.end);
    return true;
}

/* ---- a run ---- */

typedef struct arguments {
    uint64_t in, out, raw;
    int32_t n;
    alignas(64) unsigned char maps[3][VM_TENSOR_BYTES];
} arguments;

static void set_map(arguments *a, unsigned which, uint64_t address, unsigned rows)
{
    vm_tensor_map map = {.mark = VM_TENSOR_MAP,
                         .rank = 2,
                         .type = 6, /* halves */
                         .swizzle = 1,
                         .address = address,
                         .stride = {128},
                         .last = {63, rows - 1},
                         .box = {16, (uint16_t)rows},
                         .step = {1, 1}};
    memcpy(a->maps[which], &map, sizeof map);
}

typedef struct outcome {
    bool loads;
    unsigned findings; /* errors */
    unsigned notes;    /* notes about tcgen05.fence */
    char text[600];    /* the text of the first finding */
} outcome;

/* Runs a mutant under the checks, and collects its findings and its results. */
static outcome run(const char *text, size_t length, const idiom *of, unsigned cc)
{
    vm_limits limits = {
        .memory = 64u << 20, .shared_per_block = 227u << 10, .step_budget = 1u << 22, .sm_count = 4, .cc = (int)cc};
    outcome o = {0};
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    vm_module *module = NULL;
    vm_device *device = vm_device_new(NULL, &limits);
    vm_check *check = check_new(NULL);
    CU_ASSERT_FATAL(device != NULL && check != NULL);
    check_attach(device, check);
    o.loads = ptx_parse(NULL, text, length, &ptx, &log) == PTX_OK &&
              decode_module_load(device, ptx, &module, &log) == PTX_OK;
    snprintf(o.text, sizeof o.text, "%s", kiln__text_get(&log));
    kiln__text_free(&log);
    if (o.loads) {
        arguments a = {.in = vm_alloc(device, BYTES), .out = vm_alloc(device, BYTES), .raw = vm_alloc(device, BYTES)};
        unsigned short *in = vm_pointer(device, a.in, BYTES);
        for (unsigned k = 0; k < BYTES / 2; k++)
            in[k] = (unsigned short)(0x3c00 + k % 64);
        set_map(&a, 0, a.in, 64);
        set_map(&a, 1, a.in + 8192, 8);
        set_map(&a, 2, a.out, 64);
        vm_fault fault = {0};
        vm_counters counters;
        struct vm_watch watch = {.checks = &check_hooks};
        vm_launch launch = {.module = module,
                            .kernel = vm_module_kernel(module, of->name),
                            .grid = {of->blocks ? of->blocks : 1, 1, 1},
                            .block = {of->threads, 1, 1},
                            .params = &a,
                            .hooks = &count_watch_hooks,
                            .watch = &watch};
        vm_run(device, &launch, &counters, &fault);
        for (size_t k = 0; k < check_count_findings(check); k++) {
            const kiln_check_finding *f = check_get_finding(check, k);
            o.notes += f->note && strstr(f->message, "tcgen05.fence");
            if (!f->note && !o.findings++)
                snprintf(o.text, sizeof o.text, "%s:%u %s (%s:%u)", kiln_check_text(f->kind), f->at.line, f->message,
                         f->other.what ? f->other.what : "", f->other.line);
        }
        if (!o.findings)
            snprintf(o.text, sizeof o.text, "%s", fault.message);
        vm_module_unload(device, module);
    }
    vm_device_free(device);
    check_free(check);
    return o;
}

/* ---- all kernels and mutants ---- */

static bool print_all;

static bool is_in(const exception *list, size_t count, const idiom *of, const site *s, change what)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(list[k].idiom, of->name) == 0 && strcmp(list[k].mark, s->mark) == 0 && list[k].change == what)
            return true;
    return false;
}

static char *read_idioms(const collection *c)
{
    char *text = NULL, path[500];
    size_t length;
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/mutants/%s.ptx", KILN_TEST_PTX, c->file);
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    return text;
}

static void test_idioms_of(const collection *c)
{
    char *text = read_idioms(c);
    for (size_t k = 0; k < c->count; k++) {
        char *one = module_of(text, &c->idioms[k]);
        outcome o = run(one, strlen(one), &c->idioms[k], c->cc);
        if (!o.loads || o.findings || o.text[0])
            fprintf(stderr, "%s: %u findings, %s\n", c->idioms[k].name, o.findings, o.text);
        CU_ASSERT_TRUE(o.loads && o.findings == 0 && o.text[0] == '\0');
        free(one);
    }
    kiln__free(NULL, text);
}

static void test_idioms(void)
{
    for (size_t k = 0; k < KILN__COUNT(collections); k++)
        test_idioms_of(&collections[k]);
}

/* Removes each tcgen05.fence of a kernel, because the kernels of CUTLASS contain no such instruction. */
static void remove_fences(char *text)
{
    for (char *at = text; (at = strstr(at, "tcgen05.fence"));)
        memset(at, ' ', strcspn(at, ";") + 1);
}

/* The checks must find no error in a kernel without fences. */
static void test_fences(void)
{
    const collection *c = &collections[1];
    char *text = read_idioms(c);
    for (size_t k = 0; k < c->count; k++) {
        char *one = module_of(text, &c->idioms[k]);
        remove_fences(one);
        outcome o = run(one, strlen(one), &c->idioms[k], c->cc);
        if (!o.loads || o.findings || o.text[0] || o.notes != 1)
            fprintf(stderr, "%s: %u findings, %u notes, %s\n", c->idioms[k].name, o.findings, o.notes, o.text);
        CU_ASSERT_TRUE(o.loads && o.findings == 0 && o.text[0] == '\0' && o.notes == 1);
        free(one);
    }
    kiln__free(NULL, text);
}

typedef struct tally {
    unsigned harmful, found, others, accused;
} tally;

/* Makes each mutant of a correct kernel. A harmful mutant must have findings, and a harmless mutant must have no
 * findings. */
static void test_mutants_of(const char *text, const idiom *of, unsigned cc, tally *all)
{
    size_t at = 0;
    char *mutant = malloc(strlen(text) + 2 * INSN);
    CU_ASSERT_FATAL(mutant != NULL);
    site s = {0};
    while (next_site(text, &at, &s))
        for (change what = REMOVE; what < CHANGE_COUNT; what++) {
            char insn[2 * INSN + 8];
            if (what == LATER ? cc < 100 || !moved(mutant, text, at, &s) : !changed(insn, s.insn, what, cc))
                continue;
            if (what != LATER)
                sprintf(mutant, "%.*s%s%s", (int)s.begin, text, insn, text + s.end);
            outcome o = run(mutant, strlen(mutant), of, cc);
            bool fine = is_in(harmless, KILN__COUNT(harmless), of, &s, what);
            all->harmful += !fine, all->found += !fine && o.findings;
            all->others += fine, all->accused += fine && o.findings;
            bool right = o.loads && fine == (o.findings == 0);
            if (print_all || !right)
                fprintf(stderr, "%s%s %s %s: %s\n",
                        right  ? ""
                        : fine ? "ACCUSED "
                               : "MISSED ",
                        of->name, s.mark, change_texts[what], o.text);
            CU_ASSERT_TRUE(right);
        }
    free(mutant);
}

static void test_mutants(void)
{
    for (size_t c = 0; c < KILN__COUNT(collections); c++) {
        char *text = read_idioms(&collections[c]);
        tally all = {0};
        for (size_t k = 0; k < collections[c].count; k++) {
            char *one = module_of(text, &collections[c].idioms[k]);
            test_mutants_of(one, &collections[c].idioms[k], collections[c].cc, &all);
            free(one);
        }
        printf("mutants of %s.cu: %u of %u harmful ones found, %u of %u others accused\n", collections[c].file,
               all.found, all.harmful, all.accused, all.others);
        CU_ASSERT_TRUE(all.harmful > 200);
        kiln__free(NULL, text);
    }
}

int main(int count, char **arguments_of)
{
    static const check_case cases[] = {{"idioms", test_idioms}, {"fences", test_fences}, {"mutants", test_mutants}};
    if (count == 2 && strcmp(arguments_of[1], "-a") == 0)
        print_all = true, count = 1;
    return check_main(count, arguments_of, "mutants", cases, KILN__COUNT(cases));
}
