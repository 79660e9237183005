/* Calls every public function with a NULL in each of its pointer arguments in turn, passes every struct that callers fill at
 * many sizes, and tries arguments that are wrong in other ways. The suite reads the functions and structs from the headers, so
 * a new function fails here until it has a line. It uses the fake driver, and needs neither a compiler nor a device.
 *
 * The file is long, because it has one table of all functions, one table of all structs, and the code that tries them. */
#include <ctype.h>

#include "kiln_judge.h"
#include "core/scratch.h"
#include "plan/fake.h"
#include "ranks_internal.h"
#include "tuning_internal.h"

static const char spec_text[] =
    "kiln: 1\nname: fake\nsource: nowhere.cu\nsizes:\n  default: {N: 4}\n"
    "buffers:\n  x: {type: f32, shape: [N], fill: {iota: [1, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
    "variants:\n  v:\n    params: {BLOCK: [2, 4, 8]}\n    steps:\n"
    "      - launch: {kernel: add_one, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, N]}\n";
static const char known_text[] = "kiln-best: 1\nknown: []\n";
#define RECORDING KILN_SOURCE_DIR "/tests/fuzz/corpus/fuzz_recording/cache.json"

/* ---- the arguments of the calls ---- */

static struct world {
    kiln_engine *engine, *cached; /* `cached` has a disk cache */
    kiln_ranks *ranks;            /* the ranks of a process that does not lead */
    kiln_ranks *leader;
    kiln_spec *spec;
    kiln_plan *plan;
    kiln_tuning *tuning;
    kiln_recording *recording;
    kiln_store *store;
    kiln_knowledge *knowledge;
    kiln_call call;
    kiln_choice choice;
    kiln_tune_options tune;
    kiln_setting sizes[1];
    float floats[4];
    CUdeviceptr memory;
    kiln_check_finding checked;
} w;

static struct out {
    kiln_error *error;
    kiln_engine *engine;
    kiln_ranks *ranks;
    kiln_spec *spec;
    kiln_plan *plan;
    kiln_tuning *tuning;
    kiln_recording *recording;
    kiln_store *store;
    kiln_knowledge *knowledge;
    kiln_best *best;
    kiln_profiling *profiling;
    kiln_inspection *inspection;
    kiln_judgement *judgement;
    char digest[33];
    const kiln_device_info *info;
    size_t bytes;
    int64_t i;
    double f;
    uint64_t u, v;
    const char *text;
    const kiln_array *array;
    kiln_array *output;
    kiln_csr matrix;
    void *line;
    float floats[4];
    CUdeviceptr pointer;
    const kiln_result *result;
    kiln_score score;
    kiln_occupancy_info occupancy;
    kiln_space_info space;
} out;

static void forget_out(void)
{
    kiln_error_free(out.error);
    kiln_plan_close(out.plan);
    kiln_tuning_free(out.tuning);
    kiln_recording_free(out.recording);
    kiln_store_close(out.store);
    kiln_knowledge_free(out.knowledge);
    kiln_best_free(out.best);
    kiln_profiling_free(out.profiling);
    kiln_inspection_free(out.inspection);
    kiln_judgement_free(out.judgement);
    kiln_spec_free(out.spec);
    kiln_engine_close(out.engine);
    out = (struct out){.score.size = sizeof(kiln_score),
                       .occupancy.size = sizeof(kiln_occupancy_info),
                       .space.size = sizeof(kiln_space_info)};
    kiln_error_free(w.call.failure);
    w.call.failure = NULL;
    kiln__exports_free(NULL, w.call.exports);
    w.call.exports = NULL;
}

static const char *host_name(void) /* Returns another name each time. */
{
    static char name[16];
    static int number;
    snprintf(name, sizeof name, "host%d", number++);
    return name;
}
static kiln_status host(void *user, kiln_call *call)
{
    (void)user, (void)call;
    return KILN_OK;
}
static int device(void *user, const kiln_device_info *info)
{
    (void)user, (void)info;
    return 0;
}
static int finding(void *user, const kiln_finding *found)
{
    (void)user, (void)found;
    return 0;
}
static int listed(void *user, const char *name, const char *title, const char *path)
{
    (void)user, (void)name, (void)title, (void)path;
    return 0;
}
static const int never = 0;

static void answered(void *user, int rank, const char *device, const char *answer)
{
    (void)user, (void)rank, (void)device, (void)answer;
}

static int step(void *user, const kiln_replay_step *one)
{
    (void)user, (void)one;
    return 0;
}
static int recorded(void *user, const kiln_record *record)
{
    (void)user, (void)record;
    return 0;
}
static int traced(void *user, const kiln_traced_access *access)
{
    (void)user, (void)access;
    return 0;
}
static int drafted(void *user, const char *spec, size_t length)
{
    (void)user, (void)spec, (void)length;
    return 0;
}
static int visited(void *user, const kiln_sim_instruction *instruction)
{
    (void)user, (void)instruction;
    return 0;
}
static int entry(void *user, const kiln_cache_entry *one)
{
    (void)user, (void)one;
    return 0;
}
static int shown(void *user, const kiln_cache_entry *one, const char *source, const char *ptx, size_t cubin)
{
    (void)user, (void)one, (void)source, (void)ptx, (void)cubin;
    return 0;
}
static kiln_status no_file(void *user, kiln__arena *arena, const char *name, const char **path, kiln_error **error)
{
    (void)user, (void)arena, (void)name, (void)path;
    return kiln__fail(NULL, error, KILN_ERROR_REFUSED, "no file here");
}

/* Makes one object of each kind, with which every public function can be called. */
static void set_up(void)
{
    static float data[4];
    static kiln_array array = {.type = KILN_f32, .dims = 1, .shape = {4}, .data = data};
    static kiln__call_arg args[] = {{.name = "i", .value = {KILN_INT, {1}}},
                                    {.name = "t", .value = {KILN_TEXT, {.text = "text"}}},
                                    {.name = "a", .kind = KILN__CALL_ARRAY, .array = &array, .writable = true}};
    kiln_error *error = NULL;
    scratch_enter();
    scratch_file("fake.yaml", spec_text);
    scratch_file("known.yaml", known_text);
    setenv("KILN_NVRTC", "/nonexistent", 1);
    w = (struct world){.sizes = {{"N", {KILN_INT, {4}}}}, .tune = {.size = sizeof w.tune}};
    w.memory = (CUdeviceptr)(uintptr_t)w.floats;
    w.call = (kiln_call){.function = "test", .args = args, .arg_count = KILN__COUNT(args), .file = no_file};
    w.engine = fake_engine_of(NULL, true);
    kiln_options options = {.size = sizeof options, .device = "sim", .cache_dir = "cache", .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &w.cached, &error), error);
    CHECK_OK(kiln_spec_parse(w.engine, spec_text, sizeof spec_text - 1, "fake.yaml", &w.spec, &error), error);
    CHECK_OK(fake_plan_of(w.engine, w.spec, &w.choice, &w.plan, &error), error);
    static kiln_ranks second = {.transport = {.rank = 1, .size = 2}};
    w.ranks = &second;
    static kiln__member members[1];
    static kiln_ranks first = {.transport = {.size = 1}, .members = members, .lock = PTHREAD_MUTEX_INITIALIZER};
    w.leader = &first;
    w.tuning = kiln__tuning_new(NULL);
    CHECK_OK(kiln_recording_load(w.engine, RECORDING, &w.recording, &error), error);
    CHECK_OK(kiln_store_open(w.engine, "samples.db", 0, &w.store, &error), error);
    CHECK_OK(kiln_store_export(w.store, NULL, "in.csv", KILN_FORMAT_CSV, NULL, &error), error);
    CHECK_OK(kiln_knowledge_collect(w.engine, w.store, NULL, &w.knowledge, &error), error);
    CHECK_OK(kiln_knowledge_save(w.knowledge, "known.yaml", NULL, &error), error);
    forget_out();
}

static void tear_down(void)
{
    forget_out();
    kiln__call_free(&w.call);
    kiln_knowledge_free(w.knowledge);
    kiln_store_close(w.store);
    kiln_recording_free(w.recording);
    kiln_tuning_free(w.tuning);
    kiln_plan_close(w.plan);
    kiln_spec_free(w.spec);
    kiln_engine_close(w.cached);
    kiln_engine_close(w.engine);
    scratch_leave();
}

/* ---- every function ---- */

/* X(the kind of answer, name, a letter for each pointer argument, a call). In it A(0, value) is the first pointer argument.
 *   r  required: KILN_ERROR_ARGUMENT, "NAME: ARGUMENT is NULL"     a  the same for an array with a count
 *   o  may be NULL     u  a callback's `user`: the same
 *   0  required: the neutral answer is 0 or NULL     e  ""     m  -1     v  no answer, and nothing happens */
#define CALLS(X)                                                                                                       \
    X(ADDRESS, kiln_status_name, "", (KILN_OK))                                                                        \
    X(ADDRESS, kiln_status_text, "", (KILN_OK))                                                                        \
    X(NUMBER, kiln_error_status, "0", (A(0, one)))                                                                     \
    X(ADDRESS, kiln_error_message, "e", (A(0, one)))                                                                   \
    X(NUMBER, kiln_error_cuda, "0", (A(0, one)))                                                                       \
    X(NOTHING, kiln_error_free, "v", (A(0, NULL)))                                                                     \
    X(STATUS, kiln_engine_open, "oro", (A(0, NULL), A(1, &out.engine), A(2, &out.error)))                              \
    X(STATUS, kiln_ranks_open, "oro", (A(0, NULL), A(1, &out.ranks), A(2, &out.error)))                                \
    X(NUMBER, kiln_ranks_rank, "0", (A(0, w.ranks)))                                                                   \
    X(NUMBER, kiln_ranks_count, "0", (A(0, w.ranks)))                                                                  \
    X(NUMBER, kiln_ranks_local, "0", (A(0, w.ranks)))                                                                  \
    X(STATUS, kiln_ranks_serve, "rro", (A(0, w.ranks), A(1, w.engine), A(2, &out.error)))                              \
    X(STATUS, kiln_ranks_collect, "rroruo",                                                                            \
      (A(0, w.leader), A(1, "{}"), A(2, &never), A(3, answered), A(4, NULL), A(5, &out.error)))                        \
    X(NOTHING, kiln_ranks_close, "v", (A(0, NULL)))                                                                    \
    X(NOTHING, kiln_engine_close, "v", (A(0, NULL)))                                                                   \
    X(STATUS, kiln_engine_device, "rro", (A(0, w.engine), A(1, &out.info), A(2, &out.error)))                          \
    X(STATUS, kiln_devices, "rruo", (A(0, w.engine), A(1, device), A(2, NULL), A(3, &out.error)))                      \
    X(STATUS, kiln_doctor, "rruo", (A(0, w.engine), A(1, finding), A(2, NULL), A(3, &out.error)))                      \
    X(STATUS, kiln_call_int, "rror", (A(0, &w.call), A(1, "i"), A(2, &zero), A(3, &out.i)))                            \
    X(STATUS, kiln_call_float, "rror", (A(0, &w.call), A(1, "i"), A(2, &half), A(3, &out.f)))                          \
    X(STATUS, kiln_call_text, "rror", (A(0, &w.call), A(1, "t"), A(2, "x"), A(3, &out.text)))                          \
    X(STATUS, kiln_call_array, "rrr", (A(0, &w.call), A(1, "a"), A(2, &out.array)))                                    \
    X(STATUS, kiln_call_output, "rrr", (A(0, &w.call), A(1, "a"), A(2, &out.output)))                                  \
    X(STATUS, kiln_call_file, "rrr", (A(0, &w.call), A(1, "f"), A(2, &out.text)))                                      \
    X(STATUS, kiln_call_export_int, "rr", (A(0, &w.call), A(1, "n"), 1))                                               \
    X(STATUS, kiln_call_export_float, "rr", (A(0, &w.call), A(1, "m"), 1))                                             \
    X(STATUS, kiln_call_export_array, "rrrr", (A(0, &w.call), A(1, "o"), KILN_f32, 1, A(2, shape), A(3, &out.output))) \
    X(STATUS, kiln_call_export_data, "rrr", (A(0, &w.call), A(1, "p"), KILN_f32, 0, A(2, &out.line)))                  \
    X(STATUS, kiln_call_fail, "rr", (A(0, &w.call), A(1, "why")))                                                      \
    X(STATUS, kiln_call_fail_as, "rr", (A(0, &w.call), KILN_ERROR_IO, A(1, "why")))                                    \
    X(ADDRESS, kiln_call_allocator, "0", (A(0, &w.call)))                                                              \
    X(ADDRESS, kiln_call_stop, "0", (A(0, &w.call)))                                                                   \
    X(STATUS, kiln_call_matrix, "rrr", (A(0, &w.call), A(1, "no.mtx"), 0, A(2, &out.matrix)))                          \
    X(NOTHING, kiln_call_matrix_free, "vv", (A(0, &w.call), A(1, &out.matrix)))                                        \
    X(STATUS, kiln_register_host, "rrruo",                                                                             \
      (A(0, w.engine), A(1, host_name()), KILN_HOST_STEP, A(2, host), A(3, NULL), A(4, &out.error)))                   \
    X(STATUS, kiln_describe_host, "rrro", (A(0, w.engine), A(1, "captured"), A(2, "any"), A(3, &out.error)))           \
    X(STATUS, kiln_spec_load, "rrro", (A(0, w.engine), A(1, "fake.yaml"), A(2, &out.spec), A(3, &out.error)))          \
    X(STATUS, kiln_spec_parse, "rrrro",                                                                                \
      (A(0, w.engine), A(1, spec_text), sizeof spec_text - 1, A(2, "fake.yaml"), A(3, &out.spec), A(4, &out.error)))   \
    X(NOTHING, kiln_spec_free, "v", (A(0, NULL)))                                                                      \
    X(ADDRESS, kiln_spec_name, "0", (A(0, w.spec)))                                                                    \
    X(ADDRESS, kiln_spec_title, "0", (A(0, w.spec)))                                                                   \
    X(ADDRESS, kiln_spec_about, "0", (A(0, w.spec)))                                                                   \
    X(ADDRESS, kiln_spec_path, "0", (A(0, w.spec)))                                                                    \
    X(NUMBER, kiln_spec_variant_count, "0", (A(0, w.spec)))                                                            \
    X(ADDRESS, kiln_spec_variant_name, "0", (A(0, w.spec), 0))                                                         \
    X(ADDRESS, kiln_spec_variant_about, "0", (A(0, w.spec), 0))                                                        \
    X(NUMBER, kiln_spec_variant_contender, "0", (A(0, w.spec), 0))                                                     \
    X(NUMBER, kiln_spec_variant_first, "0", (A(0, w.spec)))                                                            \
    X(NUMBER, kiln_spec_variant_find, "mm", (A(0, w.spec), A(1, "v")))                                                 \
    X(NUMBER, kiln_spec_param_count, "0", (A(0, w.spec), 0))                                                           \
    X(ADDRESS, kiln_spec_param, "0", (A(0, w.spec), 0, 0))                                                             \
    X(NUMBER, kiln_spec_constraint_count, "0", (A(0, w.spec), 0))                                                      \
    X(ADDRESS, kiln_spec_constraint, "0", (A(0, w.spec), 0, 0))                                                        \
    X(NUMBER, kiln_spec_target_count, "0", (A(0, w.spec), 0))                                                          \
    X(ADDRESS, kiln_spec_target, "0", (A(0, w.spec), 0, 0))                                                            \
    X(NUMBER, kiln_spec_need_count, "0", (A(0, w.spec), 0))                                                            \
    X(ADDRESS, kiln_spec_need, "0", (A(0, w.spec), 0, 0))                                                              \
    X(STATUS, kiln_variant_supported, "rro", (A(0, w.engine), A(1, w.spec), 0, A(2, &out.error)))                      \
    X(NUMBER, kiln_spec_size_set_count, "0", (A(0, w.spec)))                                                           \
    X(ADDRESS, kiln_spec_size_set, "0", (A(0, w.spec), 0))                                                             \
    X(NUMBER, kiln_spec_buffer_count, "0", (A(0, w.spec)))                                                             \
    X(ADDRESS, kiln_spec_buffer, "0", (A(0, w.spec), 0))                                                               \
    X(ADDRESS, kiln_host, "", (0))                                                                                     \
    X(ADDRESS, kiln_spec_key, "", (0))                                                                                 \
    X(STATUS, kiln_spec_list, "rruo", (A(0, w.engine), A(1, listed), A(2, NULL), A(3, &out.error)))                    \
    X(STATUS, kiln_space_count, "rrooro",                                                                              \
      (A(0, w.engine), A(1, w.spec), A(2, &w.choice), A(3, NULL), A(4, &out.space), A(5, &out.error)))                 \
    X(STATUS, kiln_file_write, "rro", (A(0, "written"), A(1, "x"), 1, A(2, &out.error)))                               \
    X(STATUS, kiln_space_size, "rrorro",                                                                               \
      (A(0, w.engine), A(1, w.spec), A(2, &w.choice), A(3, &out.u), A(4, &out.v), A(5, &out.error)))                   \
    X(STATUS, kiln_plan_open, "rroro",                                                                                 \
      (A(0, w.engine), A(1, w.spec), A(2, &w.choice), A(3, &out.plan), A(4, &out.error)))                              \
    X(NOTHING, kiln_plan_close, "v", (A(0, NULL)))                                                                     \
    X(STATUS, kiln_plan_bind, "rro", (A(0, w.plan), A(1, "x"), w.memory, sizeof w.floats, A(2, &out.error)))           \
    X(STATUS, kiln_plan_resize, "rao", (A(0, w.plan), A(1, w.sizes), 1, A(2, &out.error)))                             \
    X(ADDRESS, kiln_plan_size_set, "0", (A(0, w.plan)))                                                                \
    X(ADDRESS, kiln_plan_size, "0", (A(0, w.plan), 0))                                                                 \
    X(STATUS, kiln_plan_buffer_bytes, "rrro", (A(0, w.plan), A(1, "x"), A(2, &out.u), A(3, &out.error)))               \
    X(STATUS, kiln_plan_buffer, "rrro", (A(0, w.plan), A(1, "y"), A(2, &out.pointer), A(3, &out.error)))               \
    X(STATUS, kiln_plan_write, "rrro", (A(0, w.plan), A(1, "y"), A(2, w.floats), sizeof w.floats, A(3, &out.error)))   \
    X(STATUS, kiln_plan_read, "rrro", (A(0, w.plan), A(1, "y"), A(2, out.floats), sizeof w.floats, A(3, &out.error)))  \
    X(STATUS, kiln_plan_launch, "roo", (A(0, w.plan), A(1, NULL), A(2, &out.error)))                                   \
    X(STATUS, kiln_plan_reset, "roo", (A(0, w.plan), A(1, NULL), A(2, &out.error)))                                    \
    X(NUMBER, kiln_plan_kernel_count, "0", (A(0, w.plan)))                                                             \
    X(ADDRESS, kiln_plan_kernel, "0", (A(0, w.plan), 0))                                                               \
    X(NUMBER, kiln_plan_metric_count, "0", (A(0, w.plan)))                                                             \
    X(STATUS, kiln_plan_metric, "rrro", (A(0, w.plan), 0, A(1, &out.text), A(2, &out.f), A(3, &out.error)))            \
    X(STATUS, kiln_capture, "roo", (A(0, w.engine), A(1, NULL), A(2, &out.error)))                                     \
    X(STATUS, kiln_plan_capture, "roo", (A(0, w.plan), A(1, "captured"), A(2, &out.error)))                            \
    X(ADDRESS, kiln_plan_captured, "0", (A(0, w.plan)))                                                                \
    X(ADDRESS, kiln_check_text, "", (KILN_CHECK_RACE))                                                                 \
    X(NUMBER, kiln_check_is_suppressed, "00", (A(0, "race"), A(1, &w.checked)))                                        \
    X(STATUS, kiln_plan_run, "rooo", (A(0, w.plan), A(1, NULL), A(2, &out.result), A(3, &out.error)))                  \
    X(STATUS, kiln_tune, "rroro", (A(0, w.engine), A(1, w.spec), A(2, &w.tune), A(3, &out.tuning), A(4, &out.error)))  \
    X(NOTHING, kiln_tuning_free, "v", (A(0, NULL)))                                                                    \
    X(NUMBER, kiln_tuning_count, "0", (A(0, w.tuning)))                                                                \
    X(ADDRESS, kiln_tuning_sample, "0", (A(0, w.tuning), 0))                                                           \
    X(ADDRESS, kiln_tuning_sum, "0", (A(0, w.tuning)))                                                                 \
    X(ADDRESS, kiln_tuning_size_set, "0", (A(0, w.tuning)))                                                            \
    X(ADDRESS, kiln_tuning_size, "0", (A(0, w.tuning), 0))                                                             \
    X(ADDRESS, kiln_tuning_left_out, "0", (A(0, w.tuning), 0))                                                         \
    X(ADDRESS, kiln_tuning_verdict, "0", (A(0, w.tuning)))                                                             \
    X(ADDRESS, kiln_strategy_name, "", (0))                                                                            \
    X(ADDRESS, kiln_strategy_about, "", (0))                                                                           \
    X(NUMBER, kiln_format_find, "m", (A(0, "csv")))                                                                    \
    X(STATUS, kiln_recording_load, "rrro", (A(0, w.engine), A(1, RECORDING), A(2, &out.recording), A(3, &out.error)))  \
    X(NOTHING, kiln_recording_free, "v", (A(0, NULL)))                                                                 \
    X(STATUS, kiln_recording_set_prior, "rro", (A(0, w.recording), A(1, w.recording), A(2, &out.error)))               \
    X(STATUS, kiln_recording_convert, "rrro",                                                                          \
      (A(0, w.engine), A(1, RECORDING), A(2, "out.json"), KILN_FORMAT_T4, A(3, &out.error)))                           \
    X(ADDRESS, kiln_recording_describe, "0", (A(0, w.recording)))                                                      \
    X(STATUS, kiln_replay, "roruo", (A(0, w.recording), A(1, NULL), A(2, step), A(3, NULL), A(4, &out.error)))         \
    X(STATUS, kiln_recording_score, "roro", (A(0, w.recording), A(1, NULL), 1, A(2, &out.score), A(3, &out.error)))    \
    X(STATUS, kiln_store_open, "roro", (A(0, w.engine), A(1, "kept.db"), 0, A(2, &out.store), A(3, &out.error)))       \
    X(NOTHING, kiln_store_close, "v", (A(0, NULL)))                                                                    \
    X(ADDRESS, kiln_store_path, "0", (A(0, w.store)))                                                                  \
    X(STATUS, kiln_store_list, "roruo", (A(0, w.store), A(1, NULL), A(2, recorded), A(3, NULL), A(4, &out.error)))     \
    X(STATUS, kiln_store_prune, "rooo", (A(0, w.store), A(1, NULL), A(2, &out.u), A(3, &out.error)))                   \
    X(STATUS, kiln_store_export, "roroo",                                                                              \
      (A(0, w.store), A(1, NULL), A(2, "out.csv"), KILN_FORMAT_CSV, A(3, &out.u), A(4, &out.error)))                   \
    X(STATUS, kiln_store_import, "rrooo",                                                                              \
      (A(0, w.store), A(1, "in.csv"), A(2, &out.u), A(3, &out.v), A(4, &out.error)))                                   \
    X(STATUS, kiln_knowledge_load, "rrro",                                                                             \
      (A(0, w.engine), A(1, "known.yaml"), A(2, &out.knowledge), A(3, &out.error)))                                    \
    X(STATUS, kiln_knowledge_parse, "rrrro",                                                                           \
      (A(0, w.engine), A(1, known_text), sizeof known_text - 1, A(2, "known.yaml"), A(3, &out.knowledge),              \
       A(4, &out.error)))                                                                                              \
    X(STATUS, kiln_knowledge_collect, "rroro",                                                                         \
      (A(0, w.engine), A(1, w.store), A(2, NULL), A(3, &out.knowledge), A(4, &out.error)))                             \
    X(NOTHING, kiln_knowledge_free, "v", (A(0, NULL)))                                                                 \
    X(NUMBER, kiln_knowledge_count, "0", (A(0, w.knowledge)))                                                          \
    X(STATUS, kiln_knowledge_save, "rroo", (A(0, w.knowledge), A(1, "saved.yaml"), A(2, &out.u), A(3, &out.error)))    \
    X(ADDRESS, kiln_best_text, "", (KILN_BEST_EXACT))                                                                  \
    X(STATUS, kiln_best_find, "rrooro",                                                                                \
      (A(0, w.engine), A(1, w.spec), A(2, &w.choice), A(3, NULL), A(4, &out.best), A(5, &out.error)))                  \
    X(NOTHING, kiln_best_free, "v", (A(0, NULL)))                                                                      \
    X(STATUS, kiln_plan_open_best, "rrooroo",                                                                          \
      (A(0, w.engine), A(1, w.spec), A(2, &w.choice), A(3, NULL), A(4, &out.plan), A(5, &out.best), A(6, &out.error))) \
    X(NOTHING, kiln_sim_instructions, "vu", (A(0, visited), A(1, NULL)))                                               \
    X(ADDRESS, kiln_class_name, "", (KILN_CLASS_int))                                                                  \
    X(ADDRESS, kiln_class_text, "", (KILN_CLASS_int))                                                                  \
    X(STATUS, kiln_profile, "rrooro",                                                                                  \
      (A(0, w.engine), A(1, w.spec), A(2, &w.choice), A(3, NULL), A(4, &out.profiling), A(5, &out.error)))             \
    X(NOTHING, kiln_profiling_free, "v", (A(0, NULL)))                                                                 \
    X(NUMBER, kiln_profiling_verified, "0", (A(0, out.profiling)))                                                     \
    X(NUMBER, kiln_profiling_kernel_count, "0", (A(0, out.profiling)))                                                 \
    X(ADDRESS, kiln_profiling_kernel, "0", (A(0, out.profiling), 0))                                                   \
    X(NUMBER, kiln_profiling_line_count, "0", (A(0, out.profiling)))                                                   \
    X(ADDRESS, kiln_profiling_line, "0", (A(0, out.profiling), 0))                                                     \
    X(NUMBER, kiln_profiling_insn_count, "0", (A(0, out.profiling)))                                                   \
    X(ADDRESS, kiln_profiling_insn, "0", (A(0, out.profiling), 0))                                                     \
    X(STATUS, kiln_trace, "rrooruo",                                                                                   \
      (A(0, w.engine), A(1, w.spec), A(2, &w.choice), A(3, NULL), 0, A(4, traced), A(5, NULL), A(6, &out.error)))      \
    X(STATUS, kiln_inspect, "rrooro",                                                                                  \
      (A(0, w.engine), A(1, w.spec), A(2, &w.choice), A(3, "sm_80"), A(4, &out.inspection), A(5, &out.error)))         \
    X(STATUS, kiln_draft, "rroruo",                                                                                    \
      (A(0, w.engine), A(1, "nowhere.cu"), A(2, NULL), A(3, drafted), A(4, NULL), A(5, &out.error)))                   \
    X(STATUS, kiln_judge, "rrrroro",                                                                                   \
      (A(0, w.engine), A(1, w.spec), A(2, "x"), 1, A(3, "x.cu"), A(4, NULL), A(5, &out.judgement), A(6, &out.error)))  \
    X(STATUS, kiln_judge_digest, "rrrroro",                                                                            \
      (A(0, w.engine), A(1, w.spec), A(2, "x"), 1, A(3, "x.cu"), A(4, NULL), A(5, out.digest), A(6, &out.error)))      \
    X(NOTHING, kiln_judgement_free, "v", (A(0, NULL)))                                                                 \
    X(NUMBER, kiln_judgement_kind, "m", (A(0, out.judgement)))                                                         \
    X(ADDRESS, kiln_judgement_json, "e", (A(0, out.judgement)))                                                        \
    X(ADDRESS, kiln_judgement_page, "e", (A(0, out.judgement)))                                                        \
    X(ADDRESS, kiln_judged_word, "", (KILN_JUDGED_PASS))                                                               \
    X(ADDRESS, kiln_judged_text, "", (KILN_JUDGED_PASS))                                                               \
    X(STATUS, kiln_occupancy, "rrro",                                                                                  \
      (A(0, w.engine), A(1, "sm_80"), 128, 32, 0, A(2, &out.occupancy), A(3, &out.error)))                             \
    X(STATUS, kiln_occupancy_tensor, "rrro",                                                                           \
      (A(0, w.engine), A(1, "sm_80"), 128, 32, 0, 0, A(2, &out.occupancy), A(3, &out.error)))                          \
    X(NOTHING, kiln_inspection_free, "v", (A(0, NULL)))                                                                \
    X(ADDRESS, kiln_inspection_arch, "0", (A(0, out.inspection)))                                                      \
    X(ADDRESS, kiln_inspection_source, "0", (A(0, out.inspection)))                                                    \
    X(ADDRESS, kiln_inspection_ptx, "e", (A(0, out.inspection)))                                                       \
    X(ADDRESS, kiln_inspection_cubin, "0o", (A(0, out.inspection), A(1, &out.bytes)))                                  \
    X(ADDRESS, kiln_inspection_log, "e", (A(0, out.inspection)))                                                       \
    X(ADDRESS, kiln_inspection_finding, "0", (A(0, out.inspection), 0))                                                \
    X(NUMBER, kiln_inspection_kernel_count, "0", (A(0, out.inspection)))                                               \
    X(ADDRESS, kiln_inspection_kernel, "0", (A(0, out.inspection), 0))                                                 \
    X(ADDRESS, kiln_cache_dir, "0", (A(0, w.cached)))                                                                  \
    X(STATUS, kiln_cache_list, "rruo", (A(0, w.cached), A(1, entry), A(2, NULL), A(3, &out.error)))                    \
    X(STATUS, kiln_cache_verify, "rruo", (A(0, w.cached), A(1, entry), A(2, NULL), A(3, &out.error)))                  \
    X(STATUS, kiln_cache_show, "rrruo", (A(0, w.cached), A(1, "00"), A(2, shown), A(3, NULL), A(4, &out.error)))       \
    X(STATUS, kiln_cache_gc, "rooo", (A(0, w.cached), 1, A(1, &out.u), A(2, &out.v), A(3, &out.error)))                \
    X(STATUS, kiln_cache_clear, "roo", (A(0, w.cached), A(1, &out.u), A(2, &out.error)))                               \
    X(ADDRESS, kiln_version, "", ())

typedef enum answer_kind { STATUS, NUMBER, ADDRESS, NOTHING } answer_kind;
typedef struct answer {
    kiln_status status;
    long long number;
    const volatile void *address;
} answer;
#define MAKE_STATUS(call) a.status = call
#define MAKE_NUMBER(call) a.number = (long long)call
#define MAKE_ADDRESS(call) a.address = call
#define MAKE_NOTHING(call) call
#define A(i, value) (at == (i) ? NULL : (value))

/* Makes the call with a NULL for the pointer argument `at`, or with no NULL if `at` is -1. */
#define X(kind, name, policy, arguments)                                                                               \
    static answer call_##name(int at)                                                                                  \
    {                                                                                                                  \
        static const int64_t zero = 0;                                                                                 \
        static const double half = 0.5;                                                                                \
        static const uint64_t shape[] = {4};                                                                           \
        static const kiln_error *const one = NULL;                                                                     \
        answer a = {0};                                                                                                \
        (void)at, (void)zero, (void)half, (void)shape, (void)one;                                                      \
        MAKE_##kind(name arguments);                                                                                   \
        return a;                                                                                                      \
    }
CALLS(X)
#undef X

static const struct call {
    const char *name;
    answer_kind kind;
    const char *policy;
    answer (*make)(int at);
} calls[] = {
#define X(kind, name, policy, arguments) {#name, kind, policy, call_##name},
    CALLS(X)
#undef X
};

/* ---- the declarations of the headers ---- */

typedef struct function {
    char name[64];
    char pointers[10][32];
    int count;
    char filled[2][64];
    int filled_at[2], filled_count;
} function;
static function functions[256];
static size_t function_count;
static char structs[32][64]; /* the structs that begin with a size */
static size_t struct_count;

static const char *const headers[] = {
    KILN_SOURCE_DIR "/engine/include/kiln.h", KILN_SOURCE_DIR "/engine/include/kiln_tune.h",
    KILN_SOURCE_DIR "/engine/include/kiln_sim.h", KILN_SOURCE_DIR "/engine/include/kiln_judge.h"};

/* Returns the text of a header, with spaces in place of comments and lines of the preprocessor. */
static char *read_header(const char *path)
{
    char *text = NULL;
    size_t length = 0;
    if (kiln__file_read(NULL, path, 0, &text, &length, NULL) != KILN_OK) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    for (char *at = text; *at; at++) {
        char *end = strncmp(at, "/*", 2) == 0 ? strstr(at, "*/") + 2 : at;
        if (*at == '#' && (at == text || at[-1] == '\n')) {
            end = at + strcspn(at, "\n");
            while (end[-1] == '\\')
                end += 1 + strcspn(end + 1, "\n");
        }
        if (end > at) {
            memset(at, ' ', (size_t)(end - at));
            at = end - 1;
        }
    }
    return text;
}

static const char *word_at(const char *at, char *word, size_t room)
{
    size_t n = 0;
    for (; (isalnum((unsigned char)*at) || *at == '_') && n + 1 < room; at++)
        word[n++] = *at;
    word[n] = '\0';
    return at;
}

/* Adds an argument of a function, such as "const kiln_spec *spec", "void (*visit)(void *user, ...)", "kiln_list_fn
 * each". */
static void add_argument(function *f, const char *text, size_t length)
{
    char copy[256], type[64] = "", name[64] = "";
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    char *inner = strstr(copy, "(*");
    bool pointer = strchr(copy, '*') || strstr(copy, "_fn ") || strstr(copy, "CUstream");
    if (inner)
        inner[2 + strcspn(inner + 2, ")")] = '\0';
    for (const char *at = inner ? inner + 2 : copy; *at;) {
        char word[64];
        const char *end = word_at(at, word, sizeof word);
        if (*word)
            snprintf(name, sizeof name, "%s", word);
        if (strncmp(word, "kiln_", 5) == 0)
            snprintf(type, sizeof type, "%s", word);
        at = end > at ? end : at + 1;
    }
    if (!pointer)
        return;
    if (f->count >= 10)
        exit(1);
    snprintf(f->pointers[f->count], sizeof *f->pointers, "%.31s", name);
    for (size_t i = 0; i < struct_count; i++)
        if (strcmp(structs[i], type) == 0) {
            if (f->filled_count >= 2)
                exit(1);
            snprintf(f->filled[f->filled_count], sizeof *f->filled, "%.63s", type);
            f->filled_at[f->filled_count++] = f->count;
        }
    f->count++;
}

static void read_structs(const char *text)
{
    for (const char *at = text; (at = strstr(at, "typedef struct kiln_"));) {
        char name[64];
        at = word_at(at + strlen("typedef struct "), name, sizeof name);
        at += strspn(at, " \n");
        if (*at != '{')
            continue;
        at += 1 + strspn(at + 1, " \n");
        if (strncmp(at, "size_t size;", 12) == 0)
            snprintf(structs[struct_count++], sizeof *structs, "%s", name);
    }
}

static void read_functions(const char *text)
{
    for (const char *at = text; (at = strstr(at, "KILN_API"));) {
        function *f = &functions[function_count++];
        at = strchr(at, '(');
        const char *start = at;
        while (isalnum((unsigned char)start[-1]) || start[-1] == '_')
            start--;
        word_at(start, f->name, sizeof f->name);
        int depth = 0;
        for (const char *from = at + 1;; at++) {
            depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
            if (depth == 0 || (depth == 1 && *at == ',')) {
                add_argument(f, from, (size_t)(at - from));
                from = at + 1;
            }
            if (depth == 0)
                break;
        }
    }
}

static const function *function_named(const char *name)
{
    for (size_t i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

static void test_list(void)
{
    CHECK(function_count > 100 && struct_count > 5);
    for (size_t i = 0; i < function_count; i++) {
        size_t k = 0;
        while (k < KILN__COUNT(calls) && strcmp(calls[k].name, functions[i].name) != 0)
            k++;
        if (k == KILN__COUNT(calls))
            fprintf(stderr, "%s has no line in CALLS\n", functions[i].name);
        CHECK(k < KILN__COUNT(calls));
    }
    for (size_t k = 0; k < KILN__COUNT(calls); k++) {
        const function *f = function_named(calls[k].name);
        CHECK(f != NULL);
        if (f && (int)strlen(calls[k].policy) != f->count)
            fprintf(stderr, "%s has %d pointer arguments, and its line in CALLS says \"%s\"\n", f->name, f->count,
                    calls[k].policy);
        CHECK(f && (int)strlen(calls[k].policy) == f->count);
    }
}

/* ---- NULL ---- */

/* Calls a function with NULL for the pointer `at`, and checks the result that the policy of this pointer demands. */
static void check_null(const struct call *c, const function *f, int at)
{
    char want[160];
    answer a = c->make(at);
    bool fine = true;
    snprintf(want, sizeof want, "%s: %s%s is NULL", c->name, c->policy[at] == 'a' ? "count is 1, but " : "",
             f->pointers[at]);
    switch (c->policy[at]) {
    case 'r':
    case 'a':
        fine = a.status == KILN_ERROR_ARGUMENT;
        if (strncmp(c->name, "kiln_call_", 10) != 0) {
            CHECK_TEXT(kiln_error_message(out.error), want);
        } else if (at > 0) {
            CHECK_TEXT(kiln_error_message(w.call.failure), want);
        }
        break;
    case 'o':
    case 'u': fine = a.status != KILN_ERROR_ARGUMENT; break;
    case '0': fine = a.number == 0 && a.address == NULL; break;
    case 'e': fine = a.address && *(const volatile char *)a.address == '\0'; break;
    case 'm': fine = a.number == -1; break;
    default: break;
    }
    if (!fine)
        fprintf(stderr, "%s with %s NULL: %s %s\n", c->name, f->pointers[at], kiln_status_name(a.status),
                kiln_error_message(out.error));
    CHECK(fine);
    forget_out();
}

static void test_null(void)
{
    set_up();
    for (size_t k = 0; k < KILN__COUNT(calls); k++) {
        const function *f = function_named(calls[k].name);
        for (int at = 0; f && at < f->count; at++)
            check_null(&calls[k], f, at);
    }
    tear_down();
}

/* Tests that an index past the last element gives the neutral answer. */
static void test_past_the_last(void)
{
    set_up();
    CHECK_TEXT(kiln_spec_param(w.spec, 0, 0)->name, "BLOCK");
    CHECK(!kiln_spec_param(w.spec, 0, 1) && !kiln_spec_param(w.spec, 1, 0) &&
          !kiln_spec_param(w.spec, SIZE_MAX, SIZE_MAX));
    CHECK(kiln_spec_size_set(w.spec, 0)->count == 1 && !kiln_spec_size_set(w.spec, 1));
    CHECK_TEXT(kiln_spec_buffer(w.spec, 1)->name, "y");
    CHECK(!kiln_spec_buffer(w.spec, 2) && !kiln_plan_kernel(w.plan, 1) && !kiln_tuning_sample(w.tuning, 99));
    CHECK_TEXT(kiln_recording_describe(w.recording)->path, RECORDING);
    CHECK(kiln_tuning_verdict(w.tuning)->rounds == 0 && kiln_tuning_sum(w.tuning)->configurations == 0);
    out.bytes = 7;
    CHECK(kiln_inspection_cubin(NULL, &out.bytes) == NULL && out.bytes == 0);
    tear_down();
}

/* ---- structs with a size: those that callers fill, and those that the library fills ---- */

/* Y(function, its struct, a call with `given`) */
#define FILLED(Y)                                                                                                      \
    Y(kiln_engine_open, kiln_options, (given, &out.engine, &out.error))                                                \
    Y(kiln_ranks_open, kiln_ranks_options, (given, &out.ranks, &out.error))                                            \
    Y(kiln_space_count, kiln_space_options, (w.engine, w.spec, NULL, given, &out.space, &out.error))                   \
    Y(kiln_draft, kiln_draft_options, (w.engine, "nowhere.cu", given, drafted, NULL, &out.error))                      \
    Y(kiln_judge, kiln_judge_options, (w.engine, w.spec, "x", 1, "x.cu", given, &out.judgement, &out.error))           \
    Y(kiln_judge_digest, kiln_judge_options, (w.engine, w.spec, "x", 1, "x.cu", given, out.digest, &out.error))        \
    Y(kiln_capture, kiln_capture_options, (w.engine, given, &out.error))                                               \
    Y(kiln_plan_run, kiln_run_options, (w.plan, given, &out.result, &out.error))                                       \
    Y(kiln_tune, kiln_tune_options, (w.engine, w.spec, given, &out.tuning, &out.error))                                \
    Y(kiln_replay, kiln_replay_options, (w.recording, given, step, NULL, &out.error))                                  \
    Y(kiln_store_list, kiln_store_filter, (w.store, given, recorded, NULL, &out.error))                                \
    Y(kiln_store_prune, kiln_store_filter, (w.store, given, &out.u, &out.error))                                       \
    Y(kiln_store_export, kiln_store_filter, (w.store, given, "out.csv", KILN_FORMAT_CSV, &out.u, &out.error))          \
    Y(kiln_knowledge_collect, kiln_store_filter, (w.engine, w.store, given, &out.knowledge, &out.error))               \
    Y(kiln_best_find, kiln_best_options, (w.engine, w.spec, NULL, given, &out.best, &out.error))                       \
    Y(kiln_plan_open_best, kiln_best_options, (w.engine, w.spec, NULL, given, &out.plan, &out.best, &out.error))       \
    Y(kiln_profile, kiln_run_options, (w.engine, w.spec, NULL, given, &out.profiling, &out.error))                     \
    Y(kiln_trace, kiln_run_options, (w.engine, w.spec, NULL, given, 0, traced, NULL, &out.error))

#define GIVEN(Y)                                                                                                       \
    Y(kiln_space_count, kiln_space_info, (w.engine, w.spec, NULL, NULL, given, &out.error))                            \
    Y(kiln_recording_score, kiln_score, (w.recording, NULL, 1, given, &out.error))                                     \
    Y(kiln_occupancy, kiln_occupancy_info, (w.engine, "sm_80", 128, 32, 0, given, &out.error))                         \
    Y(kiln_occupancy_tensor, kiln_occupancy_info, (w.engine, "sm_100", 128, 32, 0, 64, given, &out.error))

#define Y(name, type, arguments)                                                                                       \
    static kiln_status fill_##name##_##type(void *bytes)                                                               \
    {                                                                                                                  \
        type *given = bytes;                                                                                           \
        return name arguments;                                                                                         \
    }
FILLED(Y)
GIVEN(Y)
#undef Y
static const struct filled {
    const char *name, *type;
    size_t size;
    bool out;
    kiln_status (*make)(void *bytes);
} filled[] = {
#define Y(name, type, arguments) {#name, #type, sizeof(type), false, fill_##name##_##type},
    FILLED(Y)
#undef Y
#define Y(name, type, arguments) {#name, #type, sizeof(type), true, fill_##name##_##type},
        GIVEN(Y)
#undef Y
};

static void test_filled_list(void)
{
    for (size_t i = 0; i < function_count; i++) {
        const function *f = &functions[i];
        for (int n = 0; n < f->filled_count; n++) {
            size_t k = 0;
            while (k < KILN__COUNT(filled) &&
                   (strcmp(filled[k].name, f->name) != 0 || strcmp(filled[k].type, f->filled[n]) != 0))
                k++;
            if (k == KILN__COUNT(filled))
                fprintf(stderr, "%s takes a %s and has no line in FILLED or GIVEN\n", f->name, f->filled[n]);
            CHECK(k < KILN__COUNT(filled));
        }
    }
    for (size_t s = 0; s < struct_count; s++) {
        size_t k = 0;
        while (k < KILN__COUNT(filled) && strcmp(filled[k].type, structs[s]) != 0)
            k++;
        if (k == KILN__COUNT(filled))
            fprintf(stderr, "%s has a size, and no function in FILLED or GIVEN takes it\n", structs[s]);
        CHECK(k < KILN__COUNT(filled));
    }
}

/* Passes the struct in a separate block of exactly `bytes` bytes, so that a sanitizer sees a read beyond its end. */
static void check_size(const struct filled *f, size_t size, size_t bytes, bool tail, kiln_status want, const char *part)
{
    const function *declared = function_named(f->name);
    unsigned char *block = calloc(1, bytes < sizeof size ? sizeof size : bytes);
    if (!block || !declared)
        exit(1);
    memcpy(block, &size, sizeof size);
    if (tail)
        block[bytes - 1] = 1;
    kiln_status status = f->make(block);
    const char *message = kiln_error_message(out.error);
    char begin[128];
    int n = declared->filled_count > 1 && strcmp(declared->filled[1], f->type) == 0;
    snprintf(begin, sizeof begin, "%s: %s", f->name, declared->pointers[declared->filled_at[n]]);
    bool fine = want == KILN_OK
                    ? status != KILN_ERROR_ARGUMENT && !strstr(message, "older than the header")
                    : status == want && strncmp(message, begin, strlen(begin)) == 0 && strstr(message, part);
    if (!fine)
        fprintf(stderr, "%s with a %s of size %zu: %s: %s\n", f->name, f->type, size, kiln_status_name(status),
                message);
    CHECK(fine);
    if (f->out) { /* the size stays the same, and members that the library does not know are zero */
        CHECK(memcmp(block, &size, sizeof size) == 0);
        for (size_t i = f->size; status == KILN_OK && i < bytes; i++)
            CHECK(block[i] == 0);
    }
    free(block);
    forget_out();
}

static void test_sizes(void)
{
    set_up();
    for (size_t k = 0; k < KILN__COUNT(filled); k++) {
        const struct filled *f = &filled[k];
        check_size(f, 0, f->size, false, KILN_ERROR_ARGUMENT, ".size is 0; set ");
        check_size(f, 1, 1, false, KILN_ERROR_ARGUMENT, ".size is 1, which ends within a member");
        check_size(f, 3, 3, false, KILN_ERROR_ARGUMENT, "ends within a member");
        check_size(f, 12, 12, false, KILN_ERROR_ARGUMENT, "ends within a member");
        check_size(f, f->size - 1, f->size - 1, false, KILN_ERROR_ARGUMENT, "ends within a member");
        check_size(f, sizeof(size_t), sizeof(size_t), false, KILN_OK, "");
        check_size(f, f->size, f->size, false, KILN_OK, "");
        check_size(f, f->size + 64, f->size + 64, false, KILN_OK, "");
        if (f->out)
            check_size(f, f->size + 64, f->size + 64, true, KILN_OK, "");
        else
            check_size(f, f->size + 64, f->size + 64, true, KILN_ERROR_UNSUPPORTED, "older than the header");
        check_size(f, (size_t)1 << 40, f->size, false, KILN_ERROR_ARGUMENT, "larger than in any version");
        check_size(f, SIZE_MAX - 7, f->size, false, KILN_ERROR_ARGUMENT, "larger than in any version");
    }
    tear_down();
}

/* Tests the rule for a struct to which another struct refers. */
static void test_inner(void)
{
    set_up();
    kiln_run_options run = {0};
    kiln_tune_options tune = {.size = sizeof tune, .run = &run};
    kiln_best_options best = {.size = sizeof best, .run = &run};
    CHECK(kiln_tune(w.engine, w.spec, &tune, &out.tuning, &out.error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(out.error),
               "kiln_tune: options.run.size is 0; set options.run.size = sizeof options.run");
    forget_out();
    CHECK(kiln_best_find(w.engine, w.spec, NULL, &best, &out.best, &out.error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(out.error),
               "kiln_best_find: options.run.size is 0; set options.run.size = sizeof options.run");
    forget_out();
    run = (kiln_run_options){.size = offsetof(kiln_run_options, budget), .flags = 128, .budget = -1};
    CHECK(kiln_tune(w.engine, w.spec, &tune, &out.tuning, &out.error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(out.error), "kiln_tune: options.run.flags has unknown bits 0x80");
    forget_out();
    run.flags = 0;
    CHECK(kiln_best_find(w.engine, w.spec, NULL, &best, &out.best, &out.error) != KILN_ERROR_ARGUMENT);
    tear_down();
}

/* Tests a shorter struct: the library reads the members that are there, and ignores a member beyond its size. */
static void test_older(void)
{
    set_up();
    kiln_run_options options = {.size = offsetof(kiln_run_options, budget), .flags = 1u << 9, .budget = -1};
    CHECK(kiln_plan_run(w.plan, &options, NULL, &out.error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(out.error), "kiln_plan_run: options.flags has unknown bits 0x200");
    forget_out();
    options.flags = KILN_RUN_NO_VERIFY;
    CHECK_OK(kiln_plan_run(w.plan, &options, NULL, &out.error), out.error);
    tear_down();
}

/* ---- other arguments that are wrong ---- */

static void refused(kiln_status status, const char *message)
{
    CHECK(status == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(out.error), message);
    forget_out();
}
#define REFUSED(call, message) refused(call, message)
#define TUNE(...)                                                                                                      \
    kiln_tune(w.engine, w.spec, &(kiln_tune_options){.size = sizeof(kiln_tune_options), __VA_ARGS__}, &out.tuning,     \
              &out.error)
#define TUNE_RUN(...)                                                                                                  \
    &(kiln_run_options) { .size = sizeof(kiln_run_options), __VA_ARGS__ }
#define RUN(...)                                                                                                       \
    kiln_plan_run(w.plan, &(kiln_run_options){.size = sizeof(kiln_run_options), __VA_ARGS__}, NULL, &out.error)
#define OPEN(...) kiln_engine_open(&(kiln_options){.size = sizeof(kiln_options), __VA_ARGS__}, &out.engine, &out.error)
#define LIST(...)                                                                                                      \
    kiln_store_list(w.store, &(kiln_store_filter){.size = sizeof(kiln_store_filter), __VA_ARGS__}, recorded, NULL,     \
                    &out.error)
#define CHOOSE(...) kiln_plan_open(w.engine, w.spec, &(kiln_choice){__VA_ARGS__}, &out.plan, &out.error)

/* Flags with unknown bits and values outside of an enum are refused by name. Functions that return texts return a text
 * for every value. */
static void test_flags_and_enums(void)
{
    set_up();
    REFUSED(OPEN(.flags = 1u << 31), "kiln_engine_open: options.flags has unknown bits 0x80000000");
    REFUSED(RUN(.flags = KILN_RUN_CHECK | 0x500), "kiln_plan_run: options.flags has unknown bits 0x500");
    REFUSED(TUNE(.flags = 64), "kiln_tune: options.flags has unknown bits 0x40");
    REFUSED(TUNE(.flags = KILN_TUNE_LEAD_ONLY),
            "kiln_tune: KILN_TUNE_LEAD_ONLY needs an engine with ranks, and excludes options.devices");
    REFUSED(TUNE(.run = TUNE_RUN(.flags = 128)), "kiln_tune: options.run.flags has unknown bits 0x80");
    REFUSED(TUNE(.isolation = (kiln_isolation)3), "kiln_tune: options.isolation is 3; it must be 0 to 2");
    REFUSED(kiln_store_open(w.engine, "a.db", 6, &out.store, &out.error),
            "kiln_store_open: flags has unknown bits 0x6");
    REFUSED(kiln_store_export(w.store, NULL, "a", (kiln_format)-1, NULL, &out.error),
            "kiln_store_export: format is -1; it must be 0 to 3");
    REFUSED(kiln_recording_convert(w.engine, RECORDING, "a", (kiln_format)9, &out.error),
            "kiln_recording_convert: format is 9; it must be 0 to 3");
    REFUSED(LIST(.failed = 2), "kiln_store_list: filter.failed is 2; it must be -1 to 1");
    CHECK_TEXT(kiln_check_text((kiln_check_kind)-1), "");
    CHECK_TEXT(kiln_judged_word((kiln_judged)-1), "");
    CHECK_TEXT(kiln_judged_text(KILN_JUDGED_KINDS), "");
    CHECK_TEXT(kiln_best_text((kiln_best_from)99), "");
    CHECK_TEXT(kiln_class_name((kiln_class)-1), "");
    CHECK_TEXT(kiln_status_name((kiln_status)-1), "KILN_?");
    CHECK(kiln_call_export_array(&w.call, "o", KILN_TYPE_COUNT, 0, NULL, &out.output) == KILN_ERROR_HOST_FUNCTION);
    forget_out();
    CHECK(kiln_call_export_array(&w.call, "o", KILN_f32, -1, NULL, &out.output) == KILN_ERROR_ARGUMENT);
    tear_down();
}

static void test_numbers(void)
{
    set_up();
    REFUSED(OPEN(.compile_timeout = -1), "kiln_engine_open: options.compile_timeout is -1; it must be 0 or more");
    REFUSED(RUN(.budget = -1), "kiln_plan_run: options.budget is -1; it must be 0 or more");
    REFUSED(RUN(.precision = -2), "kiln_plan_run: options.precision is -2; it must be 0 or more");
    REFUSED(TUNE(.max_seconds = -1), "kiln_tune: options.max_seconds is -1; it must be 0 or more");
    REFUSED(TUNE(.run = TUNE_RUN(.stop_early_above = -1)),
            "kiln_tune: options.run.stop_early_above is -1; it must be 0 or more");
    CHECK(TUNE(.improvement = NAN) == KILN_ERROR_ARGUMENT);
    forget_out();
    kiln_replay_options replay = {.size = sizeof replay, .max_seconds = NAN};
    CHECK(kiln_replay(w.recording, &replay, step, NULL, &out.error) == KILN_ERROR_ARGUMENT);
    forget_out();
    REFUSED(kiln_occupancy(w.engine, "sm_80", 128, -1, 0, &out.occupancy, &out.error),
            "kiln_occupancy: registers is -1; it must be 0 or more");
    REFUSED(kiln_occupancy_tensor(w.engine, "sm_100", 128, 32, 0, -1, &out.occupancy, &out.error),
            "kiln_occupancy_tensor: columns is -1; it must be 0 or more");
    REFUSED(kiln_recording_score(w.recording, NULL, 0, &out.score, &out.error),
            "kiln_recording_score: seeds is 0; at least one is needed");
    tear_down();
}

/* Lists with a wrong count, with NULL, or with an empty or unknown element are refused, and the message names the
 * element. */
static void test_lists(void)
{
    static const char *const holes[] = {"v", NULL, ""};
    static const kiln_setting bad[] = {
        {NULL, {KILN_INT, {1}}}, {"N", {(kiln_kind)7, {1}}}, {"N", {KILN_TEXT, {.text = NULL}}}, {"", {KILN_INT, {1}}}};
    static const kiln_file_binding files[] = {{"x", NULL}, {NULL, "x.npy"}, {"x", ""}};
    const size_t minus = (size_t)-1;
    set_up();
    REFUSED(TUNE(.variant_count = 2), "kiln_tune: options.variant_count is 2, but options.variants is NULL");
    REFUSED(TUNE(.device_count = 1), "kiln_tune: options.device_count is 1, but options.devices is NULL");
    REFUSED(TUNE(.objective_count = 1), "kiln_tune: options.objective_count is 1, but options.objectives is NULL");
    REFUSED(TUNE(.variants = holes, .variant_count = 3), "kiln_tune: options.variants[1] is NULL");
    REFUSED(TUNE(.devices = holes + 2, .device_count = 1), "kiln_tune: options.devices[0] is empty");
    REFUSED(TUNE(.param_count = 1), "kiln_tune: options.param_count is 1, but options.params is NULL");
    REFUSED(CHOOSE(.size_count = 1), "kiln_plan_open: choice.size_count is 1, but choice.sizes is NULL");
    REFUSED(CHOOSE(.params = bad, .param_count = 1), "kiln_plan_open: choice.params[0].name is NULL");
    REFUSED(CHOOSE(.sizes = bad + 1, .size_count = 1),
            "kiln_plan_open: choice.sizes[0].value.kind is 7; it must be 0 to 3");
    REFUSED(CHOOSE(.sizes = bad + 2, .size_count = 1), "kiln_plan_open: choice.sizes[0].value.as.text is NULL");
    REFUSED(CHOOSE(.sizes = bad + 3, .size_count = 1), "kiln_plan_open: choice.sizes[0].name is empty");
    REFUSED(LIST(.path = "a"), "kiln_store_list: filter.path is set, but filter.spec is NULL");
    REFUSED(LIST(.size_count = 1), "kiln_store_list: filter.size_count is 1, but filter.sizes is NULL");
    REFUSED(kiln_plan_resize(w.plan, w.sizes, minus, &out.error),
            "kiln_plan_resize: count is 18446744073709551615; it must be at most 1048576 (a negative number wraps to a "
            "large one)");
    REFUSED(kiln_plan_resize(w.plan, NULL, 1, &out.error), "kiln_plan_resize: count is 1, but sizes is NULL");
    CHECK_OK(kiln_plan_resize(w.plan, NULL, 0, &out.error), out.error);
    REFUSED(RUN(.input_count = 1), "kiln_plan_run: options.input_count is 1, but options.inputs is NULL");
    REFUSED(RUN(.inputs = files, .input_count = 1), "kiln_plan_run: options.inputs[0].path is NULL");
    REFUSED(RUN(.outputs = files + 1, .output_count = 1), "kiln_plan_run: options.outputs[0].buffer is NULL");
    REFUSED(RUN(.outputs = files + 2, .output_count = 1), "kiln_plan_run: options.outputs[0].path is empty");
    tear_down();
}

static void test_texts(void)
{
    set_up();
    REFUSED(kiln_spec_load(w.engine, "", &out.spec, &out.error), "the name of the spec is empty");
    REFUSED(kiln_spec_parse(w.engine, "", 0, "", &out.spec, &out.error), "kiln_spec_parse: name is empty");
    REFUSED(kiln_plan_bind(w.plan, "", w.memory, 4, &out.error), "kiln_plan_bind: buffer is empty");
    REFUSED(kiln_recording_load(w.engine, "", &out.recording, &out.error), "kiln_recording_load: path is empty");
    REFUSED(kiln_recording_convert(w.engine, RECORDING, "", KILN_FORMAT_AUTO, &out.error),
            "kiln_recording_convert: to is empty");
    REFUSED(kiln_store_export(w.store, NULL, "", KILN_FORMAT_CSV, NULL, &out.error),
            "kiln_store_export: path is empty");
    REFUSED(kiln_store_import(w.store, "", NULL, NULL, &out.error), "kiln_store_import: path is empty");
    REFUSED(kiln_knowledge_load(w.engine, "", &out.knowledge, &out.error), "kiln_knowledge_load: path is empty");
    REFUSED(kiln_knowledge_save(w.knowledge, "", NULL, &out.error), "kiln_knowledge_save: path is empty");
    REFUSED(kiln_cache_show(w.cached, "", shown, NULL, &out.error), "kiln_cache_show: id is empty");
    /* A text with a length needs no NUL at its end, and NULL is a text of length 0. */
    char *text = malloc(sizeof spec_text - 1);
    if (!text)
        exit(1);
    memcpy(text, spec_text, sizeof spec_text - 1);
    CHECK_OK(kiln_spec_parse(w.engine, text, sizeof spec_text - 1, "fake.yaml", &out.spec, &out.error), out.error);
    forget_out();
    CHECK(kiln_spec_parse(w.engine, NULL, 0, "fake.yaml", &out.spec, &out.error) == KILN_ERROR_SPEC);
    free(text);
    tear_down();
}

/* ---- callbacks ---- */

static int device_once(void *user, const kiln_device_info *info)
{
    (void)info;
    return ++*(int *)user;
}
static int finding_once(void *user, const kiln_finding *found)
{
    (void)found;
    return ++*(int *)user;
}
static int instruction_once(void *user, const kiln_sim_instruction *instruction)
{
    (void)instruction;
    return ++*(int *)user;
}
static int spec_once(void *user, const char *name, const char *title, const char *path)
{
    (void)name, (void)title, (void)path;
    return ++*(int *)user;
}

/* After a callback returns nonzero, it is not called again, and the call is not an error. */
static void test_ending(void)
{
    set_up();
    int devices = 0, findings = 0, instructions = 0, specs = 0;
    scratch_file("second.yaml", spec_text);
    CHECK_OK(kiln_devices(w.engine, device_once, &devices, &out.error), out.error);
    CHECK_OK(kiln_doctor(w.engine, finding_once, &findings, &out.error), out.error);
    CHECK_OK(kiln_spec_list(w.engine, spec_once, &specs, &out.error), out.error);
    kiln_sim_instructions(instruction_once, &instructions);
    CHECK(devices == 1 && findings == 1 && specs == 1 && instructions == 1);
    tear_down();
}

static const check_case cases[] = {
    {"every function has a line", test_list},
    {"NULL in each pointer argument", test_null},
    {"past the last", test_past_the_last},
    {"every filled struct has a line", test_filled_list},
    {"sizes of structs", test_sizes},
    {"structs that structs refer to", test_inner},
    {"an older header's struct", test_older},
    {"flags and enums", test_flags_and_enums},
    {"numbers", test_numbers},
    {"counts and lists", test_lists},
    {"texts", test_texts},
    {"callbacks that end", test_ending},
};

int main(int count, char **arguments)
{
    char *texts[KILN__COUNT(headers)];
    for (size_t i = 0; i < KILN__COUNT(headers); i++) {
        texts[i] = read_header(headers[i]);
        read_structs(texts[i]);
    }
    for (size_t i = 0; i < KILN__COUNT(headers); i++) {
        read_functions(texts[i]);
        free(texts[i]);
    }
    return check_main(count, arguments, "library.arguments", cases, KILN__COUNT(cases));
}
