/* Compares the counters of each kernel in vm/count.cu with numbers that were derived by hand. */
#include "vm_count.h"
#include "vm_check.h"

enum { ROOM = 1 << 20 };
typedef struct counted {
    vm_bench b;
    vm_profile *profile;
    uint64_t in, out;
    unsigned char *host_in, *host_out;
    kiln_counters c;
    vm_class_counts classes;
} counted;

static counted begin(unsigned threads)
{
    counted k = {.b = vm_bench_file("count.ptx", (vm_limits){.threads = threads})};
    k.profile = count_profile_new(NULL, k.b.module);
    CU_ASSERT_PTR_NOT_NULL_FATAL(k.profile);
    k.in = vm_bench_zeros(&k.b, ROOM, &k.host_in);
    k.out = vm_bench_zeros(&k.b, ROOM, &k.host_out);
    return k;
}

static void end(counted *k)
{
    count_profile_free(k->profile);
    vm_bench_end(&k->b);
}

/* Runs a kernel with the parameters in, out and three words. Sets k->c to its counters. */
static const kiln_counters *count(counted *k, const char *kernel, uint32_t blocks, uint32_t x, uint32_t y, uint32_t one,
                                  uint32_t two, uint32_t three)
{
    struct {
        uint64_t in, out;
        uint32_t one, two, three;
    } params = {k->in, k->out, one, two, three};
    struct vm_watch watch = {.profile = k->profile};
    vm_launch launch = {.module = k->b.module,
                        .kernel = vm_module_kernel(k->b.module, kernel),
                        .grid = {blocks, 1, 1},
                        .block = {x, y, 1},
                        .params = &params,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    count_profile_clear(k->profile);
    k->c = (kiln_counters){0};
    k->classes = (vm_class_counts){0};
    vm_fault_kind kind = vm_run(k->b.device, &launch, &k->b.counters, &k->b.fault);
    if (kind != VM_OK)
        fprintf(stderr, "%s: %s\n", kernel, k->b.fault.message);
    CU_ASSERT_EQUAL_FATAL(kind, VM_OK);
    count_profile_sum(k->profile, &k->c, &k->classes);
    CU_ASSERT_EQUAL(k->c.executed, k->b.counters.warp_instructions);
    CU_ASSERT_EQUAL(k->c.lanes, k->b.counters.lane_instructions);
    return &k->c;
}

static void is(int line, const char *field, uint64_t got, uint64_t want)
{
    if (got != want)
        fprintf(stderr, "%s:%d: %s is %llu, not %llu\n", __FILE__, line, field, (unsigned long long)got,
                (unsigned long long)want);
    CU_ASSERT_EQUAL(got, want);
}
#define IS(field, want) is(__LINE__, #field, k.c.field, want)

/* Compares five counters of the loads of one launch: requests, requested bytes, different bytes, sectors and lines. */
static void loads(counted *kept, int line, uint64_t requests, uint64_t bytes, uint64_t used, uint64_t sectors,
                  uint64_t lines)
{
    const kiln_counters *c = &kept->c;
    bool same = c->global_load_requests == requests && c->global_load_bytes == bytes && c->global_load_used == used &&
                c->global_load_sectors == sectors && c->global_load_lines == lines;
    if (!same)
        fprintf(stderr, "%s:%d: %llu requests, %llu bytes, %llu used, %llu sectors, %llu lines\n", __FILE__, line,
                (unsigned long long)c->global_load_requests, (unsigned long long)c->global_load_bytes,
                (unsigned long long)c->global_load_used, (unsigned long long)c->global_load_sectors,
                (unsigned long long)c->global_load_lines);
    CU_ASSERT_TRUE(same);
}

static void patterns(void)
{
    counted k = begin(1);
    /* Each of 4 warps reads 32 floats, which are 128 bytes, or 4 sectors of one line. */
    count(&k, "pattern", 1, 128, 1, 1, 0, 0);
    loads(&k, __LINE__, 4, 512, 512, 16, 4);
    IS(global_store_requests, 4), IS(global_store_sectors, 16), IS(global_store_lines, 4), IS(global_store_used, 512);
    /* Shifted by one float, a warp reads 124 bytes of one line and 4 bytes of the next line. */
    count(&k, "pattern", 1, 128, 1, 1, 1, 0);
    loads(&k, __LINE__, 4, 512, 512, 20, 8);
    /* Shifted by 8 floats, which are one sector, a warp still reads 4 sectors, of two lines. */
    count(&k, "pattern", 1, 128, 1, 1, 8, 0);
    loads(&k, __LINE__, 4, 512, 512, 16, 8);
    /* The lanes of a warp exchange their addresses, but access the same memory. */
    count(&k, "pattern", 1, 128, 1, 1, 0, 21);
    loads(&k, __LINE__, 4, 512, 512, 16, 4);
    /* A warp reads every 2nd, 4th or 32nd float, so its loads cover 256, 512 or 4096 bytes. */
    count(&k, "pattern", 1, 128, 1, 2, 0, 0);
    loads(&k, __LINE__, 4, 512, 512, 32, 8);
    count(&k, "pattern", 1, 128, 1, 4, 0, 0);
    loads(&k, __LINE__, 4, 512, 512, 64, 16);
    count(&k, "pattern", 1, 128, 1, 32, 0, 0);
    loads(&k, __LINE__, 4, 512, 512, 128, 128);
    /* All lanes read the same float. */
    count(&k, "pattern", 1, 128, 1, 0, 77, 0);
    loads(&k, __LINE__, 4, 512, 16, 4, 4);
    /* The 40 threads are a warp of 32 threads and a warp of 8 threads, which accesses one sector. */
    count(&k, "pattern", 1, 40, 1, 1, 0, 0);
    loads(&k, __LINE__, 2, 160, 160, 5, 2);
    IS(global_load_lanes, 40);
    /* Only half of each warp reads. */
    count(&k, "halves", 1, 128, 1, 0, 0, 0);
    loads(&k, __LINE__, 4, 256, 256, 8, 4);
    IS(divergent, 4), IS(branches, 4);
    end(&k);
}

static void widths(void)
{
    counted k = begin(1);
    count(&k, "bytes", 1, 64, 1, 0, 0, 0);
    loads(&k, __LINE__, 2, 64, 64, 2, 2); /* 32 bytes per warp */
    count(&k, "wide2", 1, 64, 1, 0, 0, 0);
    loads(&k, __LINE__, 2, 512, 512, 16, 4);
    count(&k, "wide4", 1, 64, 1, 0, 0, 0);
    loads(&k, __LINE__, 2, 1024, 1024, 32, 8);
    /* A block of 16 x 2 threads reads two pieces of 64 bytes, from rows of 1000 floats. The second piece starts at byte
     * 4000, inside a line. */
    count(&k, "corner", 1, 16, 2, 1000, 0, 0);
    loads(&k, __LINE__, 1, 128, 128, 4, 2);
    count(&k, "corner", 1, 16, 2, 1003, 0, 0); /* the second piece is from byte 4012 to 4076, in three sectors */
    loads(&k, __LINE__, 1, 128, 128, 5, 2);
    end(&k);
}

static void scatter(void)
{
    counted k = begin(1);
    enum { N = 128 };
    uint32_t *index;
    struct {
        uint64_t in, out, index;
    } p = {k.in, k.out, vm_bench_zeros(&k.b, N * 4, &index)};
    for (uint32_t n = 0; n < N; n++)
        index[n] = n * 7919 % 8191 * 32; /* no two elements are in one line */
    struct vm_watch watch = {.profile = k.profile};
    vm_launch launch = {.module = k.b.module,
                        .kernel = vm_module_kernel(k.b.module, "scattered"),
                        .grid = {1, 1, 1},
                        .block = {N, 1, 1},
                        .params = &p,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    CU_ASSERT_EQUAL_FATAL(vm_run(k.b.device, &launch, NULL, NULL), VM_OK);
    count_profile_sum(k.profile, &k.c, NULL);
    loads(&k, __LINE__, 8, 1024, 1024, 16 + 128, 4 + 128); /* the indices, which are aligned, and the elements at
                                                              these indices */
    for (uint32_t n = 0; n < N; n++)
        /* four lanes read the same float, and the eight floats of a warp are in different sectors */
        index[n] = n % 32 / 4 * 8;
    count_profile_clear(k.profile);
    k.c = (kiln_counters){0};
    CU_ASSERT_EQUAL_FATAL(vm_run(k.b.device, &launch, NULL, NULL), VM_OK);
    count_profile_sum(k.profile, &k.c, NULL);
    loads(&k, __LINE__, 8, 1024, 512 + 4 * 32, 16 + 32, 4 + 8);
    end(&k);
}

static void layouts(void)
{
    counted k = begin(1);
    enum { N = 32 };
    /* If each thread reads a row of 32 floats, each of the 32 loads accesses 32 lines. If each thread reads a column, a
     * load accesses one line. */
    count(&k, "thread_a_row", 1, 64, 1, N, 0, 0);
    loads(&k, __LINE__, 2 * N, 2 * N * 128, 2 * N * 128, 2 * N * 32, 2 * N * 32);
    count(&k, "thread_a_column", 1, 64, 1, N, 0, 0);
    loads(&k, __LINE__, 2 * N, 2 * N * 128, 2 * N * 128, 2 * N * 4, 2 * N);
    /* A load from structures of 12 bytes moves 384 bytes, but needs 128. A load from three arrays has the aligned
     * pattern. */
    count(&k, "aos", 1, 32, 1, 0, 0, 0);
    loads(&k, __LINE__, 1, 128, 128, 12, 3);
    /* All lanes read the same element. Its three fields are in one sector, or in three sectors. */
    count(&k, "aos_same", 1, 32, 1, 0, 0, 0);
    loads(&k, __LINE__, 3, 384, 12, 3, 3);
    count(&k, "soa_same", 1, 32, 1, 1024, 0, 0);
    loads(&k, __LINE__, 3, 384, 12, 3, 3);
    end(&k);
}

static void local_memory(void)
{
    /* mine[] is indexed at run time, so it is in local memory. The kernel makes eight stores and one load. Each access
     * uses one offset in all lanes, and their interleaved words are one line. */
    counted k = begin(1);
    count(&k, "spilled", 1, 64, 1, 0, 0, 0);
    IS(local_store_requests, 16), IS(local_store_sectors, 64), IS(local_store_lines, 16), IS(local_store_bytes, 2048);
    IS(local_load_requests, 2), IS(local_load_sectors, 8), IS(local_load_lines, 2), IS(local_load_used, 256);
    end(&k);
}

static void constants(void)
{
    counted k = begin(1);
    struct {
        uint64_t out;
        uint32_t times;
    } p = {k.out, 0};
    struct vm_watch watch = {.profile = k.profile};
    vm_launch launch = {.module = k.b.module,
                        .kernel = vm_module_kernel(k.b.module, "constant"),
                        .grid = {1, 1, 1},
                        .block = {64, 1, 1},
                        .params = &p,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    static const struct {
        uint32_t times, addresses;
    } table[] = {{0, 2}, {1, 64}, {8, 64}, {16, 32}, {256, 2}};
    for (size_t n = 0; n < KILN__COUNT(table); n++) { /* two warps read table[t * times % 256] */
        p.times = table[n].times;
        count_profile_clear(k.profile);
        k.c = (kiln_counters){0};
        CU_ASSERT_EQUAL_FATAL(vm_run(k.b.device, &launch, NULL, NULL), VM_OK);
        count_profile_sum(k.profile, &k.c, NULL);
        IS(const_requests, 2), IS(const_lanes, 64), IS(const_addresses, table[n].addresses);
        IS(global_load_requests, 0);
    }
    end(&k);
}

static void banks(void)
{
    counted k = begin(1);
    count(&k, "transpose_plain", 1, 32, 32, 0, 0, 0);
    IS(shared_store_requests, 32), IS(shared_store_wavefronts, 32), IS(shared_store_ideal, 32);
    IS(shared_load_requests, 32), IS(shared_load_wavefronts, 1024), IS(shared_load_ideal, 32),
        IS(shared_load_worst, 32);
    IS(barriers, 32);
    count(&k, "transpose_padded", 1, 32, 32, 0, 0, 0);
    IS(shared_store_wavefronts, 32), IS(shared_load_wavefronts, 32), IS(shared_load_worst, 1);

    struct {
        uint64_t out;
        uint32_t times, plus;
    } p = {k.out, 0, 0};
    struct vm_watch watch = {.profile = k.profile};
    vm_launch launch = {.module = k.b.module,
                        .grid = {1, 1, 1},
                        .block = {32, 1, 1},
                        .params = &p,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    static const struct {
        const char *kernel;
        uint32_t times, wavefronts, ideal;
    } table[] = {
        {"banks", 1, 1, 1},
        {"banks", 0, 1, 1},
        {"banks", 2, 2, 1},
        {"banks", 3, 1, 1},
        {"banks", 4, 4, 1},
        {"banks", 16, 16, 1},
        {"banks", 31, 1, 1},
        {"banks", 32, 32, 1},
        {"banks", 33, 1, 1},
        {"banks1", 1, 1, 1},
        {"banks1", 4, 1, 1},
        {"banks1", 8, 2, 1}, /* the lanes that read bytes of one word share a pass */
        /* half warps are served one after the other */
        {"banks8", 1, 2, 2},
        {"banks8", 2, 4, 2},
        {"banks8", 3, 2, 2},
        {"banks8", 16, 32, 2},
        {"banks16", 1, 4, 4},
        {"banks16", 2, 8, 4},
        {"banks16", 3, 4, 4},
        {"banks16", 8, 32, 4}, /* by quarters */
    };
    for (size_t n = 0; n < KILN__COUNT(table); n++) {
        p.times = table[n].times;
        launch.kernel = vm_module_kernel(k.b.module, table[n].kernel);
        count_profile_clear(k.profile);
        k.c = (kiln_counters){0};
        CU_ASSERT_EQUAL_FATAL(vm_run(k.b.device, &launch, NULL, NULL), VM_OK);
        count_profile_sum(k.profile, &k.c, NULL);
        IS(shared_load_wavefronts, table[n].wavefronts), IS(shared_load_ideal, table[n].ideal);
        IS(shared_store_wavefronts, table[n].wavefronts), IS(shared_store_ideal, table[n].ideal);
    }
    end(&k);
}

static void reductions(void)
{
    counted k = begin(1);
    /* All 8 warps diverge at the steps 1 to 16, four warps at step 32, two at 64, and one at 128. The first warp
     * diverges at the last `if`. */
    count(&k, "reduce_divergent", 1, 256, 1, 0, 0, 0);
    IS(branches, 72), IS(divergent, 48), IS(barriers, 64);
    /* In each of 8 warps, 16 lanes work at step 1, and then 8, 4, 2 and 1. After that, 1 lane works in 4, 2 and 1
     * warps. Each lane loads twice. */
    IS(shared_load_lanes, 2 * (128 + 64 + 32 + 16 + 8 + 4 + 2 + 1) + 1);
    IS(shared_load_requests, 2 * (5 * 8 + 4 + 2 + 1) + 1);
    /* Here whole warps work until 16 threads are left. But at step s the words are 2 s apart, so 2, 4, 8, 8, 8, 4, 2
     * and 1 lanes use the same bank, in 4, 2, 1, 1, 1, 1, 1 and 1 warps. */
    count(&k, "reduce_strided", 1, 256, 1, 0, 0, 0);
    IS(branches, 72), IS(divergent, 6);
    IS(shared_load_requests, 2 * 12 + 1), IS(shared_load_wavefronts, 2 * 47 + 1), IS(shared_load_worst, 8);
    IS(shared_store_requests, 8 + 12), IS(shared_store_wavefronts, 8 + 47);
    /* Here whole warps work too, and neighbouring lanes read neighbouring words. The last step and the last `if` are
     * one branch. */
    count(&k, "reduce_sequential", 1, 256, 1, 0, 0, 0);
    IS(branches, 64), IS(divergent, 5);
    IS(shared_load_requests, 2 * 12 + 1), IS(shared_load_wavefronts, 2 * 12 + 1), IS(shared_load_worst, 1);
    IS(shared_store_wavefronts, 8 + 12);
    count(&k, "warp_sum", 1, 64, 1, 0, 0, 0);
    IS(warp_syncs, 10), IS(divergent, 2);
    CU_ASSERT_EQUAL(k.classes.executed[KILN_CLASS_warp], 10);
    end(&k);
}

static void atomics(void)
{
    counted k = begin(1);
    uint32_t *keys = (uint32_t *)(void *)k.host_in;
    for (uint32_t n = 0; n < 256; n++)
        keys[n] = n;
    count(&k, "histogram", 1, 256, 1, 0, 0, 0); /* every lane has its own bin */
    IS(global_atomic_requests, 8), IS(global_atomic_addresses, 256), IS(global_atomic_serial, 8),
        IS(global_atomic_most, 1);
    IS(global_atomic_sectors, 32);
    count(&k, "histogram_shared", 1, 256, 1, 0, 0, 0);
    IS(shared_atomic_requests, 8), IS(shared_atomic_wavefronts, 8), IS(shared_atomic_serial, 8);
    for (uint32_t n = 0; n < 256; n++)
        keys[n] = 3;
    count(&k, "histogram", 1, 256, 1, 0, 0, 0); /* all lanes use the same bin */
    IS(global_atomic_addresses, 8), IS(global_atomic_serial, 256), IS(global_atomic_most, 32),
        IS(global_atomic_sectors, 256);
    count(&k, "histogram_shared", 1, 256, 1, 0, 0, 0);
    IS(shared_atomic_addresses, 8), IS(shared_atomic_serial, 256), IS(shared_atomic_most, 32);
    /* additions to one address of shared memory are made for all lanes at once */
    IS(shared_atomic_wavefronts, 8), IS(shared_atomic_ideal, 8);
    IS(global_atomic_requests, 8), IS(global_atomic_serial, 8);
    for (uint32_t n = 0; n < 256; n++)
        keys[n] = n % 4 ? n % 32 : 7; /* every fourth lane uses bin 7, and so does lane 7 */
    count(&k, "histogram", 1, 256, 1, 0, 0, 0);
    IS(global_atomic_addresses, 8 * 24), IS(global_atomic_serial, 8 * 9), IS(global_atomic_most, 9);
    end(&k);
}

/* Tests that the numbers are the same for any number of host threads, and that they equal the sums over instructions
 * and over classes. */
static void repeats(void)
{
    counted one = begin(1), four = begin(4);
    for (uint32_t n = 0; n < ROOM / 4; n++)
        ((uint32_t *)(void *)one.host_in)[n] = ((uint32_t *)(void *)four.host_in)[n] = n * 2654435761u >> 26;
    static const char *const kernels[] = {"histogram", "thread_a_row", "warp_sum", "halves"};
    for (size_t n = 0; n < KILN__COUNT(kernels); n++) {
        count(&one, kernels[n], 64, 128, 1, 7, 0, 0);
        count(&four, kernels[n], 64, 128, 1, 7, 0, 0);
        CU_ASSERT_EQUAL(memcmp(&one.c, &four.c, sizeof one.c), 0);
        CU_ASSERT_EQUAL(memcmp(one.profile->tally, four.profile->tally, one.profile->insn_count * sizeof(vm_tally)), 0);
        CU_ASSERT_EQUAL(
            memcmp(one.profile->sites, four.profile->sites, one.profile->site_count * sizeof(kiln_counters)), 0);
        uint64_t executed = 0;
        for (size_t c = 0; c < KILN_CLASS_COUNT; c++)
            executed += one.classes.executed[c];
        CU_ASSERT_EQUAL(executed, one.c.executed);
    }
    kiln_counters twice = one.c; /* the counts of two launches add up */
    count_add_counters(&twice, &one.c);
    CU_ASSERT_EQUAL(twice.executed, 2 * one.c.executed);
    CU_ASSERT_EQUAL(twice.shared_load_worst, one.c.shared_load_worst);
    end(&one);
    end(&four);
}

/* Compares the counters with a slow computation of their rules, for random accesses. */
static void rules(void)
{
    uint64_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        vm_access a = {.space = PTX_SPACE_SHARED, .kind = round % 3 == 0 ? VM_ATOMIC | VM_WRITE : VM_READS};
        a.bytes = 1u << round % 5;
        for (unsigned lane = 0; lane < 32; lane++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            a.lanes |= (uint32_t)(seed >> 60 != 0) << lane;
            a.address[lane] = (seed >> 33) % (round % 7 ? 64u << round % 9 : 1u << 20) * a.bytes;
        }
        unsigned group = a.bytes <= 4 ? 32 : 128 / a.bytes, waves = 0, ideal = 0, addresses = 0, most = 0, sectors = 0;
        if (round % 11 == 0) /* neighbouring lanes, or lanes two apart, use one address */
            for (unsigned lane = 0; lane < 32; lane++)
                a.address[lane] = a.address[lane & (round % 2 ? ~1u : ~2u)];
        for (unsigned from = 0, together = group; from < 32; from += together) {
            unsigned worst = 0;
            together = group;
            for (unsigned apart = 1; apart <= 2 && a.bytes >= 8 && a.kind == VM_READS && from % (2 * group) == 0;
                 apart++) {
                /* two groups of lanes share a pass if all their pairs of lanes agree */
                bool pairs = true, first = false, second = false;
                for (unsigned x = from; x < from + 2 * group; x++) {
                    bool here = a.lanes >> x & 1, there = a.lanes >> (x ^ apart) & 1;
                    pairs = pairs && (!here || !there || a.address[x] == a.address[x ^ apart]);
                    first |= here && x < from + group;
                    second |= here && x >= from + group;
                }
                if (pairs && first && second)
                    together = 2 * group;
            }
            for (unsigned bank = 0; bank < 32; bank++) {
                unsigned here = 0;
                /* x stands for word x % 4 of lane x / 4 */
                for (unsigned x = from * 4; x < (from + together) * 4; x++) {
                    uint64_t word = a.address[x / 4] / 4 + x % 4;
                    bool takes = a.lanes >> x / 4 & 1 && x % 4 < (a.bytes < 4 ? 1 : a.bytes / 4) && word % 32 == bank;
                    for (unsigned y = from * 4; takes && y < x && !(a.kind & VM_ATOMIC); y++)
                        takes = !(a.lanes >> y / 4 & 1 && y % 4 < (a.bytes < 4 ? 1 : a.bytes / 4) &&
                                  a.address[y / 4] / 4 + y % 4 == word);
                    here += takes;
                }
                worst = here > worst ? here : worst;
            }
            waves += worst;
            ideal += worst != 0;
        }
        for (unsigned x = 0; x < 32; x++) {
            unsigned same = 0, before = 0, sector = 0;
            for (unsigned y = 0; y < 32; y++) {
                bool both = a.lanes >> x & a.lanes >> y & 1;
                same += both && a.address[x] == a.address[y];
                before += both && y < x && a.address[x] == a.address[y];
                sector += both && y < x && a.address[x] / 32 == a.address[y] / 32;
            }
            most = same > most ? same : most;
            addresses += (a.lanes >> x & 1) && before == 0;
            sectors += (a.lanes >> x & 1) && sector == 0;
        }
        unsigned got_ideal, got_most;
        uint64_t pieces[64];
        CU_ASSERT_EQUAL(count_wavefronts_of(&a, &got_ideal), waves);
        CU_ASSERT_EQUAL(got_ideal, ideal);
        CU_ASSERT_EQUAL(count_addresses(&a, &got_most), addresses);
        CU_ASSERT_EQUAL(got_most, most);
        CU_ASSERT_EQUAL(count_pieces(&a, 5, pieces), sectors);
        kiln_counters c = {0};
        a.space = PTX_SPACE_GLOBAL;
        a.kind = VM_READS;
        count_access(&c, &a);
        CU_ASSERT_EQUAL(c.global_load_sectors, sectors);
        CU_ASSERT_EQUAL(c.global_load_used, (uint64_t)addresses * a.bytes);
        CU_ASSERT_EQUAL(c.global_load_lines, count_pieces(&a, 7, pieces));
    }
}

static void classes(void)
{
    counted k = begin(1);
    count(&k, "thread_a_column", 1, 32, 1, 8, 0, 0);
    CU_ASSERT_EQUAL(k.classes.executed[KILN_CLASS_fp32_add], 8);
    CU_ASSERT_EQUAL(k.classes.executed[KILN_CLASS_load_global], 8);
    CU_ASSERT_EQUAL(k.classes.executed[KILN_CLASS_store_global], 1);
    CU_ASSERT_EQUAL(k.classes.executed[KILN_CLASS_load_param], 3);
    CU_ASSERT_EQUAL(k.classes.lanes[KILN_CLASS_fp32_add], 256);
    end(&k);
}

static uint64_t seen_bytes, seen_blocks;
static void see(void *user, const vm_warp *w, const vm_code *i, const vm_access *list, unsigned count_of)
{
    (void)w, (void)i;
    CU_ASSERT_EQUAL(*(int *)user, 5);
    for (unsigned n = 0; n < count_of; n++)
        seen_bytes += (unsigned)__builtin_popcount(list[n].lanes) * list[n].bytes;
}
static void block_ends(void *user, const vm_block *block)
{
    CU_ASSERT_EQUAL(*(int *)user, 5);
    seen_blocks += block->number;
}

static void onlookers(void)
{
    counted k = begin(1);
    int user = 5;
    struct {
        uint64_t in, out;
        uint32_t words[3];
    } p = {k.in, k.out, {1, 0, 0}};
    struct vm_watch watch = {.see = see, .block_ends = block_ends, .user = &user};
    vm_launch launch = {.module = k.b.module,
                        .kernel = vm_module_kernel(k.b.module, "pattern"),
                        .grid = {4, 1, 1},
                        .block = {100, 1, 1},
                        .params = &p,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    CU_ASSERT_EQUAL(vm_run(k.b.device, &launch, NULL, NULL), VM_OK);
    CU_ASSERT_EQUAL(seen_bytes, 2 * 4 * 400);
    CU_ASSERT_EQUAL(seen_blocks, 0 + 1 + 2 + 3);
    end(&k);
}

/* Lets each allocation of a counted launch fail in turn. The result must be a fault or the complete count. */
static void out_of_memory(void)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 g;\n"
                               ".entry k() { red.global.add.u32 [g], 1; ret; }";
    bool done = false;
    for (long n = 0; !done && n < 2000; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        /* one thread, because the allocator counts without a lock */
        vm_limits limits = {.memory = 1 << 20, .shared_per_block = 1024, .threads = 1};
        vm_device *d = vm_device_new(&mem, &limits);
        kiln__text log = {.mem = &mem};
        ptx_module *ptx = NULL;
        vm_module *module = NULL;
        vm_profile *profile = NULL;
        if (d && ptx_parse(&mem, text, sizeof text - 1, &ptx, &log) == PTX_OK &&
            decode_module_load(d, ptx, &module, &log) == PTX_OK &&
            (profile = count_profile_new(&mem, module)) != NULL) {
            struct vm_watch watch = {.profile = profile};
            vm_launch launch = {.module = module,
                                .kernel = vm_module_kernel(module, "k"),
                                .grid = {4, 1, 1},
                                .block = {32, 1, 1},
                                .params = "",
                                .hooks = &count_watch_hooks,
                                .watch = &watch};
            vm_fault fault;
            kiln_counters sum = {0};
            vm_fault_kind kind = vm_run(d, &launch, NULL, &fault);
            count_profile_sum(profile, &sum, NULL);
            CU_ASSERT(kind == VM_FAULT_MEMORY || (kind == VM_OK && sum.global_atomic_requests == 4));
        }
        count_profile_free(profile);
        vm_module_unload(d, module);
        kiln__text_free(&log);
        vm_device_free(d);
        CU_ASSERT_EQUAL(oom.live, 0);
        done = !oom.failed;
    }
    CU_ASSERT_TRUE(done);
}

/* ldmatrix reads eight rows of 16 bytes at a time. wmma.load reads a word for each lane and register. */
static void matrices(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u32 stride) {\n"
        ".reg .b32 %r<16>; .shared .align 128 .b8 s[8192]; mov.u32 %r0, %tid.x; ld.param.u32 %r1, [stride];\n"
        "mov.u32 %r2, s; mad.lo.u32 %r3, %r0, %r1, %r2; mov.u32 %r4, 16;\n"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r3];\n"
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r3];\n"
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12}, [%r2], %r4; ret; }";
    /* If the rows are next to each other, x4 takes four wavefronts, and x1 takes one. If they are 128 bytes apart,
     * eight rows use the same banks each time. The fragment has four registers. A register has 16 bytes of each of
     * eight rows of 32 bytes, so rows 0 and 4 use the same banks. */
    static const struct {
        uint32_t stride, wavefronts;
    } table[] = {{16, 4 + 1 + 4 * 2}, {128, 32 + 8 + 4 * 2}, {144, 4 + 1 + 4 * 2}};
    for (size_t n = 0; n < KILN__COUNT(table); n++) {
        vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
        vm_profile *profile = count_profile_new(NULL, b.module);
        struct vm_watch watch = {.profile = profile};
        vm_launch launch = {.module = b.module,
                            .kernel = vm_module_kernel(b.module, "k"),
                            .grid = {1, 1, 1},
                            .block = {32, 1, 1},
                            .params = &table[n].stride,
                            .hooks = &count_watch_hooks,
                            .watch = &watch};
        kiln_counters c = {0};
        CU_ASSERT_EQUAL(vm_run(b.device, &launch, NULL, &b.fault), VM_OK);
        count_profile_sum(profile, &c, NULL);
        is(__LINE__, "shared_load_wavefronts", c.shared_load_wavefronts, table[n].wavefronts);
        is(__LINE__, "shared_load_ideal", c.shared_load_ideal, 4 + 1 + 4);
        is(__LINE__, "shared_load_bytes", c.shared_load_bytes, 512 + 128 + 512);
        count_profile_free(profile);
        vm_bench_end(&b);
    }
}

/* Lanes store to four blocks of a cluster, and each block has its own banks. The stride decides whether the words of
 * one block are in eight banks or in one. */
static void clusters(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 stride) {\n"
        ".reg .b32 %r<16>; .shared .align 128 .b8 s[8192]; mov.u32 %r0, %tid.x; ld.param.u32 %r1, [stride];\n"
        "and.b32 %r2, %r0, 3; shr.u32 %r3, %r0, 2; mov.u32 %r4, s; mad.lo.u32 %r5, %r3, %r1, %r4;\n"
        "mapa.shared::cluster.u32 %r6, %r5, %r2; st.shared::cluster.u32 [%r6], %r0;\n"
        "barrier.cluster.arrive; barrier.cluster.wait; ret; }";
    static const struct {
        uint32_t stride, wavefronts;
    } table[] = {{4, 4}, {128, 32}};
    for (size_t n = 0; n < KILN__COUNT(table); n++) {
        vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
        vm_profile *profile = count_profile_new(NULL, b.module);
        struct vm_watch watch = {.profile = profile};
        vm_launch launch = {.module = b.module,
                            .kernel = vm_module_kernel(b.module, "k"),
                            .grid = {4, 1, 1},
                            .block = {32, 1, 1},
                            .cluster = {4, 1, 1},
                            .params = &table[n].stride,
                            .hooks = &count_watch_hooks,
                            .watch = &watch};
        kiln_counters c = {0};
        CU_ASSERT_EQUAL(vm_run(b.device, &launch, NULL, &b.fault), VM_OK);
        count_profile_sum(profile, &c, NULL);
        is(__LINE__, "shared_store_wavefronts", c.shared_store_wavefronts, 4 * table[n].wavefronts);
        is(__LINE__, "shared_store_ideal", c.shared_store_ideal, 4 * 4);
        count_profile_free(profile);
        vm_bench_end(&b);
    }
}

/* Kernels that a kernel launches are counted with it. Each of 8 blocks launches 1 + 2 + 3 + 4 blocks of one warp, each
 * with one atomic operation. The counts must be the same on one and on four host threads. */
static void children(void)
{
    vm_tally *first = NULL;
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        vm_bench b = vm_bench_file("child.ptx", (vm_limits){.threads = threads});
        vm_profile *profile = count_profile_new(NULL, b.module);
        uint32_t *out;
        struct {
            uint64_t to;
            int n;
        } p = {vm_bench_zeros(&b, 4096, &out), 3};
        struct vm_watch watch = {.profile = profile};
        vm_launch launch = {.module = b.module,
                            .kernel = vm_module_kernel(b.module, "one_each"),
                            .grid = {8, 1, 1},
                            .block = {32, 1, 1},
                            .params = &p,
                            .hooks = &count_watch_hooks,
                            .watch = &watch};
        kiln_counters c = {0};
        CU_ASSERT_EQUAL(vm_run(b.device, &launch, &b.counters, &b.fault), VM_OK);
        count_profile_sum(profile, &c, NULL);
        is(__LINE__, "executed", c.executed, b.counters.warp_instructions);
        is(__LINE__, "global_atomic_requests", c.global_atomic_requests, 80);
        is(__LINE__, "global_atomic_lanes", c.global_atomic_lanes, 80 * 32);
        if (threads == 1) {
            first = calloc(profile->insn_count, sizeof *first);
            memcpy(first, profile->tally, profile->insn_count * sizeof *first);
        } else {
            CU_ASSERT_EQUAL(memcmp(first, profile->tally, profile->insn_count * sizeof *first), 0);
        }
        count_profile_free(profile);
        vm_bench_end(&b);
    }
    free(first);
}

static const check_case tests[] = {
    {"patterns", patterns},
    {"widths", widths},
    {"scattered", scatter},
    {"layouts", layouts},
    {"local", local_memory},
    {"constants", constants},
    {"banks", banks},
    {"reductions", reductions},
    {"atomics", atomics},
    {"repeats", repeats},
    {"rules", rules},
    {"classes", classes},
    {"onlookers", onlookers},
    {"matrices", matrices},
    {"clusters", clusters},
    {"children", children},
    {"out of memory", out_of_memory},
};
KILN_SUITE("sim.vm_count", tests)
