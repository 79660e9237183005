/* Tests that the checks find planted bugs, and find nothing in correct kernels. tests/sim/check/ *.cu has the kernels,
 * and marks the wrong lines by comments. */
#include "check_bench.h"

typedef struct expected {
    const char *kernel;
    uint32_t blocks, threads, dynamic;
    int kind;                 /* a kiln_check_kind, or -1 if nothing may be found */
    const char *line, *other; /* marks "@name" of the source; NULL if the finding tells no line */
    int block, thread;        /* block and thread that the finding gives as an example; -1 is not compared */
    const char *allocation;   /* a part of the description of the memory, or NULL */
    int note;
} expected;

#define OK(name, blocks, threads)                                                                                      \
    {                                                                                                                  \
        "ok_" name, blocks, threads, 0, -1, NULL, NULL, -1, -1, NULL, 0                                                \
    }
#define BUG(name, blocks, threads, kind, other, block, thread, allocation)                                             \
    {                                                                                                                  \
        "bug_" name, blocks, threads, 0, KILN_CHECK_##kind, "@" name, other, block, thread, allocation, 0              \
    }

static const expected memory_cases[] = {
    BUG("past_end", 33, 32, BOUNDS, NULL, 32, 0, "0 bytes past the end of the allocation of 4096 bytes"),
    OK("past_end", 33, 32),
    BUG("before", 1, 64, BOUNDS, NULL, 0, 0, "4 bytes before the allocation of 4096 bytes"),
    OK("before", 1, 64),
    BUG("null", 1, 32, BOUNDS, NULL, 0, 0, "a null pointer"),
    BUG("far", 1, 32, BOUNDS, NULL, 0, 5, "12308 bytes past the end of the allocation of 4096 bytes"),
    BUG("vector_end", 1, 32, BOUNDS, NULL, 0, 31, "0 bytes past the end of the allocation of 4096 bytes"),
    OK("vector_end", 1, 32),
    BUG("atomic_outside", 1, 32, BOUNDS, NULL, 0, 3, "28 bytes past the end"),
    BUG("inner_loop", 1, 32, BOUNDS, NULL, 0, 31, "0 bytes past the end"),
    BUG("inlined", 1, 32, BOUNDS, NULL, 0, 0, "0 bytes past the end"),
    BUG("variable", 1, 32, BOUNDS, NULL, 0, 16, "0 bytes past the end of 'table'"),
    OK("variable", 1, 64),
    BUG("constant_outside", 1, 32, BOUNDS, NULL, 0, 16, "past the end of 'weights'"),
    OK("constant", 1, 32),
    BUG("shared_end", 1, 32, BOUNDS, NULL, 0, 31, "0 bytes past the end of "),
    BUG("shared_neighbour", 1, 32, BOUNDS, NULL, 0, 28, "0 bytes past the end of "),
    OK("shared_two", 1, 32),
    {"bug_dynamic_end", 1, 32, 128, KILN_CHECK_BOUNDS, "@dynamic_end", NULL, 0, 24, "the block has 128 bytes", 0},
    {"ok_dynamic", 1, 32, 128, -1, NULL, NULL, -1, -1, NULL, 0},
    BUG("local", 1, 32, BOUNDS, NULL, 0, 0, "local memory"),
    OK("local", 1, 32),
    BUG("misaligned", 1, 32, MISALIGNED, NULL, 0, 9, "at offset 18 of an allocation"),
    BUG("misaligned_vector", 1, 32, MISALIGNED, NULL, 0, 1, "at offset 4 of an allocation"),
    BUG("misaligned_shared", 1, 32, MISALIGNED, NULL, 0, 1, "at offset 3 of "),
    BUG("use_after_free", 1, 1, FREED, NULL, 0, 0, "was freed"),
    OK("malloc", 1, 32),
    BUG("double_free", 1, 1, BAD_FREE, NULL, 0, 0, "was freed"),
    BUG("free_middle", 1, 1, BAD_FREE, NULL, 0, 0, "at offset 16 of an allocation"),
    BUG("free_twice_at_once", 1, 32, BAD_FREE, NULL, 0, 1, "at offset 0 of an allocation"),
    BUG("free_foreign", 1, 32, BAD_FREE, NULL, 0, 4, "at offset 0 of an allocation (4096 bytes"),
    BUG("unwritten", 1, 32, UNINITIALISED, NULL, 0, 0, "at offset 28 of an allocation (4096 bytes"),
    OK("written", 1, 32),
    BUG("unwritten_half", 1, 32, UNINITIALISED, NULL, 0, 16, "at offset 64 of an allocation"),
    BUG("unwritten_atomic", 1, 1, UNINITIALISED, NULL, 0, 0, "at offset 12 of an allocation"),
    BUG("unwritten_shared", 1, 32, UNINITIALISED, NULL, 0, 0, "at offset 128 of "),
    OK("written_shared", 1, 32),
    BUG("shared_kept", 2, 32, UNINITIALISED, NULL, 1, 0, "at offset 0 of "),
    /* a note tells that some bytes of a load belong to no allocation */
    {"ok_padding", 1, 32, 0, -1, NULL, NULL, -1, -1, NULL, 1},
    OK("bytes", 1, 32),
    BUG("read_only", 1, 32, READ_ONLY, "@read_only.read", 0, 0, "at offset 0 of an allocation"),
    OK("read_only", 1, 32),
    {"bug_stack", 1, 1, 0, KILN_CHECK_FAULT, NULL, NULL, 0, 0, NULL, 0},
    OK("stack", 1, 1),
};

static const expected order_cases[] = {
    BUG("no_barrier", 1, 64, RACE, "@no_barrier.other", 0, -1, "at offset "),
    OK("barrier", 1, 64),
    BUG("heard", 2, 32, RACE, "@heard.other", 1, -1, "of 'heard_data'"),
    OK("heard", 2, 32),
    BUG("gather", 2, 64, RACE, "@gather.other", -1, -1, "of 'gathered_data'"),
    OK("gather", 2, 64),
    OK("system", 1, 32),
    BUG("write_after_read", 1, 64, RACE, "@write_after_read.other", 0, -1, "at offset "),
    OK("write_after_read", 1, 64),
    BUG("two_writers", 1, 64, RACE, "@two_writers", 0, 32, "at offset 0 of "),
    BUG("reduction", 1, 128, RACE, "@reduction", 0, -1, "at offset "),
    OK("reduction", 1, 128),
    BUG("loop_tile", 1, 64, RACE, "@loop_tile.other", 0, -1, "at offset "),
    OK("loop_tile", 1, 64),
    OK("double_buffer", 1, 64),
    BUG("histogram", 1, 64, RACE, "@histogram", 0, -1, "at offset "),
    OK("histogram", 1, 64),
    BUG("atomic_and_plain", 1, 64, RACE, "@atomic_and_plain.other", 0, -1, "at offset 0 of "),
    BUG("one_instruction", 1, 32, RACE, "@one_instruction", 0, 0, "at offset 0 of "),
    OK("one_value", 1, 32),
    BUG("bytes", 1, 64, RACE, "@bytes.other", 0, -1, "at offset "),
    OK("bytes_apart", 1, 64),
    BUG("warp_synchronous", 1, 32, RACE, "@warp_synchronous.other", 0, 0, "at offset "),
    OK("syncwarp", 1, 32),
    BUG("half_syncwarp", 1, 32, RACE, "@half_syncwarp.other", 0, -1, "at offset "),
    OK("tiles", 1, 32),
    BUG("warp_reduce_shared", 1, 32, RACE, "@warp_reduce_shared.read", 0, -1, "at offset "),
    OK("warp_reduce_shared", 1, 32),
    OK("producer", 1, 64),
    BUG("producer", 1, 64, RACE, "@producer.other", 0, -1, "at offset "),
    BUG("wrong_barrier", 1, 128, RACE, "@wrong_barrier.other", 0, -1, "at offset "),
    OK("pairs", 1, 128),
    BUG("no_wait", 1, 32, RACE, NULL, 0, 0, "at offset "),
    BUG("wait_no_barrier", 1, 64, RACE, NULL, 0, -1, "at offset "),
    BUG("wait_one_too_few", 1, 64, RACE, NULL, 0, -1, "at offset "),
    OK("copy_async", 1, 64),
    BUG("copy_over_reads", 1, 64, RACE, NULL, 0, -1, "at offset "),
    BUG("blocks_write", 2, 32, RACE, "@blocks_write", 1, 0, "at offset 0 of an allocation (4096 bytes"),
    OK("blocks_write", 2, 32),
    {"note_blocks_same", 2, 32, 0, KILN_CHECK_RACE, NULL, NULL, 1, 0, "at offset 0 of an allocation", 1},
    BUG("blocks_count", 2, 32, RACE, "@blocks_count", 1, 0, "at offset 12 of an allocation"),
    OK("blocks_count", 2, 32),
    BUG("neighbour_block", 2, 32, RACE, "@neighbour_block.other", 1, 0, "at offset 0 of an allocation"),
    BUG("flag_no_fence", 2, 32, RACE, "@flag_no_fence.other", 1, 0, "'cell'"),
    OK("flag", 2, 32),
    BUG("last_block", 2, 32, RACE, "@last_block.other", 1, 0, "'value'"),
    OK("last_block", 2, 32),
    OK("last_block_one_fence", 2, 32),
    OK("look_back", 12, 32),
    OK("packed_look_back", 12, 32),
    OK("grid_sync", 4, 64),
    BUG("no_grid_sync", 2, 32, RACE, "@no_grid_sync.other", 1, 0, "at offset 124 of an allocation"),
    OK("spin_lock", 4, 64),
    BUG("no_lock", 2, 32, RACE, "@no_lock", 1, 0, "'guarded'"),
    OK("aggregated", 4, 64),
    BUG("block_global", 1, 64, RACE, "@block_global.other", 0, -1, "at offset "),
    OK("block_global", 1, 64),
    OK("shared_flag", 1, 64),
    BUG("shared_flag", 1, 64, RACE, "@shared_flag.other", 0, -1, "at offset "),
    BUG("divergent", 1, 64, BARRIER, NULL, 0, 1, NULL),
    BUG("two_places", 1, 32, BARRIER, "@two_places.other", 0, -1, NULL),
    BUG("counts", 1, 64, BARRIER, NULL, 0, 32, NULL),
    BUG("never_complete", 1, 64, BARRIER, NULL, 0, 0, NULL),
    BUG("part_of_warp", 1, 64, BARRIER, NULL, 0, 33, NULL),
    OK("early_return", 1, 64),
    OK("uniform_loop", 1, 64),
    OK("votes", 1, 64),
    BUG("shuffle_inactive", 1, 32, WARP, NULL, 0, 0, NULL),
    BUG("not_in_mask", 1, 32, WARP, NULL, 0, 16, NULL),
    BUG("shuffle_gone", 1, 48, WARP, NULL, 0, 32, NULL),
    BUG("masks_differ", 1, 32, WARP, NULL, 0, 8, NULL),
    BUG("elsewhere", 1, 32, WARP, NULL, 0, 0, NULL),
    OK("warp_operations", 1, 32),
    OK("half_warp", 1, 48),
    OK("groups_apart", 1, 32),
    BUG("groups_apart", 1, 32, RACE, "@groups_apart.other", 0, -1, "at offset "),
};

static const expected async_cases[] = {
    OK("mbarrier", 1, 64),
    {"bug_mbarrier", 1, 64, 0, KILN_CHECK_RACE, "@mbarrier.other", "@mbarrier", 0, -1, "at offset ", 0},
    {"ok_bulk", 1, 64, 0, KILN_CHECK_ASYNC, NULL, NULL, 0, 0, "at offset 0 of", 1}, /* no proxy fence after the reads */
    {"bug_bulk_end", 1, 32, 0, KILN_CHECK_BOUNDS, NULL, NULL, 0, 0,
     "0 bytes past the end of the allocation of 4096 bytes", 0},
    {"bug_bulk_over_reads", 1, 64, 0, KILN_CHECK_RACE, NULL, "@bulk_over_reads.other", 0, 0, "at offset ", 0},
    OK("ldmatrix", 1, 32),
    {"bug_ldmatrix", 1, 32, 0, KILN_CHECK_RACE, NULL, "@ldmatrix.other", 0, -1, "at offset ", 0},
};

static const expected missed_cases[] = {
    BUG("volatile", 1, 32, RACE, NULL, 0, -1, "at offset "),
    OK("volatile", 1, 32),
    OK("volatile_own", 1, 32),
    OK("volatile_flag", 1, 64),
    BUG("scope", 4, 32, RACE, NULL, 1, 0, "at offset 0 of an allocation"),
    OK("scope", 4, 32),
    OK("scope_own", 4, 32),
    BUG("local", 1, 32, UNINITIALISED, NULL, 0, 1, "the thread uses 128 bytes of local memory"),
    OK("local", 1, 32),
    OK("local_parameter", 1, 32),
    {"bug_local_next", 1, 32, 0, KILN_CHECK_BOUNDS, "@local_next", NULL, 0, 0, "at 32 of a local variable", 1},
    OK("local_next", 1, 32),
    BUG("rows", 4, 32, BOUNDS, NULL, 0, 25, "in the padding of row 0, whose 100 bytes end before column 104"),
    OK("rows", 4, 32),
};

static const expected tensor_cases[] = {
    OK("early", 1, 128),
    BUG("early", 1, 128, RACE, "@early.other", 0, -1, NULL),
    BUG("uncommitted", 1, 128, RACE, "@uncommitted.other", 0, -1, NULL),
    OK("store", 1, 128),
    BUG("store", 1, 128, RACE, "@store.other", 0, -1, NULL),
    OK("fences", 1, 256),
    BUG("before", 1, 256, ASYNC, "@before.other", 0, -1, NULL),
    BUG("after", 1, 256, ASYNC, "@after.other", 0, -1, NULL),
    OK("third", 1, 384),
    BUG("third", 1, 384, RACE, NULL, 0, -1, NULL),
    OK("reused", 1, 128),
    BUG("reused", 1, 128, RACE, "@reused.other", 0, -1, "of 's' ("),
    BUG("proxy", 1, 128, ASYNC, NULL, 0, 0, "of 's' ("),
    BUG("kept", 1, 32, LEAK, NULL, 0, 0, NULL),
    BUG("dealloc", 1, 128, RACE, NULL, 0, -1, NULL),
    BUG("reach", 1, 128, BOUNDS, NULL, 0, 0, NULL),
    {"ok_reach", 1, 128, 4096, -1, NULL, NULL, -1, -1, NULL, 0},
    BUG("unfinished", 1, 128, ASYNC, NULL, 0, 0, NULL),
    OK("far", 2, 128),
    BUG("far", 2, 128, ASYNC, NULL, 1, 0, NULL),
    OK("order", 1, 128),
    BUG("order", 1, 128, RACE, "@order.other", 0, -1, NULL),
    OK("told", 2, 128),
    OK("relaxed", 2, 128),
    BUG("relaxed", 2, 128, RACE, NULL, -1, 0, NULL),
    BUG("told", 2, 128, RACE, "@told.other", 0, 32, "of an allocation"),
    {"bug_loaded", 1, 128, 0, KILN_CHECK_ASYNC, "@loaded", "@loaded.other", 0, -1, NULL, 1},
};

/* The line of `source` that ends in the mark, 0: none. */
static const expected cluster_cases[] = {
    OK("reduce", 8, 32),
    BUG("reduce", 4, 32, RACE, "@reduce.other", 3, 0, "of block (1,0,0) of the cluster"),
    BUG("left", 2, 32, FREED, NULL, 1, 0, "block (0,0,0) of the cluster has exited, at cluster.cu:"),
    BUG("end", 2, 32, BOUNDS, NULL, 1, 31, "the block has 128 bytes of shared memory, of block (0,0,0) of the cluster"),
    BUG("unwritten", 2, 32, UNINITIALISED, NULL, 1, 0, "of block (0,0,0) of the cluster"),
    BUG("again", 2, 32, RACE, "@again.other", 0, 0, "at offset 0 of 's' (128 bytes)"),
    OK("again", 4, 32),
    OK("histogram", 16, 64),
    {"ok_multicast", 4, 64, 0, KILN_CHECK_ASYNC, NULL, NULL, -1, 0, "of 'tile'", 1}, /* as in ok_bulk */
    BUG("multicast", 4, 64, RACE, "@multicast.other", 0, 0, "of 'tile' (256 bytes), of block (1,0,0) of the cluster"),
    OK("ring", 8, 32),
    OK("push", 2, 32),
    OK("global", 8, 32),
    BUG("global", 4, 32, RACE, "@global.other", -1, -1, "allocation (4096 bytes"),
    OK("narrow", 2, 32),
    BUG("narrow", 2, 32, RACE, "@narrow.other", 0, 0, "of 'box' (4 bytes)"),
    OK("leaves", 2, 32),
    BUG("leaves", 2, 32, FREED, NULL, 1, 0, NULL),
    BUG("never", 2, 64, BARRIER, NULL, 0, 0, NULL),
};

static unsigned line_of(const char *source, const char *mark)
{
    unsigned line = 1;
    size_t length = strlen(mark);
    for (const char *at = source; *at; at++) {
        line += *at == '\n';
        if (strncmp(at, mark, length) == 0 && (at[length] == '\n' || at[length] == ' '))
            return line;
    }
    return 0;
}

/* Returns true if the place of a finding is at this line, or was inlined from a header by a call at this line. */
static bool is_at(const kiln_check_side *side, const char *file, unsigned line)
{
    char call[200];
    snprintf(call, sizeof call, "called at %s:%u", file, line);
    const char *found = strstr(side->inlined, call);
    return (strcmp(side->file, file) == 0 && side->line == line) ||
           (found && (found[strlen(call)] == '\0' || found[strlen(call)] == ','));
}

static void show(const check_bench *b)
{
    for (size_t k = 0; k < check_count_findings(b->check); k++) {
        const kiln_check_finding *f = check_get_finding(b->check, k);
        fprintf(stderr, "  %s%s %s:%u (%s) block %u thread %u: %s; other %s %s:%u thread %u; %llu\n",
                f->note ? "note: " : "", kiln_check_text(f->kind), f->at.file, f->at.line, f->at.inlined,
                f->at.block[0], f->at.thread[0], f->message, f->other.what ? f->other.what : "-", f->other.file,
                f->other.line, f->other.thread[0], (unsigned long long)f->count);
    }
}

static bool fits(const expected *e, const kiln_check_finding *f, const char *source, const char *file)
{
    unsigned line = e->line ? line_of(source, e->line) : 0, other = e->other ? line_of(source, e->other) : 0;
    return (int)f->kind == e->kind && f->note == e->note && (!e->line || (line && is_at(&f->at, file, line))) &&
           (!other || is_at(&f->other, file, other)) && (e->block < 0 || f->at.block[0] == (unsigned)e->block) &&
           (e->thread < 0 || f->at.thread[0] == (unsigned)e->thread) &&
           (!e->allocation || strstr(f->allocation, e->allocation)) && strcmp(f->kernel, e->kernel) == 0 &&
           f->message[0];
}

/* Runs cases. At least one finding must be the expected one. A case that expects no kind must end without a fault. If
 * it has `note`, its findings must all be notes, and otherwise it must have no findings. */
static void run_cases(const expected *cases, size_t count, const char *name)
{
    char file[64], ptx[64];
    snprintf(file, sizeof file, "%s.cu", name);
    snprintf(ptx, sizeof ptx, "%s.ptx", name);
    size_t length, text_length;
    char *source = check_read(KILN_TEST_DATA "/check", file, &length),
         *text = check_read(KILN_TEST_PTX "/check", ptx, &text_length);
    for (size_t k = 0; k < count; k++) {
        const expected *e = &cases[k];
        check_bench b = check_bench_new(text, text_length);
        if (strstr(e->kernel, "rows"))
            check_rows(b.device, b.params.raw, 100, 128);
        check_bench_run(&b, e->kernel, e->blocks, e->threads, e->dynamic);
        bool right = e->kind < 0 && b.fault.kind == VM_OK;
        for (size_t n = 0; n < check_count_findings(b.check); n++) {
            const kiln_check_finding *f = check_get_finding(b.check, n);
            right = e->kind < 0 ? right && e->note && f->note : right || fits(e, f, source, file);
        }
        if (!right) {
            fprintf(stderr, "%s: %zu findings, %s\n", e->kernel, check_count_findings(b.check), b.fault.message);
            show(&b);
        }
        CU_ASSERT_TRUE(right);
        check_bench_end(&b);
    }
    kiln__free(NULL, source);
    kiln__free(NULL, text);
}

static void test_memory(void) { run_cases(memory_cases, KILN__COUNT(memory_cases), "memory"); }
static void test_async(void) { run_cases(async_cases, KILN__COUNT(async_cases), "async"); }
static void test_clusters(void) { run_cases(cluster_cases, KILN__COUNT(cluster_cases), "cluster"); }
static void test_tensor_memory(void) { run_cases(tensor_cases, KILN__COUNT(tensor_cases), "tensor"); }
static void test_missed(void) { run_cases(missed_cases, KILN__COUNT(missed_cases), "missed"); }
static void test_order(void) { run_cases(order_cases, KILN__COUNT(order_cases), "order"); }

/* Each lane of a warp writes an element and counts itself. The lane that counts last reads all elements. */
static size_t count_races(const char *fence)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .b32 ticket;\n.global .align 4 .b8 values[128];\n"
        ".visible .entry last(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n{\n"
        ".reg .pred %%p<2>;\n.reg .b32 %%r<8>;\n.reg .b64 %%d<8>;\n"
        "ld.param.u64 %%d1, [out];\nmov.u32 %%r1, %%tid.x;\nmov.u64 %%d2, values;\nmul.wide.u32 %%d3, %%r1, 4;\n"
        "add.s64 %%d4, %%d2, %%d3;\nst.global.u32 [%%d4], %%r1;\n%s\natom.global.add.u32 %%r2, [ticket], 1;\n%s\n"
        "setp.ne.u32 %%p1, %%r2, 31;\n@%%p1 bra END;\nld.global.u32 %%r3, [values];\n"
        "ld.global.u32 %%r4, [values+124];\nadd.u32 %%r5, %%r3, %%r4;\nst.global.u32 [%%d1], %%r5;\n"
        "END:\nret;\n}\n",
        fence, fence);
    check_bench b = check_bench_new(text, strlen(text));
    size_t races = 0;
    check_bench_run(&b, "last", 1, 32, 0);
    for (size_t k = 0; k < check_count_findings(b.check); k++)
        races += check_get_finding(b.check, k)->kind == KILN_CHECK_RACE;
    check_bench_end(&b);
    return races;
}

static void test_last_lane(void)
{
    CU_ASSERT_EQUAL(count_races("membar.gl;"), 0);
    CHECK(count_races("") > 0);
}

/* Thread 0 writes an element, executes a fence, and sets a flag. Thread 32, whose warp runs later, accesses the flag by
 * `access`, and reads the element. Returns the number of races. */
static size_t count_flag_races(const char *access)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .b32 flag;\n.global .align 4 .b32 value;\n"
        ".visible .entry later(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n{\n"
        ".reg .pred %%p<3>;\n.reg .b32 %%r<8>;\n.reg .b64 %%d<2>;\n"
        "ld.param.u64 %%d1, [out];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, 1;\n"
        "setp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra OTHER;\nst.global.u32 [value], %%r2;\nmembar.gl;\n"
        "st.volatile.global.u32 [flag], %%r2;\nbra END;\n"
        "OTHER:\nsetp.ne.u32 %%p2, %%r1, 32;\n@%%p2 bra END;\n%s\nmembar.gl;\nld.global.u32 %%r4, [value];\n"
        "st.global.u32 [%%d1], %%r4;\nEND:\nret;\n}\n",
        access);
    check_bench b = check_bench_new(text, strlen(text));
    size_t races = 0;
    check_bench_run(&b, "later", 1, 64, 0);
    for (size_t k = 0; k < check_count_findings(b.check); k++)
        races += check_get_finding(b.check, k)->kind == KILN_CHECK_RACE;
    check_bench_end(&b);
    return races;
}

/* A load of the flag sees the value that thread 0 has written, so it acquires. A store reads no value, so it does not
 * acquire. */
static void test_store_acquires_nothing(void)
{
    CU_ASSERT_EQUAL(count_flag_races("ld.volatile.global.u32 %r3, [flag];"), 0);
    CU_ASSERT_EQUAL(count_flag_races("atom.global.add.u32 %r3, [flag], 1;"), 0);
    CU_ASSERT_EQUAL(count_flag_races("st.volatile.global.u32 [flag], %r2;"), 1);
}

int main(int count, char **arguments)
{
    static const check_case cases[] = {{"memory", test_memory},
                                       {"order", test_order},
                                       {"async", test_async},
                                       {"clusters", test_clusters},
                                       {"missed", test_missed},
                                       {"tensor memory", test_tensor_memory},
                                       {"the last lane of a warp", test_last_lane},
                                       {"a store acquires nothing", test_store_acquires_nothing}};
    return check_main(count, arguments, "checks", cases, KILN__COUNT(cases));
}
