/* judge_hostile [--seed N] [--count N] [--device NAME] [--show]: verdicts on candidates that a grammar makes. Most answers are
 * right, so that a candidate reaches the trial with two calls in two streams. The candidates have variables of the module of all
 * kinds, which calls share, and statements that attack the judge: accesses out of bounds, endless loops, traps, text that looks
 * like PTX, and names that are directives. The judge must return a verdict for each of them, and the same verdict again. The
 * sanitizers see every access. With `--device cuda` and Kiln's libcuda.so.1 the judge takes its way for GPUs, on which many calls
 * overlap and each of them has its own memory. Exits with 77 if there is no NVRTC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge_internal.h"

static uint64_t state;
static unsigned pick(unsigned limit)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 33) % limit;
}

/* Adds text with the choices of lists such as <a|b|c>. Other parts of the text have no < and >. */
static void add(kiln__text *out, const char *format)
{
    for (const char *c = format; *c; c++) {
        if (*c != '<') {
            kiln__text_printf(out, "%c", *c);
            continue;
        }
        const char *end = strchr(c, '>'), *from = c + 1;
        unsigned count = 1;
        for (const char *k = c; k < end; k++)
            count += *k == '|';
        for (unsigned at = pick(count); at; at--)
            from = strchr(from, '|') + 1;
        while (*from != '|' && *from != '>')
            kiln__text_printf(out, "%c", *from++);
        c = end;
    }
}

/* Variables of the module. A digit behind v becomes the number of the variable, mostly. */
static const char *const variables[] = {
    "__device__ <float|unsigned|double|unsigned char|unsigned long long|short> v0<[1]|[2]|[64]|[300]|[70000]>;\n",
    "__device__ <float|unsigned|double|unsigned char> v0[4]<| = {1}| = {1, 2, 3, 4}>;\n",
    "__device__ struct { char a; double b; float c[<1|7|300>]; } v0[2];\n",
    "__constant__ float v0[<1|8|300>]<| = {2}>;\n",
    "__device__ __managed__ float v0[<4|300>];\n",
    "__device__ float *v0[2];\n",
    "extern \"C\" __device__ unsigned long v0[<1|33>];\n",
    "__device__ volatile int v0[<1|1000>];\n",
    "static __device__ float v0[<1|4096>];\n",
};
static const char *const statements[] = {
    "        ((float *)v<0|1|2>)[<0|i % 2|i % 64|threadIdx.x>] = x[i];\n",
    "        atomicAdd((unsigned *)v<0|1|2>, <1|0u|n>);\n",
    "        if (((volatile unsigned *)v<0|1|2>)[0] == <77|3|i>) y[i] = <0|x[0]>;\n",
    "        t = ((volatile float *)v<0|1|2>)[<0|i % 64>]; if (t == 5.5f) y[i] = t;\n",
    "        __threadfence();\n",
    "        if (i == 0) ((void **)v<0|1|2>)[0] = <y|(void *)x|(void *)0>;\n",
    "        if (i == <0|n - 1>) atomicExch((unsigned *)v<0|1|2>, <1|n|i>);\n",
    "        asm volatile(\"{ <// .visible .global .align 4 .b8 v9[8];\\n|.reg .u32 q;|mov.u32 %0, %laneid;> }\" : \"=r\"(u));\n",
    "        if (x[i] == 123.f) y[i + <1|1000|1048576>] = 1;\n",
    "        u ^= __shfl_xor_sync(<0xffffffff|__activemask()>, u, <1|16>);\n",
};
static const char *const attacks[] = {
    "        y[i + <1|n|4194304>] = 1;\n",
    "        y[i - <1|40|1000000>] = 1;\n",
    "        ((float *)x)[i] = 0;\n",
    "        while (((volatile unsigned *)v0)[0] != <1|100000>) {}\n",
    "        if (((volatile unsigned *)v0)[0]++ == <2|1|40>) <__trap()|while (1) {}|*(volatile int *)8 = 1>;\n",
    "        { int *p = (int *)malloc(<16|1073741824>); if (p) p[<0|4|-1>] = i; }\n",
    "        { float big[<4|20000>]; big[i % <4|9>] = x[i]; y[i] += big[<0|3|n>] * 0; }\n",
    "        ((float *)v1)[<0|1048576|-1>] = 1;\n",
    "        printf(\"<%s%n|%99999d>\", i);\n",
    "        asm volatile(\"<trap;|exit;|brkpt;|discard.global.L2 [%0], 128;|prefetch.global.L2 [%0];>\" :: \"l\"(y));\n",
};
static const char *const oddities[] = {
    "#line <1|0|2147483647> \"<a.cu|../../../../etc/passwd|>\"\n",
    "#define <i|x|blockIdx|N|int> <i|n|x|y>\n",
    "/* .visible .entry twice( */ // .target sm_<90|1> \\\n\n",
    "__device__ const char note[] = \".visible .global .align 4 .b8 v0[999999999999];\\n.reg .pred %smid;\";\n",
    "extern \"C\" __global__ void <twice2|other|entry>() {}\n",
    "#pragma <unroll|nv_diag_suppress 1|GCC poison x>\n",
};

static char *make_candidate(void)
{
    kiln__text out = {0};
    for (unsigned k = pick(3); k; k--)
        if (pick(3) == 0)
            add(&out, oddities[pick(KILN__COUNT(oddities))]);
    for (unsigned k = 0; k < 3; k++) {
        kiln__text part = {0};
        add(&part, variables[pick(KILN__COUNT(variables))]);
        for (const char *c = kiln__text_get(&part); *c; c++)
            kiln__text_printf(&out, "%c", *c == '0' && c[-1] == 'v' && pick(30) ? (char)('0' + k) : *c);
        kiln__text_free(&part);
    }
    kiln__text_puts(&out, "extern \"C\" __global__ void twice(const float *x, float *y, int n)\n{\n"
                          "    float t = 0; unsigned u = 0; (void)t; (void)u;\n"
                          "    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 64) {\n");
    for (unsigned k = pick(4); k; k--)
        add(&out, statements[pick(KILN__COUNT(statements))]);
    if (pick(5) == 0)
        add(&out, attacks[pick(KILN__COUNT(attacks))]);
    add(&out, pick(10) ? "        y[i] = <2 * x[i]|x[i] + x[i]|2 * x[i] + 0 * u>;\n"
                       : "        y[i] = <x[i]|2 * x[0]|((float *)v0)[0]>;\n");
    for (unsigned k = pick(3); k; k--)
        add(&out, statements[pick(KILN__COUNT(statements))]);
    kiln__text_puts(&out, "    }\n}\n");
    char *text = kiln__strdup(NULL, kiln__text_get(&out));
    kiln__text_free(&out);
    return text;
}

static char *make_spec(void)
{
    kiln__text out = {0};
    add(&out,
        "kiln: 1\nname: judged\nsource: judged.cu\nsizes: {tiny: {N: <1|40|33>}}\nbuffers:\n"
        "  x: {type: f32, shape: [N], fill: <{uniform: [-1, 1]}|{uniform: [0, 1]}|1>}\n"
        "  y: {type: f32, shape: [N], out: true}\n"
        "verify: {y: {against: {variant: own}, exact: true}}\n"
        "judge: {N: {from: <0|1|32>, to: <40|300|70>}<|, x: {align: 4}|, x: {from: -3, to: 3}|, x: {special: true}>"
        "<, streams: {to: 2}|, streams: {to: 2}|>}\n"
        "variants:\n  own: {launch: {kernel: twice, grid: [2], block: [32], args: [x, y, N]}}\n");
    char *text = kiln__strdup(NULL, kiln__text_get(&out));
    kiln__text_free(&out);
    return text;
}

static const char *find_digest(const kiln_judgement *verdict)
{
    const char *at = strstr(kiln_judgement_json(verdict), "\"digest\"");
    at = at ? strstr(at, "\"verdict\"") : NULL;
    return at ? at : "";
}

/* Judges with a new engine, because messages have the addresses of variables, which the contexts of one engine continue. */
static kiln_status judge(const char *device, const char *folder, const char *spec_text, const char *text, uint64_t seed,
                         kiln_judgement **verdict, kiln_error **error)
{
    char name[96], cache[96];
    snprintf(name, sizeof name, "%s/judged.yaml", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    const kiln_options options = {
        .size = sizeof options, .device = device, .cache_dir = cache, .flags = KILN_NO_WORKERS};
    const kiln_judge_options how = {.size = sizeof how, .seed = seed, .budget = 1e6, .launch_limit = 5};
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_status status = kiln_engine_open(&options, &engine, error);
    if (status == KILN_OK)
        status = kiln_spec_parse(engine, spec_text, strlen(spec_text), name, &spec, error);
    if (status == KILN_OK)
        status = kiln_judge(engine, spec, text, strlen(text), "theirs.cu", &how, verdict, error);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return status;
}

int main(int count, char **arguments)
{
    static const char own[] =
        "extern \"C\" __global__ void twice(const float *x, float *y, int n)\n{\n"
        "    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 64)\n        y[i] = x[i] + x[i];\n}\n";
    char folder[] = "/tmp/kiln-judge-XXXXXX", path[96];
    const char *device = "sim";
    unsigned long first = 1, rounds = 10, kinds[16] = {0}, together = 0;
    bool show = false;
    int bad = 0;
    for (int k = 1; k < count; k++) {
        const bool more = k + 1 < count;
        if (strcmp(arguments[k], "--seed") == 0 && more)
            first = strtoul(arguments[++k], NULL, 0);
        else if (strcmp(arguments[k], "--count") == 0 && more)
            rounds = strtoul(arguments[++k], NULL, 0);
        else if (strcmp(arguments[k], "--device") == 0 && more)
            device = arguments[++k];
        else
            show = strcmp(arguments[k], "--show") == 0;
    }
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/judged.cu", folder);
    kiln_error *error = NULL;
    if (kiln_file_write(path, own, strlen(own), &error) != KILN_OK) {
        fprintf(stderr, "%s\n", kiln_error_message(error));
        return 1;
    }
    for (unsigned long seed = first; seed < first + rounds && !bad; seed++) {
        state = seed * 0x9e3779b97f4a7c15ull | 1;
        pick(2);
        char *spec = make_spec(), *text = make_candidate();
        kiln_judgement *verdicts[2] = {NULL, NULL};
        kiln_status statuses[2] = {KILN_OK, KILN_OK};
        if (show)
            printf("---- seed %lu\n%s%s", seed, spec, text);
        fflush(stdout);
        for (unsigned k = 0; k < 2 && statuses[0] == KILN_OK; k++) {
            statuses[k] = judge(device, folder, spec, text, seed, &verdicts[k], &error);
            if (statuses[k] == KILN_ERROR_NO_COMPILER) {
                puts("SKIP nvrtc: there is no NVRTC");
                return 77;
            }
            if (statuses[k] != KILN_OK)
                printf("seed %lu: %s\n", seed, kiln_error_message(error));
            bad |= statuses[k] != KILN_OK;
            kiln_error_free(error);
            error = NULL;
        }
        if (verdicts[0] && verdicts[1]) {
            kinds[kiln_judgement_kind(verdicts[0])]++;
            together += strstr(kiln_judgement_page(verdicts[0]), "two calls at the same time") != NULL;
            if (show)
                printf("%s\n", kiln_judgement_page(verdicts[0]));
            if (strcmp(find_digest(verdicts[0]), find_digest(verdicts[1])) != 0) {
                printf("seed %lu: the second verdict differs\n%s\n%s\n", seed, kiln_judgement_json(verdicts[0]),
                       kiln_judgement_json(verdicts[1]));
                bad |= strcmp(device, "sim") == 0;
            }
        }
        for (unsigned k = 0; k < 2; k++)
            kiln_judgement_free(verdicts[k]);
        kiln__free(NULL, spec);
        kiln__free(NULL, text);
    }
    printf("%lu candidates, by kind of verdict:", rounds);
    for (unsigned k = 0; k < KILN__COUNT(kinds); k++)
        printf(" %lu", kinds[k]);
    printf("; %lu with a fault or a note of two calls at the same time\n", together);
    snprintf(path, sizeof path, "rm -rf %s", folder);
    return system(path) != 0 || bad;
}
