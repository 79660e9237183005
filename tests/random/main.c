/* main.c - random kernels on two devices:
 *   random record FILE --count N     runs the kernels of seeds 1 to N on the GPU and writes the results. It leaves out
 *                                    kernels that fault there, and kernels whose results depend on ptxas' optimisation level
 *   random check FILE                runs the file's seeds on the simulated device and compares the results
 *   random compare --count N         runs both, and shortens a kernel that differs as long as it still differs
 *   random run SEED                  prints hashes and outputs of one kernel
 *   random ptx SEED                  prints the PTX of one kernel
 *   --device sim|cuda    another device than the command's default
 *   --first SEED         another first seed than 1
 *   --cut K              only the first K statements of the kernel's body
 *   --slice I/N          every N-th seed from the I-th (from 0), to spread work over processes
 *   --level 0..4         ptxas' optimisation level of run
 * After a fault a process can do nothing more on a GPU, so record and compare continue in a new process, which gets the
 * counts so far with --ran and --bad.
 * Exit codes: 0 no differences, 1 differences, 2 an error of the program or of a file, 77 no device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "random.h"

enum { LOG = 4096, OUT_WORDS = RANDOM_THREADS_MOST * RANDOM_WORDS };
#define WHOLE UINT32_MAX

typedef struct options {
    const char *command, *file, *device;
    uint64_t count, first, slice, slices, ran, bad;
    unsigned cut, level;
    char **words; /* the words of the command line */
} options;

typedef struct device {
    kiln__driver driver;
    CUcontext context;
    CUdeviceptr in, out, cells;
} device;

typedef struct outcome {
    char error[LOG + 128]; /* "": the kernel ran */
    uint64_t hash;
    uint64_t out[OUT_WORDS];
    uint32_t cells[RANDOM_CELLS];
    random_kernel kernel; /* the kernel without its text */
} outcome;

/* ---- devices ---- */

static CUresult context_open(device *d)
{
    CUdevice ordinal;
    CUresult r = d->driver.cuDeviceGet_(&ordinal, 0);
    r = r ? r : d->driver.cuDevicePrimaryCtxRetain_(&d->context, ordinal);
    r = r ? r : d->driver.cuCtxSetCurrent_(d->context);
    r = r ? r : d->driver.cuMemAlloc_(&d->in, RANDOM_INPUTS * 4);
    r = r ? r : d->driver.cuMemAlloc_(&d->out, (size_t)OUT_WORDS * 8);
    return r ? r : d->driver.cuMemAlloc_(&d->cells, RANDOM_CELLS * 4);
}

static void context_close(device *d)
{
    d->driver.cuMemFree_(d->in);
    d->driver.cuMemFree_(d->out);
    d->driver.cuMemFree_(d->cells);
    d->driver.cuCtxSetCurrent_(NULL);
    d->driver.cuDevicePrimaryCtxRelease_(0);
}

static bool device_open(device *d, bool simulated)
{
    kiln_error *error = NULL;
    *d = (device){0};
    kiln_status status = simulated ? kiln__driver_open_sim(NULL, &d->driver, &error)
                                   : kiln__driver_open_cuda(NULL, &d->driver, &error);
    if (status != KILN_OK || context_open(d) != CUDA_SUCCESS) {
        fprintf(stderr, "random: %s\n", status != KILN_OK ? kiln_error_message(error) : "no context on the device");
        kiln_error_free(error);
        return false;
    }
    return true;
}

static void device_close(device *d)
{
    context_close(d);
    kiln__driver_close(&d->driver);
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data; /* FNV-1a, which is enough to tell two outputs apart */
    while (bytes--)
        hash = (hash ^ *at++) * 0x100000001b3ull;
    return hash;
}

/* Makes inputs of all kinds: random bits, small numbers, edge values, floats near one. */
static void make_inputs(uint64_t seed, uint32_t in[RANDOM_INPUTS])
{
    static const uint32_t edges[] = {0,           1,           2,           UINT32_MAX,  0x80000000u,
                                     0x7fffffffu, 0x3f800000u, 0xff800000u, 0x00000001u, 0x00800000u,
                                     0x7f7fffffu, 0xffffu,     0x8000u,     0x7c00u};
    uint64_t state = seed * 0x2545f4914f6cdd1dull + 99;
    for (unsigned k = 0; k < RANDOM_INPUTS; k++) {
        uint32_t x = (uint32_t)(random_next(&state) >> 32);
        switch (x % 4) {
        case 0: in[k] = edges[x / 4 % KILN__COUNT(edges)]; break;
        case 1: in[k] = x >> 24; break;
        case 2: in[k] = 0x3f000000u + (x >> 7); break;
        default: in[k] = (uint32_t)(random_next(&state) >> 32); break;
        }
    }
}

static CUresult launch(device *d, CUmodule module, outcome *o)
{
    CUfunction function;
    size_t threads = (size_t)o->kernel.grid * o->kernel.block[0] * o->kernel.block[1] * o->kernel.block[2];
    void *arguments[] = {&d->in, &d->out, &d->cells};
    CUresult r = d->driver.cuModuleGetFunction_(&function, module, "k");
    r = r ? r
          : d->driver.cuLaunchKernel_(function, o->kernel.grid, 1, 1, o->kernel.block[0], o->kernel.block[1],
                                      o->kernel.block[2], 0, NULL, arguments, NULL);
    r = r ? r : d->driver.cuCtxSynchronize_();
    r = r ? r : d->driver.cuMemcpyDtoH_(o->out, d->out, threads * RANDOM_WORDS * 8);
    r = r ? r : d->driver.cuMemcpyDtoH_(o->cells, d->cells, sizeof o->cells);
    o->hash = mix(mix(0xcbf29ce484222325ull, o->out, threads * RANDOM_WORDS * 8), o->cells, sizeof o->cells);
    return r;
}

/* Runs one kernel. Returns false if the device is lost. */
static bool run(device *d, uint64_t seed, unsigned cut, unsigned level, outcome *o)
{
    uint32_t in[RANDOM_INPUTS], cells[RANDOM_CELLS];
    char log[LOG] = "";
    CUmodule module = NULL;
    CUjit_option asked[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {log, (void *)(uintptr_t)(LOG - 1), (void *)(uintptr_t)level};
    o->error[0] = '\0';
    o->hash = 0;
    random_kernel_make(seed, cut, &o->kernel);
    make_inputs(seed, in);
    for (unsigned k = 0; k < RANDOM_CELLS; k++)
        cells[k] = 0x01234567u * (k + 1);
    CUresult r = d->driver.cuMemcpyHtoD_(d->in, in, sizeof in);
    r = r ? r : d->driver.cuMemcpyHtoD_(d->cells, cells, sizeof cells);
    r = r ? r : d->driver.cuMemsetD8_(d->out, 0xee, (size_t)OUT_WORDS * 8);
    const char *what = "load";
    r = r ? r : d->driver.cuModuleLoadDataEx_(&module, o->kernel.text, 3, asked, values);
    free(o->kernel.text);
    o->kernel.text = NULL;
    if (r == CUDA_SUCCESS) {
        what = "run";
        r = launch(d, module, o);
        d->driver.cuModuleUnload_(module);
    }
    if (r == CUDA_SUCCESS)
        return true;
    const char *name = "?";
    d->driver.cuGetErrorName_(r, &name);
    snprintf(o->error, sizeof o->error, "%s: %s %s", what, name, log);
    return !module || d->driver.simulator; /* false after a fault on a GPU, which loses the device */
}

/* ---- commands ---- */

static bool mine(const options *o, uint64_t seed) { return seed % o->slices == o->slice; }

static bool agree(const outcome *a, const outcome *b) { return !a->error[0] && !b->error[0] && a->hash == b->hash; }

/* Continues after a seed that lost the device, in a new process. */
static int again(const options *o, uint64_t seed, uint64_t ran, uint64_t bad)
{
    char first[32], count[32], counted[32], wrong[32], slice[64];
    snprintf(first, sizeof first, "%" PRIu64, seed + 1);
    snprintf(count, sizeof count, "%" PRIu64, o->first + o->count - seed - 1);
    snprintf(counted, sizeof counted, "%" PRIu64, ran);
    snprintf(wrong, sizeof wrong, "%" PRIu64, bad);
    snprintf(slice, sizeof slice, "%" PRIu64 "/%" PRIu64, o->slice, o->slices);
    char *words[] = {
        o->words[0], (char *)o->command, "--first", first,           "--count", count, "--ran", counted, "--bad",
        wrong,       "--slice",          slice,     (char *)o->file, NULL};
    fflush(stdout);
    execv("/proc/self/exe", words);
    perror("random: execv");
    return 2;
}

/* Records the outcome of each seed on a device. A seed is recorded only if optimised code and code without optimisation
 * agree. */
static int record(const options *o, device *d, outcome *got, outcome *plain)
{
    FILE *file = fopen(o->file, o->ran ? "a" : "w");
    uint64_t ran = o->ran, bad = o->bad;
    if (!file) {
        fprintf(stderr, "random: cannot write %s\n", o->file);
        return 2;
    }
    if (!ran)
        fputs("# What a GPU made of each random kernel (README.md): seed, hash of its outputs.\n", file);
    for (uint64_t seed = o->first; seed < o->first + o->count; seed++) {
        if (!mine(o, seed))
            continue;
        ran++;
        bool whole = run(d, seed, WHOLE, 4, got) && run(d, seed, WHOLE, 0, plain);
        if (agree(got, plain)) {
            fprintf(file, "%" PRIu64 " %016" PRIx64 "\n", seed, got->hash);
            continue;
        }
        bad++;
        printf("left out: seed %" PRIu64 " %s\n", seed,
               got->error[0] ? got->error
               : whole       ? "depends on the optimisation level"
                             : plain->error);
        if (!whole) {
            fclose(file);
            return again(o, seed, ran, bad);
        }
    }
    printf("%" PRIu64 " kernels, %" PRIu64 " left out\n", ran, bad);
    return fclose(file) ? 2 : 0;
}

/* Runs the seeds of a recording on a device, and counts the results that are equal and those that differ. */
static int check(const options *o, device *d, outcome *got)
{
    FILE *file = fopen(o->file, "r");
    char line[128];
    size_t same = 0, differ = 0;
    if (!file) {
        fprintf(stderr, "random: cannot read %s\n", o->file);
        return 2;
    }
    while (fgets(line, sizeof line, file)) {
        uint64_t seed, want;
        if (line[0] == '#')
            continue;
        if (sscanf(line, "%" SCNu64 " %" SCNx64, &seed, &want) != 2) {
            fprintf(stderr, "random: %s: not as this program writes it: %s", o->file, line);
            fclose(file);
            return 2;
        }
        if (!mine(o, seed))
            continue;
        bool whole = run(d, seed, WHOLE, 4, got), good = !got->error[0] && got->hash == want;
        if (!good)
            printf("DIFFERS: seed %" PRIu64 " %s\n", seed, got->error);
        same += good;
        differ += !good;
        if (!whole) {
            fclose(file);
            fprintf(stderr, "random: the device is lost after seed %" PRIu64 "\n", seed);
            return 1;
        }
    }
    fclose(file);
    printf("%zu kernels as wanted, %zu differ\n", same, differ);
    return differ || !same ? 1 : 0;
}

static void show(const outcome *got, const outcome *want)
{
    size_t threads = (size_t)got->kernel.grid * got->kernel.block[0] * got->kernel.block[1] * got->kernel.block[2],
           shown = 0;
    if (got->error[0] || want->error[0])
        printf("    simulated: %s\n    GPU: %s\n", got->error, want->error);
    for (size_t k = 0; k < threads * RANDOM_WORDS && shown < 6; k++)
        if (got->out[k] != want->out[k]) {
            printf("    thread %zu word %zu: %016" PRIx64 ", on the GPU %016" PRIx64 "\n", k / RANDOM_WORDS,
                   k % RANDOM_WORDS, got->out[k], want->out[k]);
            shown++;
        }
    for (size_t k = 0; k < RANDOM_CELLS && shown < 8; k++)
        if (got->cells[k] != want->cells[k]) {
            printf("    cell %zu: %08x, on the GPU %08x\n", k, got->cells[k], want->cells[k]);
            shown++;
        }
}

static int compare(const options *o, device *d, device *gpu, outcome *got, outcome *want)
{
    uint64_t ran = o->ran, bad = o->bad;
    for (uint64_t seed = o->first; seed < o->first + o->count; seed++) {
        if (!mine(o, seed))
            continue;
        ran++;
        run(d, seed, WHOLE, 4, got);
        bool whole = run(gpu, seed, WHOLE, 4, want);
        if (agree(got, want))
            continue;
        bad++;
        unsigned cut = 0;
        for (; whole; cut++) { /* this seldom takes more than thirty rounds; in the last round the kernel is complete */
            run(d, seed, cut, 4, got);
            whole = run(gpu, seed, cut, 4, want);
            if (!agree(got, want) || cut >= got->kernel.statements)
                break;
        }
        printf("DIFFERS: seed %" PRIu64 ", with --cut %u of %u\n", seed, cut, got->kernel.statements);
        show(got, want);
        if (whole && (whole = run(gpu, seed, cut, 0, want)) && agree(got, want))
            puts("    without optimisation the GPU does the same as the simulated device");
        if (!whole)
            return again(o, seed, ran, bad);
    }
    printf("%" PRIu64 " kernels, %" PRIu64 " differ\n", ran, bad);
    return bad || !ran ? 1 : 0;
}

/* Runs the command that needs a device: records, compares with the recording, or compares two devices. Returns the exit
 * code, 77 if there is no GPU. */
static int on_devices(const options *o)
{
    device d, gpu;
    bool both = strcmp(o->command, "compare") == 0, recording = strcmp(o->command, "record") == 0;
    bool simulated = o->device ? strcmp(o->device, "sim") == 0 : !recording;
    if (!device_open(&d, simulated)) {
        if (!simulated)
            puts("SKIP gpu: there is no device");
        return simulated ? 2 : 77;
    }
    outcome *got = calloc(1, sizeof *got), *want = calloc(1, sizeof *want);
    int code = 2;
    if (!got || !want) {
        fputs("random: out of memory\n", stderr);
    } else if (both && !device_open(&gpu, false)) {
        puts("SKIP gpu: there is no device");
        code = 77;
    } else if (both) {
        code = compare(o, &d, &gpu, got, want);
        device_close(&gpu);
    } else if (recording) {
        code = record(o, &d, got, want);
    } else if (strcmp(o->command, "check") == 0) {
        code = check(o, &d, got);
    } else {
        run(&d, strtoull(o->file, NULL, 10), o->cut, o->level, got);
        printf("%016" PRIx64 " %s\n", got->hash, got->error);
        code = got->error[0] ? 1 : 0;
    }
    free(got);
    free(want);
    device_close(&d);
    return code;
}

static int usage(void)
{
    fputs("usage: random record FILE --count N | check FILE | compare --count N | run SEED | ptx SEED\n"
          "       [--device sim|cuda] [--first SEED] [--cut K] [--slice I/N] [--level L]\n",
          stderr);
    return 2;
}

int main(int count, char **words)
{
    options o = {.first = 1, .slices = 1, .cut = WHOLE, .level = 4, .words = words};
    bool sliced = true;
    for (int i = 1; i < count; i++) {
        bool more = i + 1 < count;
        if (more && strcmp(words[i], "--device") == 0)
            o.device = words[++i];
        else if (more && strcmp(words[i], "--count") == 0)
            o.count = strtoull(words[++i], NULL, 10);
        else if (more && strcmp(words[i], "--first") == 0)
            o.first = strtoull(words[++i], NULL, 10);
        else if (more && strcmp(words[i], "--ran") == 0)
            o.ran = strtoull(words[++i], NULL, 10);
        else if (more && strcmp(words[i], "--bad") == 0)
            o.bad = strtoull(words[++i], NULL, 10);
        else if (more && strcmp(words[i], "--level") == 0)
            o.level = (unsigned)strtoul(words[++i], NULL, 10);
        else if (more && strcmp(words[i], "--cut") == 0)
            o.cut = (unsigned)strtoul(words[++i], NULL, 10);
        else if (more && strcmp(words[i], "--slice") == 0)
            sliced = sscanf(words[++i], "%" SCNu64 "/%" SCNu64, &o.slice, &o.slices) == 2 && o.slices;
        else if (words[i][0] != '-' && !o.command)
            o.command = words[i];
        else if (words[i][0] != '-' && !o.file)
            o.file = words[i];
        else
            return usage();
    }
    static const char *const filed[] = {"record", "check", "run", "ptx"};
    bool known = o.command && strcmp(o.command, "compare") == 0 && o.count;
    for (size_t k = 0; o.command && o.file && k < KILN__COUNT(filed); k++)
        known |= strcmp(o.command, filed[k]) == 0;
    if (!known || !sliced)
        return usage();
    if (strcmp(o.command, "ptx") != 0)
        return on_devices(&o);
    random_kernel kernel;
    random_kernel_make(strtoull(o.file, NULL, 10), o.cut, &kernel);
    printf("// grid %u, block %u x %u x %u, %u statements\n%s", kernel.grid, kernel.block[0], kernel.block[1],
           kernel.block[2], kernel.statements, kernel.text);
    free(kernel.text);
    return 0;
}
