/* corpus: loads PTX of public CUDA code with the simulator's loader. README.md gives the purpose.
 *
 *   corpus [options] FOLDER               compiles every module of the cases in FOLDER and loads it
 *   corpus [options] --load FILE ...      loads existing PTX: texts, or the PTX that nvcc put into programs and libraries
 *
 * --keep DIR    keep the PTX in DIR, and do not compile again what is already there
 * --known FILE  modules that are known not to load: "pattern  reason" a line. Any other failure is an error, and so is
 *               a line that no failure needs any more.
 * --sample N    each N-th module only
 * --only TEXT   modules whose name contains TEXT
 * --jobs N      compiles at a time (1)
 * --no-nvcc     leave out the cases that only nvcc can compile
 * --worker FILE kiln-worker, for compiles side by side
 *
 * Exit codes: 0 if every module loads that is not known to fail; 1 if not; 77 if there is no NVRTC. */
#include <fnmatch.h>
#include <malloc.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile.h"
#include "corpus.h"
#include "cu_image.h"
#include "vm.h"

extern char **environ;
enum { ANY_ARCH = 999 }; /* newer than the architecture of any PTX */

typedef struct reason {
    char *text, *example;
    size_t count;
} reason;
typedef struct known {
    char *pattern, *why;
    size_t used;
} known;
typedef struct report {
    size_t modules, loaded, not_compiled, expected, left_out;
    uint64_t bytes, parse_ns, decode_ns, held, slowest_ns;
    char slowest[256];
    reason *reasons;
    size_t reason_count, reason_capacity;
    known *knowns;
    size_t known_count, known_capacity;
    kiln__arena texts; /* the memory of both lists' texts */
} report;
typedef struct settings {
    const char *folder, *keep, *known, *only, *cuda, *worker;
    size_t sample;
    unsigned jobs;
    bool nvcc, load;
    kiln__compiler *compiler;
} settings;

/* ---- loading ---- */

static void *count_resize(void *user, void *pointer, size_t size)
{
    uint64_t *held = user;
    *held -= pointer ? malloc_usable_size(pointer) : 0;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    void *made = realloc(pointer, size);
    *held += made ? malloc_usable_size(made) : pointer ? malloc_usable_size(pointer) : 0;
    return made;
}

static void note(report *all, const char *module, const char *why)
{
    char line[256];
    const char *text = strstr(why, "; "); /* after "ptxas application ptx input, line 12" */
    text = text && text < why + strcspn(why, "\n") ? text + 2 : why;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    for (size_t i = 0; i < all->reason_count; i++)
        if (strcmp(all->reasons[i].text, line) == 0) {
            all->reasons[i].count++;
            return;
        }
    if (kiln__grow(NULL, &all->reasons, &all->reason_capacity, all->reason_count + 1, sizeof *all->reasons))
        all->reasons[all->reason_count++] = (reason){kiln__arena_strdup(&all->texts, line),
                                                     kiln__arena_strdup(&all->texts, module), 1};
}

static bool is_known(report *all, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < all->known_count; i++)
        if (fnmatch(all->knowns[i].pattern, name, 0) == 0) {
            all->knowns[i].used++;
            found = true;
        }
    return found;
}

/* Parses and decodes a module, and adds its times, its memory and its failure to the report. */
static void load(report *all, const char *name, const char *text, size_t length)
{
    vm_limits limits = {.memory = (uint64_t)1 << 30, .shared_per_block = 227u << 10, .sm_count = 4, .cc = ANY_ARCH};
    uint64_t held = 0, before;
    kiln_allocator mem = {.user = &held, .resize = count_resize};
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    vm_module *module = NULL;
    vm_device *device = vm_device_new(&mem, &limits);
    before = held;
    uint64_t begun = kiln__now_ns();
    ptx_result result = ptx_parse(&mem, text, length, &ptx, &log);
    uint64_t parsed = kiln__now_ns();
    if (result == PTX_OK)
        result = decode_module_load(device, ptx, &module, &log);
    uint64_t done = kiln__now_ns();
    all->modules++;
    if (result == PTX_OK) {
        all->loaded++;
        all->bytes += length;
        all->parse_ns += parsed - begun;
        all->decode_ns += done - parsed;
        all->held += held - before;
        if (done - begun > all->slowest_ns) {
            all->slowest_ns = done - begun;
            snprintf(all->slowest, sizeof all->slowest, "%s (%zu KiB)", name, length >> 10);
        }
        vm_module_unload(device, module);
    } else {
        bool expected = is_known(all, name);
        all->expected += expected;
        printf("%s %s: %.*s\n", expected ? "known " : "FAILED", name, (int)strcspn(kiln__text_get(&log), "\n"),
               kiln__text_get(&log));
        note(all, name, kiln__text_get(&log));
    }
    fflush(stdout);
    kiln__text_free(&log);
    vm_device_free(device);
}

/* Loads a file of PTX, or the PTX in the fat binaries of a file. */
static bool load_file(report *all, const char *name, const char *path)
{
    char *bytes;
    size_t length;
    kiln_error *error = NULL;
    sim_texts texts = {0};
    kiln__text log = {0};
    if (kiln__file_read(NULL, path, 0, &bytes, &length, &error) != KILN_OK) {
        kiln_error_free(error);
        return false;
    }
    sim_image_result result = sim_image_read(&texts, bytes, length, name, ANY_ARCH, &log);
    for (size_t i = 0; i < texts.count; i++) { /* the texts that the file has beside its machine code */
        char one[512];
        snprintf(one, sizeof one, texts.count > 1 ? "%s:%zu" : "%s", name, i);
        load(all, one, texts.items[i].data, strlen(texts.items[i].data)); /* NVRTC's text ends in a NUL */
    }
    if (texts.count == 0)
        printf("NO PTX in %s: %s\n", name, kiln__text_get(&log));
    bool some = texts.count > 0 && result != SIM_IMAGE_MEMORY;
    kiln__text_free(&log);
    sim_texts_free(&texts);
    kiln__free(NULL, bytes);
    return some;
}

/* ---- compiling ---- */

static void compile_failed(report *all, const corpus_module *module, const char *why)
{
    /* A toolkit has the headers of cuRAND. The wheels that replace a toolkit lack them. */
    bool lacks = strstr(why, "cannot open source file \"curand") != NULL;
    all->not_compiled += !lacks;
    all->left_out += lacks;
    printf("%s %s: %.600s\n", lacks ? "LEFT OUT" : "NOT COMPILED", module->name, why);
}

static void keep(const settings *set, const corpus_module *module, const char *text)
{
    char path[2048];
    kiln_error *error = NULL;
    if (!set->keep)
        return;
    snprintf(path, sizeof path, "%s/%s.ptx", set->keep, module->name);
    if (kiln__file_write(NULL, path, text, strlen(text), &error) != KILN_OK)
        fprintf(stderr, "corpus: %s\n", kiln_error_message(error));
    kiln_error_free(error);
}

typedef struct pending {
    corpus_module *module;
    kiln__compile_job *job;
} pending;

static void take(const settings *set, report *all, pending *slot)
{
    kiln__unit unit;
    kiln_error *error = NULL;
    uint64_t ns;
    kiln__compile_wait(slot->job, -1);
    if (kiln__compile_take(slot->job, &unit, &ns, &error) == KILN_OK) {
        keep(set, slot->module, unit.ptx);
        load(all, slot->module->name, unit.ptx, strlen(unit.ptx));
        kiln__unit_free(&unit);
    } else {
        compile_failed(all, slot->module, kiln_error_message(error));
        kiln_error_free(error);
    }
    *slot = (pending){0};
}

static kiln__compile_job *start(const settings *set, kiln__arena *arena, const corpus_module *module)
{
    size_t count;
    const char **options = corpus_options(arena, set->cuda, set->folder, module->of, &count);
    if (!options)
        return NULL;
    /* A worker may read only CUDA's own headers, so the header of the cases is passed as text. */
    char *prelude = NULL;
    const char *path = kiln__arena_printf(arena, "%s/prelude.h", set->folder);
    size_t length = 0;
    kiln_error *unread = NULL;
    if (!path || kiln__file_read(NULL, path, 0, &prelude, &length, &unread) != KILN_OK)
        fprintf(stderr, "%s\n", kiln_error_message(unread));
    kiln_error_free(unread);
    const kiln__include include = {.name = "prelude.h", .text = prelude ? prelude : "", .path = path};
    kiln__compile_request request = {.name = module->of->name,
                                     .source = module->source,
                                     .includes = &include,
                                     .include_count = 1,
                                     .options = options,
                                     .option_count = count,
                                     .arch = module->arch};
    kiln__compile_job *job = NULL;
    kiln_error *error = NULL;
    if (kiln__compile_start(set->compiler, &request, &job, &error) != KILN_OK)
        fprintf(stderr, "corpus: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    kiln__free(NULL, prelude);
    return job;
}

static bool run(const char *const *line)
{
    int status = -1;
    pid_t child;
    return posix_spawnp(&child, line[0], NULL, NULL, (char *const *)(uintptr_t)line, environ) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

/* Lets nvcc write the PTX of the device code. The host code is not compiled. */
static void compile_nvcc(const settings *set, report *all, kiln__arena *arena, const corpus_module *module)
{
    const char *folder = set->keep ? set->keep : getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    const char *base = kiln__arena_printf(arena, "%s/%s%s", folder, set->keep ? "" : "corpus-", module->name);
    const char *source = kiln__arena_printf(arena, "%s.cu", base), *out = kiln__arena_printf(arena, "%s.ptx", base);
    const char **line = kiln__arena_alloc(arena, (module->of->option_count + 16) * sizeof *line);
    kiln_error *error = NULL;
    size_t count = 0;
    if (arena->failed || kiln__file_write(NULL, source, module->source, strlen(module->source), &error) != KILN_OK) {
        compile_failed(all, module, arena->failed ? "out of memory" : kiln_error_message(error));
        kiln_error_free(error);
        return;
    }
    const char *begin[] = {"nvcc", "-ptx", "-std=c++17", "--extended-lambda", "-w",
                           "-o",   out,    "-I",         set->folder,         source};
    for (size_t i = 0; i < KILN__COUNT(begin); i++)
        line[count++] = begin[i];
    line[count++] = kiln__arena_printf(arena, "-arch=compute_%d", module->arch);
    for (size_t i = 0; i < module->of->option_count; i++)
        line[count++] = module->of->options[i];
    if (!run(line) || !load_file(all, module->name, out))
        compile_failed(all, module, "nvcc failed");
    unlink(source);
    if (!set->keep)
        unlink(out);
}

static bool have_nvcc(void)
{
    const char *line[] = {"nvcc", "--version", NULL};
    int status = -1;
    pid_t child;
    posix_spawn_file_actions_t quiet;
    if (posix_spawn_file_actions_init(&quiet) != 0)
        return false;
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 01, 0);
    bool ran = posix_spawnp(&child, line[0], &quiet, NULL, (char *const *)(void *)line, environ) == 0 &&
               waitpid(child, &status, 0) == child && status == 0;
    posix_spawn_file_actions_destroy(&quiet);
    return ran;
}

static bool wanted(const settings *set, const corpus_module *module, size_t index)
{
    return index % set->sample == 0 && (!set->only || strstr(module->name, set->only));
}

static void run_cases(const settings *set, report *all, const corpus_case *cases, size_t count)
{
    pending slots[64] = {0};
    size_t next = 0, index = 0;
    for (size_t c = 0; c < count; c++)
        for (size_t m = 0; m < corpus_modules(&cases[c]); m++) {
            /* The arena lives as long as the program, because reports use its texts without copying them. */
            static kiln__arena arena;
            char path[2048];
            corpus_module *module = corpus_at(&arena, &cases[c], m);
            if (!module || !wanted(set, module, index++))
                continue;
            snprintf(path, sizeof path, "%s/%s.ptx", set->keep ? set->keep : ".", module->name);
            if (set->keep && load_file(all, module->name, path))
                continue;
            if (cases[c].nvcc && set->nvcc) {
                compile_nvcc(set, all, &arena, module);
                continue;
            }
            if (cases[c].nvcc) {
                all->left_out++;
                continue;
            }
            if (slots[next].job)
                take(set, all, &slots[next]);
            slots[next] = (pending){module, start(set, &arena, module)};
            if (!slots[next].job)
                all->not_compiled++;
            next = (next + 1) % set->jobs;
        }
    for (size_t i = 0; i < set->jobs; i++, next = (next + 1) % set->jobs)
        if (slots[next].job)
            take(set, all, &slots[next]);
}

/* ---- the report ---- */

static bool read_known(report *all, const char *path)
{
    char *text;
    size_t length;
    kiln_error *error = NULL;
    if (kiln__file_read(NULL, path, 0, &text, &length, &error) != KILN_OK) {
        fprintf(stderr, "corpus: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return false;
    }
    char *state = NULL;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        size_t width = strcspn(line, " ");
        if (*line == '#' || width == 0)
            continue;
        if (!kiln__grow(NULL, &all->knowns, &all->known_capacity, all->known_count + 1, sizeof *all->knowns))
            break;
        const char *why = line + width + strspn(line + width, " ");
        line[width] = '\0';
        all->knowns[all->known_count++] = (known){kiln__arena_strdup(&all->texts, line),
                                                  kiln__arena_strdup(&all->texts, why), 0};
    }
    kiln__free(NULL, text);
    return true;
}

static int most_first(const void *a, const void *b)
{
    size_t x = ((const reason *)a)->count, y = ((const reason *)b)->count;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Prints the reasons of failures, the totals and the times. Returns 1 if a module fails that is not in the list of
 * known failures, if a module was not compiled, or if an entry of that list no longer applies. */
static int summary(const settings *set, report *all)
{
    double megabytes = (double)all->bytes / 1e6;
    size_t stale = 0;
    qsort(all->reasons, all->reason_count, sizeof *all->reasons, most_first);
    for (size_t i = 0; i < all->reason_count; i++)
        printf("%5zu  %s  (%s)\n", all->reasons[i].count, all->reasons[i].text, all->reasons[i].example);
    for (size_t i = 0; i < all->known_count; i++)
        if (all->knowns[i].used == 0 && set->sample == 1 && !set->only && !set->load && all->left_out == 0) {
            printf("nothing fails any more: %s (%s)\n", all->knowns[i].pattern, all->knowns[i].why);
            stale++;
        }
    printf(
        "%zu modules, %zu load (%.2f %%), %zu known not to; %zu not compiled, %zu left out for lack of nvcc or cuRAND\n",
        all->modules, all->loaded, all->modules ? 100.0 * (double)all->loaded / (double)all->modules : 0.0,
        all->expected, all->not_compiled, all->left_out);
    if (all->loaded)
        printf("%.1f MB of PTX: parsed in %.3f s, decoded in %.3f s (%.1f MB/s); %.2f bytes held a byte of PTX; "
               "slowest %.3f s, %s\n",
               megabytes, (double)all->parse_ns * 1e-9, (double)all->decode_ns * 1e-9,
               megabytes / ((double)(all->parse_ns + all->decode_ns) * 1e-9), (double)all->held / (double)all->bytes,
               (double)all->slowest_ns * 1e-9, all->slowest);
    kiln__free(NULL, all->reasons);
    kiln__free(NULL, all->knowns);
    kiln__arena_free(&all->texts);
    bool good = all->modules > 0 && all->loaded + all->expected == all->modules && all->not_compiled == 0 && stale == 0;
    return good ? 0 : 1;
}

static int usage(void)
{
    fprintf(stderr, "usage: corpus [--keep DIR] [--known FILE] [--sample N] [--only TEXT] [--jobs N] [--no-nvcc] "
                    "FOLDER | --load FILE.ptx ...\n");
    return 2;
}

/* Reads the options into `set`. *first becomes the first argument that is not an option. Returns false if one is wrong.
 */
static bool read_arguments(int argc, char **argv, settings *set, int *first)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--no-nvcc") == 0)
            set->nvcc = false;
        else if (strcmp(argv[i], "--load") == 0)
            set->load = true;
        else if (!value)
            return false;
        else if (strcmp(argv[i], "--keep") == 0)
            set->keep = argv[++i];
        else if (strcmp(argv[i], "--known") == 0)
            set->known = argv[++i];
        else if (strcmp(argv[i], "--only") == 0)
            set->only = argv[++i];
        else if (strcmp(argv[i], "--worker") == 0)
            set->worker = argv[++i];
        else if (strcmp(argv[i], "--sample") == 0)
            set->sample = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--jobs") == 0)
            set->jobs = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            return false;
    }
    *first = i;
    return i < argc && set->sample > 0 && set->jobs > 0 && set->jobs <= 64;
}

/* Compiles all cases of the corpus, loads their PTX and prints the summary. Returns the exit code. */
static int compile_all(settings *set, report *all, kiln__nvrtc *nvrtc)
{
    kiln__arena arena = {0};
    corpus_case *cases;
    size_t count;
    const char *why;
    kiln_error *error = NULL;
    int status = 1;
    if (!corpus_read(&arena, set->folder, &cases, &count, &why)) {
        fprintf(stderr, "corpus: %s\n", why);
        goto done;
    }
    set->cuda = kiln__nvrtc_include(nvrtc);
    set->nvcc = set->nvcc && have_nvcc();
    kiln__compiler_options options = {
        .worker = set->worker, .nvrtc = kiln__nvrtc_path(nvrtc), .jobs = set->jobs, .timeout = 300};
    if (kiln__compiler_open(NULL, &options, nvrtc, &set->compiler, &error) != KILN_OK) {
        fprintf(stderr, "corpus: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        goto done;
    }
    if (set->keep && kiln__make_folders(NULL, set->keep, 0777, &error) != KILN_OK) {
        fprintf(stderr, "corpus: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        kiln__compiler_close(set->compiler);
        goto done;
    }
    run_cases(set, all, cases, count);
    kiln__compiler_close(set->compiler);
    status = 0;
done:
    kiln__arena_free(&arena);
    return status;
}

int main(int argc, char **argv)
{
    settings set = {.sample = 1, .jobs = 1, .nvcc = true};
    report all = {0};
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    int first, status;
    if (!read_arguments(argc, argv, &set, &first))
        return usage();
    if (set.known && !read_known(&all, set.known))
        return 2;
    if (set.load) {
        for (int i = first; i < argc; i++)
            if (!load_file(&all, argv[i], argv[i]))
                all.not_compiled++;
        return summary(&set, &all);
    }
    set.folder = argv[first];
    if (kiln__nvrtc_open(NULL, &nvrtc, &error) != KILN_OK) {
        fprintf(stderr, "SKIP nvrtc: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return 77;
    }
    status = compile_all(&set, &all, nvrtc);
    kiln__nvrtc_close(nvrtc);
    return status ? status : summary(&set, &all);
}
