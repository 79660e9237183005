/* main.c - the instruction suite's program:
 *   conformance record FILE [--dump FILE]     runs every case on the GPU and writes the results
 *   conformance check FILE [--dump FILE]      runs every case on the simulated device and compares it with the file
 *   conformance compare                       runs both and shows the differences with their inputs
 *   conformance list                          lists the cases
 *   conformance ptx NUMBER | ptx all          prints the PTX of one case, or of all
 *   --device sim|cuda     another device than the command's default
 *   --known FILE          known differences (known.txt)
 *   --payloads            name the cases that differ only in the payload of a NaN
 *   --only TEXT           cases whose name contains the text
 *   --show N              differing tuples to show for each case (4)
 *   --every N             each N-th case
 *   --lesser              exits with 77 unless KILN_SIM_ISA selects less than the best set of the host
 * A dump holds every result of the recording, so that `check` can print the expected result without a GPU.
 * Exit codes: 0 no differences, 1 differences, 2 an error of the program or of a file, 77 no device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "vm_decode.h"

/* Cases of new instructions pass on the simulated device before a GPU has recorded them, up to UNRECORDED_MOST cases. */
enum { BATCH = 64, LINE = 8192, UNRECORDED_MOST = 256 };

typedef struct options {
    const char *command, *file, *dump, *known, *only, *device;
    int show;
    unsigned every;
    bool payloads, lesser;
} options;

typedef struct want { /* the recorded answer of one case */
    uint64_t hash, raw;
    uint64_t *values; /* NULL if the results are neither approximate nor in a dump */
    bool present;
} want;

typedef struct known {
    char *prefix;
    bool used;
} known;

typedef struct run {
    const options *o;
    conf_suite suite;
    want *wants;
    known *knowns;
    size_t known_count;
    size_t passed, differing, excused, refused, payloads, approximate, equal, unrecorded;
} run;

static size_t result_count(const conf_case *each) { return (size_t)each->tuples * (size_t)each->output_count; }

static void canonical(const conf_case *each, uint64_t *values)
{
    for (size_t i = 0; i < result_count(each); i++)
        values[i] = conf_canonical(each->kind, &each->outputs[i % (size_t)each->output_count], values[i]);
}

static uint64_t raw_hash(const conf_case *each, const uint64_t *values)
{
    uint64_t hash = 7;
    for (size_t i = 0; i < result_count(each); i++) {
        const uint64_t value = conf_canonical(CONF_BITS, &each->outputs[i % (size_t)each->output_count], values[i]);
        hash = conf_hash(&value, 8, hash * 31);
    }
    return hash;
}

/* Returns true if two devices may give different values that count as equal: NaNs with different payloads. */
static bool has_payloads(const conf_case *each)
{
    for (int i = 0; i < each->output_count; i++)
        if (each->outputs[i].exponent)
            return each->kind == CONF_EXACT;
    return false;
}

static int digits(const conf_operand *o) { return o->reg == 1 ? 1 : o->reg / 4; }

/* ---- recording ---- */

static void record_one(FILE *file, FILE *dump, const conf_case *each, uint64_t *values)
{
    const uint64_t raw = raw_hash(each, values);
    canonical(each, values);
    if (dump) {
        const uint64_t head[2] = {conf_hash(each->name, strlen(each->name), 3), result_count(each)};
        fwrite(head, 8, 2, dump);
        fwrite(values, 8, result_count(each), dump);
    }
    fprintf(file, "%c %016" PRIx64 " %016" PRIx64 " %d %s\n", each->kind > CONF_BITS ? '~' : '=',
            conf_hash(values, result_count(each) * 8, 0), raw, each->tuples, each->name);
    if (each->kind <= CONF_BITS)
        return;
    for (size_t i = 0; i < result_count(each); i++)
        fprintf(file, "%0*" PRIx64 "%s", digits(&each->outputs[0]), values[i], (i + 1) % 64 == 0 ? "\n" : " ");
}

static bool wanted(const run *r, const conf_case *each)
{
    return (!r->o->only || strstr(each->name, r->o->only)) && (size_t)(each - r->suite.cases) % r->o->every == 0;
}

static size_t next_batch(const run *r, size_t *at, size_t batch[BATCH])
{
    size_t count = 0;
    for (; *at < r->suite.count && count < BATCH; ++*at)
        if (wanted(r, &r->suite.cases[*at]))
            batch[count++] = *at;
    return count;
}

/* Records the answers of a device: a line for each case in the file, and all results in the dump if `--dump` is given.
 */
static int record(run *r, conf_device *device)
{
    FILE *file = fopen(r->o->file, "w"), *dump = r->o->dump ? fopen(r->o->dump, "wb") : NULL;
    if (!file || (r->o->dump && !dump)) {
        fprintf(stderr, "conformance: cannot write %s\n", file ? r->o->dump : r->o->file);
        return 2;
    }
    fprintf(file,
            "# What a GPU made of each case (README.md): kind, hash, hash with the payloads of NaNs, tuples, case.\n");
    size_t batch[BATCH], count, refused = 0;
    for (size_t at = 0; (count = next_batch(r, &at, batch));) {
        conf_result results[BATCH];
        conf_device_run(device, &r->suite, batch, count, results);
        for (size_t i = 0; i < count; i++) {
            const conf_case *each = &r->suite.cases[batch[i]];
            if (results[i].error) {
                printf("refused: %s\n  %s\n", each->name, results[i].error);
                refused++;
            } else {
                record_one(file, dump, each, results[i].values);
            }
        }
        conf_results_free(results, count);
    }
    printf("%zu cases, %zu refused\n", r->suite.count, refused);
    const bool bad = (dump && fclose(dump)) | fclose(file);
    return bad ? 2 : refused ? 1 : 0;
}

/* ---- comparing ---- */

static void show_inputs(const conf_case *each, const uint64_t *in)
{
    for (int i = 0; i < each->input_count; i++)
        printf(" %c=%0*" PRIx64, each->inputs[i].letter, digits(&each->inputs[i]),
               each->inputs[i].reg == 1 ? in[i] & 1 : conf_canonical(CONF_BITS, &each->inputs[i], in[i]));
}

/* Returns the number of tuples that differ, and prints the first few. `want` and `got` are canonical. */
static size_t differences(const run *r, const conf_case *each, const uint64_t *got, const uint64_t *want_values)
{
    uint64_t *in = conf_alloc((size_t)each->tuples * CONF_INPUTS * 8);
    size_t count = 0;
    conf_inputs(each, in);
    for (size_t i = 0; i < result_count(each); i++) {
        const size_t tuple = i / (size_t)each->output_count;
        const int output = (int)(i % (size_t)each->output_count), width = digits(&each->outputs[output]);
        if (conf_accept(each, output, in + tuple * CONF_INPUTS, got[i], want_values[i]))
            continue;
        if (count == 0)
            printf("DIFFERS: %s\n", each->name);
        if (count++ >= (size_t)r->o->show)
            continue;
        printf("    thread %zu:", tuple);
        show_inputs(each, in + tuple * CONF_INPUTS);
        printf("  %c got %0*" PRIx64 " want %0*" PRIx64 "%s\n", each->outputs[output].letter, width, got[i], width,
               want_values[i], each->kind > CONF_BITS ? " (out of bound)" : "");
    }
    if (count)
        printf("    %zu of %zu results\n", count, result_count(each));
    free(in);
    return count;
}

static bool is_known(run *r, const conf_case *each)
{
    for (size_t i = 0; i < r->known_count; i++)
        if (strncmp(each->name, r->knowns[i].prefix, strlen(r->knowns[i].prefix)) == 0)
            return r->knowns[i].used = true;
    return false;
}

static void differs(run *r, const conf_case *each)
{
    if (is_known(r, each)) {
        printf("    (known)\n");
        r->excused++;
    } else {
        r->differing++;
    }
}

typedef struct hashes {
    uint64_t raw, canonical;
} hashes;

/* Makes the values of a batch canonical and hashes them. Also hashes the raw values if that may change them. */
static void hash_batch(const run *r, const size_t *batch, size_t count, conf_result *results, hashes *made)
{
    for (size_t i = 0; i < count; i += 4) {
        const void *data[4] = {"", "", "", ""};
        size_t lengths[4] = {0};
        uint64_t four[4];
        for (size_t k = 0; k < 4 && i + k < count; k++) {
            const conf_case *each = &r->suite.cases[batch[i + k]];
            uint64_t *values = results[i + k].values;
            if (results[i + k].error)
                continue;
            made[i + k].raw = has_payloads(each) ? raw_hash(each, values) : 0;
            canonical(each, values);
            data[k] = values;
            lengths[k] = result_count(each) * 8;
        }
        conf_hash_four(data, lengths, four);
        for (size_t k = 0; k < 4 && i + k < count; k++)
            made[i + k].canonical = four[k];
    }
}

/* Compares the results of one case with the recorded answer, and prints the difference. `w` is the recorded line. The
 * results are canonical; `made` has their hashes. */
static void check_one(run *r, const conf_case *each, const want *w, const conf_result *result, const hashes *made)
{
    if (result->error) {
        printf("REFUSED: %s\n    %s\n", each->name, result->error);
        r->refused++;
        differs(r, each);
        return;
    }
    if (!w->present) {
        printf("NOT RECORDED: %s\n", each->name);
        r->unrecorded++;
        return;
    }
    r->approximate += each->kind > CONF_BITS;
    const bool equal = made->canonical == w->hash;
    bool same = each->kind <= CONF_BITS && equal;
    r->equal += each->kind > CONF_BITS && equal;
    if (!same && w->values)
        same = differences(r, each, result->values, w->values) == 0;
    else if (!same)
        printf("DIFFERS: %s\n", each->name);
    if (!same) {
        differs(r, each);
        return;
    }
    r->passed++;
    const bool payload = has_payloads(each) && made->raw != w->raw;
    r->payloads += payload;
    if (payload && r->o->payloads)
        printf("other NaN payloads: %s\n", each->name);
}

static int summary(const run *r)
{
    for (size_t i = 0; i < r->known_count; i++)
        if (!r->knowns[i].used && !r->o->only && r->o->every == 1)
            printf("no longer differs, to be taken off the list: %s\n", r->knowns[i].prefix);
    printf("%zu cases as wanted (%zu of them approximate and within bounds, %zu of these equal; %zu with other NaN "
           "payloads), %zu known to differ, %zu differ; %zu of the two were refused\n",
           r->passed, r->approximate, r->equal, r->payloads, r->excused, r->differing, r->refused);
    const bool simulated = !r->o->device || strcmp(r->o->device, "sim") == 0;
    if (r->unrecorded)
        printf("%zu cases are not recorded; `conformance record` on a GPU records them\n", r->unrecorded);
    if (r->unrecorded > UNRECORDED_MOST || (r->unrecorded && !simulated))
        return 1;
    return r->differing || !r->passed ? 1 : 0;
}

static int check(run *r, conf_device *device)
{
    size_t batch[BATCH], count;
    for (size_t at = 0; (count = next_batch(r, &at, batch));) {
        conf_result results[BATCH];
        conf_device_run(device, &r->suite, batch, count, results);
        hashes made[BATCH] = {0};
        hash_batch(r, batch, count, results, made);
        for (size_t i = 0; i < count; i++)
            check_one(r, &r->suite.cases[batch[i]], &r->wants[batch[i]], &results[i], &made[i]);
        conf_results_free(results, count);
    }
    return summary(r);
}

static int compare(run *r, conf_device *device, conf_device *gpu)
{
    size_t batch[BATCH], count;
    for (size_t at = 0; (count = next_batch(r, &at, batch));) {
        conf_result results[BATCH], truths[BATCH];
        conf_device_run(device, &r->suite, batch, count, results);
        conf_device_run(gpu, &r->suite, batch, count, truths);
        for (size_t i = 0; i < count; i++) {
            const conf_case *each = &r->suite.cases[batch[i]];
            hashes made = {0};
            want w = {.present = !truths[i].error, .values = truths[i].values};
            if (truths[i].error) {
                printf("the GPU refuses: %s\n    %s\n", each->name, truths[i].error);
                continue;
            }
            w.raw = raw_hash(each, w.values);
            canonical(each, w.values);
            w.hash = conf_hash(w.values, result_count(each) * 8, 0);
            hash_batch(r, &batch[i], 1, &results[i], &made);
            check_one(r, each, &w, &results[i], &made);
        }
        conf_results_free(results, count);
        conf_results_free(truths, count);
    }
    return summary(r);
}

/* ---- files ---- */

static size_t find_case(const run *r, const char *name, size_t hint)
{
    for (size_t i = 0; i < r->suite.count; i++) {
        const size_t at = (hint + i) % r->suite.count;
        if (strcmp(r->suite.cases[at].name, name) == 0)
            return at;
    }
    return r->suite.count;
}

static bool read_values(FILE *file, const conf_case *each, want *w)
{
    w->values = conf_alloc(result_count(each) * 8);
    for (size_t i = 0; i < result_count(each); i++)
        if (fscanf(file, "%" SCNx64, &w->values[i]) != 1)
            return false;
    return fgetc(file) == '\n';
}

/* Reads the recording, and finds the case of each line. Returns false after a message. */
static bool read_file(run *r)
{
    char line[LINE];
    FILE *file = fopen(r->o->file, "r");
    size_t hint = 0;
    if (!file) {
        fprintf(stderr, "conformance: cannot read %s\n", r->o->file);
        return false;
    }
    bool good = true;
    while (good && fgets(line, sizeof line, file)) {
        char kind;
        want w = {.present = true};
        int tuples, start = 0;
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || line[0] == 0)
            continue;
        good = sscanf(line, "%c %" SCNx64 " %" SCNx64 " %d %n", &kind, &w.hash, &w.raw, &tuples, &start) == 4 &&
               start > 0;
        const size_t at = good ? find_case(r, line + start, hint) : r->suite.count;
        if (good && at == r->suite.count) {
            fprintf(stderr, "conformance: %s has a case that the suite has not: %s\n", r->o->file, line + start);
            good = kind == '=';
            continue;
        }
        good = good && (kind == '=' || read_values(file, &r->suite.cases[at], &w));
        if (!good)
            break;
        r->wants[at] = w;
        hint = at + 1;
    }
    if (!good)
        fprintf(stderr, "conformance: %s: not as this program writes it: %.80s\n", r->o->file, line);
    fclose(file);
    return good;
}

/* Reads the results of all cases from the dump. Results of unknown cases, or of cases whose number of results has
 * changed, are skipped. */
static bool read_dump(run *r)
{
    FILE *file = fopen(r->o->dump, "rb");
    uint64_t head[2];
    if (!file) {
        fprintf(stderr, "conformance: cannot read %s\n", r->o->dump);
        return false;
    }
    size_t at = 0;
    while (fread(head, 8, 2, file) == 2) {
        size_t tries = 0;
        while (tries < r->suite.count &&
               conf_hash(r->suite.cases[at].name, strlen(r->suite.cases[at].name), 3) != head[0]) {
            at = (at + 1) % r->suite.count;
            tries++;
        }
        if (tries == r->suite.count || head[1] != result_count(&r->suite.cases[at])) {
            if (fseek(file, (long)head[1] * 8, SEEK_CUR))
                break;
            continue;
        }
        want *w = &r->wants[at];
        if (!w->values)
            w->values = conf_alloc(head[1] * 8);
        if (fread(w->values, 8, head[1], file) != head[1])
            break;
    }
    fclose(file);
    return true;
}

/* Reads lines of the form "start of a case's name # why". */
static bool read_known(run *r)
{
    char line[LINE];
    FILE *file = fopen(r->o->known, "r");
    if (!file) {
        fprintf(stderr, "conformance: cannot read %s\n", r->o->known);
        return false;
    }
    while (fgets(line, sizeof line, file)) {
        char *why = strstr(line, " # ");
        if (line[0] == '#' || !why)
            continue;
        *why = 0;
        r->knowns = realloc(r->knowns, (r->known_count + 1) * sizeof *r->knowns);
        if (!r->knowns)
            return false;
        known *k = &r->knowns[r->known_count++];
        *k = (known){.prefix = conf_alloc(strlen(line) + 1)};
        memcpy(k->prefix, line, strlen(line) + 1);
    }
    fclose(file);
    return true;
}

/* ---- command ---- */

static int list(const run *r)
{
    for (size_t i = 0; i < r->suite.count; i++)
        if (wanted(r, &r->suite.cases[i]))
            printf("%zu %s\n", i, r->suite.cases[i].name);
    return 0;
}

static int ptx(const run *r)
{
    const bool all = !r->o->file || strcmp(r->o->file, "all") == 0;
    size_t *cases = conf_alloc(r->suite.count * sizeof *cases), count = 0;
    for (size_t i = 0; i < r->suite.count; i++)
        if (all ? wanted(r, &r->suite.cases[i]) : i == strtoul(r->o->file, NULL, 10))
            cases[count++] = i;
    char *text = conf_module(&r->suite, cases, count);
    fputs(text, stdout);
    free(text);
    free(cases);
    return 0;
}

static int on_devices(run *r)
{
    conf_device device, gpu;
    const bool both = strcmp(r->o->command, "compare") == 0, recording = strcmp(r->o->command, "record") == 0;
    const bool simulated = r->o->device ? strcmp(r->o->device, "sim") == 0 : !recording;
    if (!both && !recording && !(read_file(r) && (!r->o->dump || read_dump(r))))
        return 2;
    if (r->o->known && !read_known(r))
        return 2;
    if (!conf_device_open(&device, simulated)) {
        if (!simulated)
            puts("SKIP gpu: there is no device");
        return simulated ? 2 : 77;
    }
    int code = 77;
    if (!both) {
        code = recording ? record(r, &device) : check(r, &device);
    } else if (conf_device_open(&gpu, false)) {
        code = compare(r, &device, &gpu);
        conf_device_close(&gpu);
    } else {
        puts("SKIP gpu: there is no device");
    }
    conf_device_close(&device);
    return code;
}

/* Returns true if KILN_SIM_ISA makes the simulated device choose another instruction set than its default. */
static bool selects_less(void)
{
    const char *isa = getenv("KILN_SIM_ISA");
    char *kept = isa ? strdup(isa) : NULL;
    const vm_handlers *asked = decode_table();
    unsetenv("KILN_SIM_ISA");
    const bool less = asked != decode_table();
    if (kept)
        setenv("KILN_SIM_ISA", kept, 1);
    free(kept);
    return less;
}

static int usage(void)
{
    fputs("usage: conformance record|check FILE | compare | list | ptx all|NUMBER\n"
          "       [--dump FILE] [--known FILE] [--only TEXT] [--every N] [--show N] [--payloads] [--lesser]\n"
          "       [--device sim|cuda]\n",
          stderr);
    return 2;
}

/* Reads the options and runs the command. Returns the exit code that the head of the file lists. */
int main(int count, char **words)
{
    options o = {.show = 4, .every = 1};
    for (int i = 1; i < count; i++) {
        const char **into = strcmp(words[i], "--dump") == 0     ? &o.dump
                            : strcmp(words[i], "--known") == 0  ? &o.known
                            : strcmp(words[i], "--only") == 0   ? &o.only
                            : strcmp(words[i], "--device") == 0 ? &o.device
                                                                : NULL;
        if (into && i + 1 < count)
            *into = words[++i];
        else if (strcmp(words[i], "--show") == 0 && i + 1 < count)
            o.show = atoi(words[++i]);
        else if (strcmp(words[i], "--every") == 0 && i + 1 < count)
            o.every = (unsigned)strtoul(words[++i], NULL, 10);
        else if (strcmp(words[i], "--payloads") == 0)
            o.payloads = true;
        else if (strcmp(words[i], "--lesser") == 0)
            o.lesser = true;
        else if (words[i][0] != '-' && !o.command)
            o.command = words[i];
        else if (words[i][0] != '-' && !o.file)
            o.file = words[i];
        else
            return usage();
    }
    run r = {.o = &o};
    if (!o.command || !o.every)
        return usage();
    const bool filed = strcmp(o.command, "record") == 0 || strcmp(o.command, "check") == 0;
    const bool listing = strcmp(o.command, "list") == 0, printing = strcmp(o.command, "ptx") == 0;
    if (!(filed && o.file) && !listing && !printing && strcmp(o.command, "compare") != 0)
        return usage();
    if (o.lesser && !selects_less()) {
        puts("SKIP build: this is the best instruction set of this host, which the test without KILN_SIM_ISA runs");
        return 77;
    }
    conf_suite_make(&r.suite);
    r.wants = conf_alloc(r.suite.count * sizeof *r.wants);
    const int code = listing ? list(&r) : printing ? ptx(&r) : on_devices(&r);
    for (size_t i = 0; i < r.suite.count; i++)
        free(r.wants[i].values);
    for (size_t i = 0; i < r.known_count; i++)
        free(r.knowns[i].prefix);
    free(r.knowns);
    free(r.wants);
    conf_suite_free(&r.suite);
    return code;
}
