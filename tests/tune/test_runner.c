/* Tests measuring in another process: its messages as untrusted input, sweeps that cannot be measured there, programs
 * that are not a runner, and the death of the process during a sample. The script tune/planted.sh has a sweep over
 * every kind of failure. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "crew_internal.h"
#include "protocol_internal.h"
#include "sites_internal.h"
#include "store.h"
#include "tuning_internal.h"

/* ---- messages ---- */

static const kiln_setting settings[] = {{"N", {KILN_INT, {.i = -3}}},
                                        {"RATE", {KILN_FLOAT, {.f = 0.25}}},
                                        {"FAST", {KILN_BOOL, {.i = 1}}},
                                        {"MODE", {KILN_TEXT, {.text = "ca"}}}};

static void check_settings(kiln__settings got)
{
    CU_ASSERT_EQUAL_FATAL(got.count, KILN__COUNT(settings));
    for (size_t i = 0; i < got.count; i++) {
        CHECK_TEXT(got.items[i].name, settings[i].name);
        CU_ASSERT_EQUAL(got.items[i].value.kind, settings[i].value.kind);
    }
    CU_ASSERT_EQUAL(got.items[0].value.as.i, -3);
    CU_ASSERT_EQUAL(got.items[1].value.as.f, 0.25);
    CU_ASSERT_EQUAL(got.items[2].value.as.i, 1);
    CHECK_TEXT(got.items[3].value.as.text, "ca");
}

static void write_open(kiln__text *message)
{
    static const kiln_file_binding inputs[] = {{"x", "x.npy"}, {"y", "dir/y.npy"}};
    kiln__runner_setup setup = {.version = "1.2",
                                .device = "cuda:3",
                                .flags = 6,
                                .memory_limit = 1ull << 40,
                                .near = true,
                                .search_path = "a:b",
                                .references = "/cache/references",
                                .smaller = "tiny",
                                .name = "a/b.yaml",
                                .text = "a\0b",
                                .text_length = 3,
                                .choice = {.sizes = settings, .size_count = KILN__COUNT(settings)},
                                .run = {.flags = KILN_RUN_NO_VERIFY,
                                        .budget = 0.5,
                                        .precision = 0.02,
                                        .min_repetitions = 3,
                                        .max_repetitions = 9,
                                        .inputs = inputs,
                                        .input_count = 2}};
    kiln__runner_write_open(message, &setup);
}

static void write_run(kiln__text *message)
{
    kiln__runner_request request = {.variant = "plain",
                                    .params = {KILN__COUNT(settings), settings},
                                    .trial = {.stop_early_above = 0.375, .again = 5},
                                    .unit = {.ptx = "ptx", .ptx_length = 3, .cubin = "\177ELF", .cubin_length = 4},
                                    .small = {.ptx = "less", .ptx_length = 4}};
    kiln__runner_write_run(message, &request);
}

static const double times[] = {1.25, 1.5, 2};

static void write_result(kiln__text *message)
{
    kiln__runner_answer answer = {.times = times,
                                  .time_count = KILN__COUNT(times),
                                  .status = KILN_ERROR_DEVICE,
                                  .cuda = 700,
                                  .passing = true,
                                  .lost = true,
                                  .why = "because",
                                  .features = "rows=300 mean=2.5",
                                  .result = {.measured = 1,
                                             .seconds = 1.5,
                                             .worst_error = 0.5,
                                             .repetitions = 7,
                                             .stopped_early = 1,
                                             .clock_hz = 1e9,
                                             .throttle = 5,
                                             .energy_joules = 0.75}};
    kiln__runner_write_result(message, &answer);
}

static void write_ready(kiln__text *message)
{
    kiln__runner_write_ready(message, &(kiln__runner_greeting){KILN_ERROR_NO_DEVICE, "none", true, 3, "by hand"});
}

static bool read_open(const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__runner_setup setup;
    bool good = kiln__runner_read_open(body, length, &arena, &setup);
    kiln__arena_free(&arena);
    return good;
}

static bool read_run(const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__runner_request request;
    bool good = kiln__runner_read_run(body, length, &arena, &request);
    kiln__arena_free(&arena);
    return good;
}

static bool read_result(const char *body, size_t length)
{
    kiln__runner_answer answer;
    return kiln__runner_read_result(body, length, &answer);
}

static void write_keep(kiln__text *message)
{
    const kiln__kept_reference kept = {.key = "k\0y",
                                       .key_length = 3,
                                       .spec = "spec",
                                       .function = "host",
                                       .sizes = "N=1",
                                       .list = "li",
                                       .list_length = 2,
                                       .data = "data",
                                       .data_length = 4};
    kiln__runner_write_keep(message, &kept);
}

static bool read_keep(const char *body, size_t length)
{
    kiln__kept_reference kept;
    return kiln__runner_read_keep(body, length, &kept) && kept.key_length == 3 && kept.data_length == 4;
}

static void write_waiting(kiln__text *message) { kiln__runner_write_waiting(message, "for process 7"); }

static bool read_waiting(const char *body, size_t length)
{
    const char *why;
    return kiln__runner_read_waiting(body, length, &why);
}

static bool read_ready(const char *body, size_t length)
{
    kiln__runner_greeting greeting;
    return kiln__runner_read_ready(body, length, &greeting);
}

static const kiln_check_finding written = {.kind = KILN_CHECK_ASYNC,
                                           .note = 1,
                                           .kernel = "add",
                                           .message = "a race",
                                           .at = {"write", "a.cu", 3, 17, "x = 1;", "in f", {1, 2, 3}, {4, 5, 6}, 1, 0},
                                           .other = {NULL, "", 0, 0, "", "", {0, 0, 0}, {0, 0, 7}, 0, 1},
                                           .space = "shared",
                                           .address = 64,
                                           .bytes = 4,
                                           .allocation = "at offset 64",
                                           .count = 9,
                                           .buffer = "x",
                                           .role = "an input",
                                           .offset = -8,
                                           .buffer_bytes = 256};

static void write_finding(kiln__text *message) { kiln__runner_write_finding(message, &written); }

static bool read_finding(const char *body, size_t length)
{
    kiln_check_finding finding;
    return kiln__runner_read_finding(body, length, &finding);
}

static void a_finding_comes_back(void)
{
    const size_t skip = sizeof(kiln__message_header);
    kiln__text message = {0}, again = {0};
    kiln_check_finding got;
    write_finding(&message);
    CU_ASSERT_TRUE_FATAL(kiln__runner_read_finding(message.data + skip, message.length - skip, &got));
    CHECK(got.kind == written.kind && got.note && got.offset == -8 && got.count == 9 && got.buffer_bytes == 256);
    CHECK(got.address == 64 && got.bytes == 4 && got.at.line == 3 && got.at.ptx_line == 17 && !got.other.what);
    CHECK(memcmp(got.at.block, written.at.block, 2 * sizeof got.at.block) == 0 && got.at.has_block &&
          !got.at.has_thread);
    CHECK(got.other.thread[2] == 7 && got.other.has_thread && !got.other.has_block);
    CHECK_TEXT(got.at.text, "x = 1;");
    CHECK_TEXT(got.role, "an input");
    kiln__runner_write_finding(&again, &got);
    CHECK(again.length == message.length && memcmp(again.data, message.data, message.length) == 0);
    kiln__text_free(&message);
    kiln__text_free(&again);
}

/* Returns a result with a different value in each field, so that no field can take another's place or be left out. */
static kiln_result numbered_result(void)
{
    kiln_result result = {0};
    unsigned number = 1;
#define NUMBER(kind, name, unit, text)                                                                                 \
    {                                                                                                                  \
        const KILN_FIELD_##kind value = NUMBER_##kind(number++);                                                       \
        result.name = value;                                                                                           \
    }
#define NUMBER_FLAG(n) ((n) > 0)
#define NUMBER_COUNT(n) (n)
#define NUMBER_THROTTLE(n) (n)
#define NUMBER_UNIT(n) (n)
#define NUMBER_NANOSECONDS(n) ((n) + (1ull << 40))
#define NUMBER_MICROSECONDS(n) ((n) + (1ull << 40))
#define NUMBER_REAL(n) ((n) + 0.125)
#define NUMBER_SECONDS(n) ((n) + 0.125)
#define NUMBER_KNOWN(n) ((n) + 0.125)
#define NUMBER_HOSTS(n)                                                                                                \
    {                                                                                                                  \
        {                                                                                                              \
            (char)('a' + (n) % 26)                                                                                     \
        }                                                                                                              \
    }
#define NUMBER_METRICS(n) NUMBER_HOSTS(n)
    KILN_RESULT_MAP(NUMBER)
    return result;
}

static void a_result_comes_back_whole(void)
{
    const size_t skip = sizeof(kiln__message_header);
    kiln__text message = {0};
    const kiln_result sent = numbered_result();
    kiln__runner_answer answer = {.why = "", .features = "", .times = times, .result = sent}, got;
    kiln__runner_write_result(&message, &answer);
    CU_ASSERT_TRUE_FATAL(kiln__runner_read_result(message.data + skip, message.length - skip, &got));
#define SAME(kind, name, unit, text) CHECK(memcmp(&got.result.name, &sent.name, sizeof sent.name) == 0);
    KILN_RESULT_MAP(SAME)
    kiln__store_row row = {0};
    kiln_result kept;
    kiln__store_row_set_result(&row, &sent);
    kiln__store_row_result(&row, &kept);
#undef SAME
#define SAME(kind, name, unit, text) CHECK(memcmp(&kept.name, &sent.name, sizeof sent.name) == 0);
    KILN__STORE_RESULT(SAME)
    CHECK(kept.cache_hits == 0 && kept.cache_misses == 0);
#undef SAME
    kiln__text_free(&message);
}

/* Writes each message, reads it again, and compares all of its fields. */
static void messages_come_back(void)
{
    const size_t skip = sizeof(kiln__message_header);
    kiln__arena arena = {0};
    kiln__text open = {0}, request = {0}, result = {0};
    write_open(&open);
    kiln__runner_setup setup;
    CU_ASSERT_TRUE_FATAL(kiln__runner_read_open(open.data + skip, open.length - skip, &arena, &setup));
    CHECK_TEXT(setup.version, "1.2");
    CHECK_TEXT(setup.device, "cuda:3");
    CHECK_TEXT(setup.search_path, "a:b");
    CHECK_TEXT(setup.references, "/cache/references");
    CHECK_TEXT(setup.smaller, "tiny");
    CHECK_TEXT(setup.name, "a/b.yaml");
    CHECK(setup.flags == 6 && setup.memory_limit == 1ull << 40 && setup.near && !setup.choice.size_set);
    CHECK(setup.text_length == 3 && memcmp(setup.text, "a\0b", 3) == 0);
    check_settings(KILN__SIZES(&setup.choice));
    CHECK(setup.run.flags == KILN_RUN_NO_VERIFY && setup.run.budget == 0.5 && setup.run.precision == 0.02);
    CHECK(setup.run.min_repetitions == 3 && setup.run.max_repetitions == 9 && setup.run.input_count == 2);
    CHECK_TEXT(setup.run.inputs[1].path, "dir/y.npy");
    CHECK_TEXT(setup.run.inputs[0].buffer, "x");
    write_run(&request);
    kiln__runner_request got;
    CU_ASSERT_TRUE_FATAL(kiln__runner_read_run(request.data + skip, request.length - skip, &arena, &got));
    CHECK_TEXT(got.variant, "plain");
    check_settings(got.params);
    CHECK(got.trial.stop_early_above == 0.375 && got.trial.again == 5);
    CHECK(!got.whole && got.small.ptx_length == 4 && memcmp(got.small.ptx, "less", 4) == 0);
    CHECK(got.unit.ptx_length == 3 && memcmp(got.unit.ptx, "ptx", 3) == 0 && got.unit.cubin_length == 4);
    kiln__runner_mark_whole(&request);
    CU_ASSERT_TRUE_FATAL(kiln__runner_read_run(request.data + skip, request.length - skip, &arena, &got));
    CHECK(got.whole);
    CHECK_TEXT(got.variant, "plain");
    write_result(&result);
    kiln__runner_answer answer;
    CU_ASSERT_TRUE_FATAL(kiln__runner_read_result(result.data + skip, result.length - skip, &answer));
    CHECK(answer.time_count == KILN__COUNT(times) && memcmp(answer.times, times, sizeof times) == 0);
    CHECK(answer.status == KILN_ERROR_DEVICE && answer.cuda == 700 && answer.passing && answer.lost);
    CHECK_TEXT(answer.why, "because");
    CHECK_TEXT(answer.features, "rows=300 mean=2.5");
    CHECK(answer.result.measured && !answer.result.verified && answer.result.seconds == 1.5);
    CHECK(answer.result.worst_error == 0.5 && answer.result.repetitions == 7 && answer.result.stopped_early);
    CHECK(answer.result.clock_hz == 1e9 && answer.result.throttle == 5 && answer.result.energy_joules == 0.75);
    kiln__text_free(&open);
    kiln__text_free(&request);
    kiln__text_free(&result);
    kiln__arena_free(&arena);
}

/* Truncates each message at every place, adds one byte, and changes each byte. The reader must refuse or read the
 * message, and never read past it. The copies are on the heap, where the sanitizer sees a read past the end. */
static void messages_are_foreign_bytes(void)
{
    static const struct {
        void (*write)(kiln__text *);
        bool (*read)(const char *, size_t);
    } kinds[] = {{write_open, read_open},   {write_run, read_run},         {write_result, read_result},
                 {write_ready, read_ready}, {write_finding, read_finding}, {write_waiting, read_waiting},
                 {write_keep, read_keep}};
    for (size_t k = 0; k < KILN__COUNT(kinds); k++) {
        kiln__text message = {0};
        kinds[k].write(&message);
        const char *body = message.data + sizeof(kiln__message_header);
        size_t length = message.length - sizeof(kiln__message_header);
        kiln__message_header header;
        memcpy(&header, message.data, sizeof header);
        CHECK(header.magic == KILN__MESSAGE_MAGIC && header.length == length);
        CHECK(kinds[k].read(body, length));
        for (size_t cut = 0; cut < length; cut++) {
            char *copy = malloc(cut + 1);
            CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
            memcpy(copy, body, cut);
            char *exact = realloc(copy, cut ? cut : 1);
            CHECK(!kinds[k].read(exact, cut));
            free(exact);
        }
        char *longer = malloc(length + 1), *changed = malloc(length);
        CU_ASSERT_TRUE_FATAL(longer && changed);
        memcpy(longer, body, length);
        longer[length] = 0;
        CHECK(!kinds[k].read(longer, length + 1));
        static const unsigned char masks[] = {0x01, 0x80, 0xff};
        for (size_t at = 0; at < length; at++)
            for (size_t m = 0; m < KILN__COUNT(masks); m++) {
                memcpy(changed, body, length);
                changed[at] = (char)(changed[at] ^ masks[m]);
                kinds[k].read(changed, length);
            }
        free(longer);
        free(changed);
        kiln__text_free(&message);
    }
}

/* ---- sweeps ---- */

typedef struct fixture {
    char folder[64];
    kiln_engine *engine;
    kiln_spec *spec;
    long pid;     /* the process id of the runner in the log's last message */
    long pids[8]; /* the ids of all runners so far */
    unsigned runners, again, let_go;
    char program[96]; /* a program that is removed when a process is killed; "" means that none is removed */
    long killed;
    double before[8];           /* the processor time of each runner, plus one, when only the endless kernel was left */
    unsigned kills, most_kills; /* numbers of processes that were killed during a sample */
    bool stop;                  /* true if the sweep is ended instead of a process */
} fixture;

static void listen(void *user, kiln_log_level level, const char *message)
{
    static const char says[] = "samples are measured in process ";
    fixture *f = user;
    (void)level;
    if (strncmp(message, says, sizeof says - 1) == 0) {
        f->pid = strtol(message + sizeof says - 1, NULL, 10);
        f->pids[f->runners++ % KILN__COUNT(f->pids)] = f->pid;
    }
    f->let_go += strstr(message, "can no longer measure; continuing with 1 other") != NULL;
    f->again += strstr(message, "retrying the configuration") != NULL;
}

static void setup(fixture *f, const char *worker, unsigned flags)
{
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-runner-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    kiln_error *error = NULL;
    kiln_options options = {.size = sizeof options,
                            .device = "sim",
                            .cache_dir = f->folder,
                            .jobs = 1,
                            .worker = worker,
                            .flags = flags,
                            .log = listen,
                            .log_user = f};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_spec_load(f->engine, KILN_TEST_DATA "/planted.yaml", &f->spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->spec);
}

static void teardown(fixture *f)
{
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static const char *const after[] = {"after"}, *const planted[] = {"planted"};
static const kiln_setting endless[] = {{"KIND", {KILN_TEXT, {.text = "endless"}}}};
#define ISOLATED(names)                                                                                                \
    {                                                                                                                  \
        .size = sizeof(kiln_tune_options), .variants = names, .variant_count = 1, .isolation = KILN_ISOLATE_ALWAYS     \
    }

/* Returns the processor time of a process in seconds. A negative number means that the process does not exist. */
static double busy(long pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *at = strrchr(text, ')');
    unsigned long user = 0, system_ = 0;
    if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system_) != 2)
        return -1;
    return (double)(user + system_) / (double)sysconf(_SC_CLK_TCK);
}

static const char *const two[] = {"sim", "sim"};

/* Kills the runner when it has computed for a second, which only the endless kernel does. After the last kill it ends
 * the sweep. */
static int disturb(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    fixture *f = user;
    (void)progress;
    if (sample || f->pid == f->killed || busy(f->pid) < 1)
        return 0;
    if (f->kills == f->most_kills)
        return f->stop;
    f->killed = f->pid;
    f->kills += kill((pid_t)f->pid, SIGKILL) == 0;
    return 0;
}

static void measures_elsewhere(void)
{
    fixture f;
    setup(&f, KILN_TEST_WORKER, 0);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = ISOLATED(after);
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 3);
    CU_ASSERT_EQUAL(f.runners, 1); /* one process measured all samples */
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        CU_ASSERT_EQUAL(sample->status, KILN_OK);
        CHECK(sample->result->verified && sample->result->host_seconds > 0);
    }
    kiln_tuning_free(tuning);
    tuning = NULL;
    options.isolation = KILN_ISOLATE_GPU; /* the device is no GPU, so this isolates nothing */
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 3);
    CU_ASSERT_EQUAL(f.runners, 1);
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* Sweeps the one configuration that never ends. */
static kiln_status sweep_endless(fixture *f, double limit, kiln_tuning **tuning, kiln_error **error)
{
    kiln_tune_options options = ISOLATED(planted);
    options.params = endless;
    options.param_count = 1;
    options.sample_timeout = limit;
    options.callback = disturb;
    options.user = f;
    return kiln_tune(f->engine, f->spec, &options, tuning, error);
}

/* The test kills the runner, and kills it again when the sweep retries the configuration. The sweep must record a
 * failure. */
static void survives_its_end(void)
{
    fixture f;
    setup(&f, KILN_TEST_WORKER, 0);
    f.most_kills = 2;
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    CHECK(sweep_endless(&f, 280, &tuning, &error) == KILN_ERROR_DEVICE); /* the sweep's only configuration failed */
    kiln_error_free(error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL_FATAL(kiln_tuning_count(tuning), 1);
    const kiln_sample *sample = kiln_tuning_sample(tuning, 0);
    CU_ASSERT_EQUAL(sample->status, KILN_ERROR_DEVICE);
    CHECK(strstr(sample->message, "signal 9, Killed") != NULL);
    CU_ASSERT_EQUAL(f.kills, 2);
    CU_ASSERT_EQUAL(f.again, 1);
    CU_ASSERT_EQUAL(f.runners, 2);
    kiln_tuning_free(tuning);
    teardown(&f);
}

static void ends_what_takes_too_long(void)
{
    fixture f;
    setup(&f, KILN_TEST_WORKER, 0);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    CHECK(sweep_endless(&f, 0.5, &tuning, &error) == KILN_ERROR_TIMEOUT);
    kiln_error_free(error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL_FATAL(kiln_tuning_count(tuning), 1);
    CU_ASSERT_EQUAL(kiln_tuning_sample(tuning, 0)->status, KILN_ERROR_TIMEOUT);
    CHECK(strstr(kiln_tuning_sample(tuning, 0)->message, "limit of 0.5 s") != NULL);
    CHECK(busy(f.pid) < 0); /* the process has ended, and the sweep has waited for it */
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* The runner is killed once. Another process retries the sample, and there the callback ends the sweep. */
static void the_callback_stops_a_sample(void)
{
    fixture f;
    setup(&f, KILN_TEST_WORKER, 0);
    f.most_kills = 1;
    f.stop = true;
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    CU_ASSERT_EQUAL(sweep_endless(&f, 280, &tuning, &error), KILN_ERROR_INTERRUPTED);
    CHECK_TEXT(kiln_error_message(error), "the sweep was stopped after 0 of 1 configurations");
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 0);
    CU_ASSERT_EQUAL(f.kills, 1);
    CU_ASSERT_EQUAL(f.again, 1);
    CU_ASSERT_EQUAL(f.runners, 2);
    CHECK(busy(f.pid) < 0);
    kiln_error_free(error);
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* ---- several devices ---- */

/* Disturbs the runner that still computes when all other samples are done, because it must run the endless kernel. */
static int disturb_any(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    fixture *f = user;
    for (size_t i = 0; !sample && progress->done == 10 && i < f->runners && i < KILN__COUNT(f->pids); i++) {
        double now = f->pids[i] == f->killed ? -1 : busy(f->pids[i]);
        if (now >= 0 && f->before[i] == 0)
            f->before[i] = 1 + now;
        if (now < 0 || 1 + now - f->before[i] < 0.3)
            continue;
        if (f->kills == f->most_kills)
            return f->stop;
        f->killed = f->pids[i];
        f->kills += kill((pid_t)f->pids[i], SIGKILL) == 0;
        if (*f->program)
            CU_ASSERT_EQUAL(unlink(f->program), 0);
    }
    return 0;
}

static void several_share_a_sweep(void)
{
    fixture f;
    setup(&f, KILN_TEST_WORKER, 0);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = ISOLATED(after);
    options.isolation = KILN_ISOLATE_GPU;
    options.devices = two;
    options.device_count = 2;
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 3);
    CU_ASSERT_EQUAL(f.runners, 2);
    CHECK(f.pids[0] != f.pids[1] && busy(f.pids[0]) < 0 && busy(f.pids[1]) < 0);
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++) {
        CU_ASSERT_EQUAL(kiln_tuning_sample(tuning, i)->status, KILN_OK);
        CHECK_TEXT(kiln_tuning_sample(tuning, i)->device, "sim:generic");
    }
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* Sweeps two.yaml. The runner of its endless kernel is killed as often as the fixture says, and then the sweep may be
 * ended. All other samples must succeed, whatever happens to that sample. */
static void sweep_two(fixture *f)
{
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_spec_free(f->spec);
    f->spec = NULL;
    CHECK_OK(kiln_spec_load(f->engine, KILN_TEST_DATA "/two.yaml", &f->spec, &error), error);
    kiln_tune_options options = {.size = sizeof options,
                                 .devices = two,
                                 .device_count = 2,
                                 .sample_timeout = 280,
                                 .callback = disturb_any,
                                 .user = f};
    kiln_status status = kiln_tune(f->engine, f->spec, &options, &tuning, &error);
    CU_ASSERT_EQUAL(status, f->stop ? KILN_ERROR_INTERRUPTED : KILN_OK);
    if (f->stop)
        CHECK_TEXT(kiln_error_message(error), "the sweep was stopped after 10 of 11 configurations");
    kiln_error_free(error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL_FATAL(kiln_tuning_count(tuning), f->stop ? 10 : 11);
    for (size_t i = 0; i < 10; i++)
        CU_ASSERT_EQUAL(kiln_tuning_sample(tuning, i)->status, KILN_OK);
    if (!f->stop) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, 10);
        CU_ASSERT_EQUAL(sample->status, KILN_ERROR_DEVICE);
        CHECK(strstr(sample->message, "signal 9, Killed") != NULL);
    }
    CU_ASSERT_EQUAL(f->kills, f->most_kills);
    kiln_tuning_free(tuning);
}

static void one_of_several_ends(void)
{
    fixture f;
    setup(&f, KILN_TEST_WORKER, 0);
    f.most_kills = 2;
    sweep_two(&f);
    CU_ASSERT_EQUAL(f.again, 1);
    CU_ASSERT_EQUAL(f.runners, 3);
    CU_ASSERT_EQUAL(f.let_go, 0);
    teardown(&f);
}

/* The test removes the worker program, so that the sweep cannot replace a killed runner. The sample goes to the other
 * runner. The test ends the sweep while that runner computes the sample. */
static void one_of_several_is_let_go(void)
{
    char program[] = "/tmp/kiln-worker-XXXXXX";
    int made = mkstemp(program);
    CU_ASSERT_TRUE_FATAL(made >= 0);
    close(made);
    CU_ASSERT_EQUAL_FATAL(unlink(program), 0);
    CU_ASSERT_EQUAL_FATAL(symlink(KILN_TEST_WORKER, program), 0);
    fixture f;
    setup(&f, program, 0);
    snprintf(f.program, sizeof f.program, "%s", program);
    f.most_kills = 1;
    f.stop = true;
    sweep_two(&f);
    CU_ASSERT_EQUAL(f.let_go, 1);
    CU_ASSERT_EQUAL(f.runners, 2);
    teardown(&f);
}

/* The system may have killed a runner because other processes used too much memory. So the sweep measures the
 * configuration again while it measures no other configuration and compiles nothing. planted_worker reports if the
 * runner was not alone. */
static void tried_again_alone(void)
{
    char path[128];
    fixture f;
    setup(&f, KILN_TEST_PLANTED, 0);
    setenv("KILN_PLANTED_WORKER", KILN_TEST_WORKER, 1);
    setenv("KILN_PLANTED_MARKS", f.folder, 1);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_spec_free(f.spec);
    f.spec = NULL;
    CHECK_OK(kiln_spec_load(f.engine, KILN_TEST_DATA "/once.yaml", &f.spec, &error), error);
    kiln_tune_options options = {.size = sizeof options, .devices = two, .device_count = 2};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL(kiln_tuning_count(tuning), 9);
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
        CU_ASSERT_EQUAL(kiln_tuning_sample(tuning, i)->status, KILN_OK);
    CU_ASSERT_EQUAL(f.again, 1);
    CU_ASSERT_EQUAL(f.runners, 3);
    snprintf(path, sizeof path, "%s/not-alone", f.folder);
    CHECK(access(path, F_OK) != 0);
    kiln_tuning_free(tuning);
    unsetenv("KILN_PLANTED_WORKER");
    unsetenv("KILN_PLANTED_MARKS");
    teardown(&f);
}

static int count_references(void *user, const kiln_cache_entry *entry)
{
    *(int *)user += strcmp(entry->arch, "reference") == 0;
    return 0;
}

/* Sweeps with a runner that sends a reference of its own. Returns how many references are kept, and the status of the
 * only sample. */
static int kept_with(const char *how, kiln_status *status)
{
    fixture f;
    int count = 0;
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    setup(&f, KILN_TEST_PLANTED, 0);
    setenv("KILN_PLANTED_WORKER", KILN_TEST_WORKER, 1);
    setenv("KILN_PLANTED_MARKS", f.folder, 1);
    setenv("KILN_PLANTED_KEEP", how, 1);
    kiln_tune_options options = ISOLATED(after);
    options.max_configurations = 1;
    *status = kiln_tune(f.engine, f.spec, &options, &tuning, &error);
    kiln_tuning_free(tuning);
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln_cache_list(f.engine, count_references, &count, &error), error);
    unsetenv("KILN_PLANTED_WORKER");
    unsetenv("KILN_PLANTED_MARKS");
    unsetenv("KILN_PLANTED_KEEP");
    teardown(&f);
    return count;
}

/* The sweep keeps a reference of its own spec that comes before the first launch. A runner that sends another one is
 * lost. */
static void references_are_kept_before_a_launch(void)
{
    kiln_status status;
    CU_ASSERT_EQUAL(kept_with("good", &status), 1);
    CU_ASSERT_EQUAL(status, KILN_OK);
    CU_ASSERT_EQUAL(kept_with("late", &status), 0);
    CU_ASSERT_EQUAL(status, KILN_ERROR_INTERNAL);
    CU_ASSERT_EQUAL(kept_with("other", &status), 0);
    CU_ASSERT_EQUAL(status, KILN_ERROR_INTERNAL);
}

/* A sample that fails at once does not set the time limit of the others, because its time says nothing about theirs. */
static void failures_set_no_limit(void)
{
    char path[128], line[64];
    fixture f;
    setup(&f, KILN_TEST_PLANTED, 0);
    setenv("KILN_PLANTED_WORKER", KILN_TEST_WORKER, 1);
    setenv("KILN_PLANTED_MARKS", f.folder, 1);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_spec_free(f.spec);
    f.spec = NULL;
    CHECK_OK(kiln_spec_load(f.engine, KILN_TEST_DATA "/faulty.yaml", &f.spec, &error), error);
    kiln_tune_options options = {.size = sizeof options, .isolation = KILN_ISOLATE_ALWAYS};
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    CU_ASSERT_EQUAL_FATAL(kiln_tuning_count(tuning), 3);
    size_t faults = 0;
    for (size_t i = 0; i < 3; i++)
        faults += kiln_tuning_sample(tuning, i)->status == KILN_ERROR_DEVICE;
    CU_ASSERT_EQUAL(faults, 1);
    snprintf(path, sizeof path, "%s/limits", f.folder);
    FILE *limits = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(limits);
    double limit[3] = {0};
    for (size_t i = 0; i < KILN__COUNT(limit) && fgets(line, sizeof line, limits); i++)
        limit[i] = strtod(line, NULL);
    fclose(limits);
    CHECK(limit[0] > 0 && limit[1] == limit[0]); /* the limit of the faulty sample, and of the next one */
    CHECK(limit[2] > 0 && limit[2] <= limit[0]); /* the limit after a sample that succeeded */
    kiln_tuning_free(tuning);
    unsetenv("KILN_PLANTED_WORKER");
    unsetenv("KILN_PLANTED_MARKS");
    teardown(&f);
}

/* ---- findings, and the sandbox ---- */

typedef struct findings {
    /* `texts` counts the findings that have the text of the source line. The callback stops the sample at finding
     * number `stop_at`; 0 means that it never stops. */
    unsigned count, texts, stop_at;
} findings;

static int find(void *user, const kiln_check_finding *finding)
{
    findings *found = user;
    found->count++;
    found->texts += *finding->at.text != '\0';
    return found->count == found->stop_at;
}

/* Findings are the same in this process, in a runner and in a sandbox. The caller can refuse further findings of a
 * sample. */
static void checks_elsewhere(void)
{
    enum { HERE, ELSEWHERE, SANDBOX, ONE, CASES };
    findings found[CASES] = {{0}, {0}, {0}, {.stop_at = 1}};
    static const char *const names[] = {"bad"};
    for (int i = 0; i < CASES; i++) {
        fixture f;
        kiln_error *error = NULL;
        kiln_tuning *tuning = NULL;
        setup(&f, KILN_TEST_WORKER, i == SANDBOX ? KILN_SANDBOX : 0);
        kiln_spec_free(f.spec);
        f.spec = NULL;
        CHECK_OK(kiln_spec_load(f.engine, KILN_TEST_DATA "/add.yaml", &f.spec, &error), error);
        const kiln_run_options run = {
            .size = sizeof run, .flags = KILN_RUN_CHECK | KILN_RUN_NO_MEASURE, .check = find, .check_user = &found[i]};
        const kiln_tune_options options = {.size = sizeof options,
                                           .variants = names,
                                           .variant_count = 1,
                                           .run = &run,
                                           .isolation = i == HERE || i == SANDBOX ? KILN_ISOLATE_NEVER
                                                                                  : KILN_ISOLATE_ALWAYS};
        CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
        /* a sanitizer build has no sandbox */
        CHECK((f.runners > 0) == (i != HERE && !(i == SANDBOX && KILN__SANITIZED)));
        kiln_tuning_free(tuning);
        teardown(&f);
    }
    CHECK(found[HERE].count > 0 && found[HERE].texts > 0);
    CHECK(found[ELSEWHERE].count == found[HERE].count && found[ELSEWHERE].texts == found[HERE].texts);
    CHECK(found[SANDBOX].count == found[HERE].count && found[SANDBOX].texts == found[HERE].texts);
    CHECK(found[ONE].count > 0 && found[ONE].count <= found[HERE].count);
}

/* ---- options that another process cannot serve ---- */

static kiln_status nothing(void *user, kiln_call *call)
{
    (void)user;
    (void)call;
    return KILN_OK;
}

static void refused(fixture *f, kiln_tune_options options, kiln_status status, const char *part)
{
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    CU_ASSERT_EQUAL(kiln_tune(f->engine, f->spec, &options, &tuning, &error), status);
    CHECK(tuning == NULL);
    if (!strstr(kiln_error_message(error), part))
        fprintf(stderr, "got %s\n", kiln_error_message(error));
    CHECK(strstr(kiln_error_message(error), part) != NULL);
    kiln_error_free(error);
}

/* A sweep in another process refuses options that need this process, and the message names the option. */
static void refuses_what_cannot_be_moved(void)
{
    fixture f;
    kiln_error *error = NULL;
    kiln_tune_options options = ISOLATED(after);
    setup(&f, KILN_TEST_WORKER, KILN_NO_WORKERS);
    refused(&f, options, KILN_ERROR_NOT_FOUND, "which this engine does not use (KILN_NO_WORKERS)");
    CHECK_OK(kiln_register_host(f.engine, "mine", KILN_HOST_STEP, nothing, NULL, &error), error);
    refused(&f, options, KILN_ERROR_UNSUPPORTED, "host functions of its own ('mine')");
    teardown(&f);
    setup(&f, KILN_TEST_WORKER, 0);
    const kiln_file_binding file = {"y", "y.npy"};
    const kiln_run_options writes = {.size = sizeof writes, .outputs = &file, .output_count = 1};
    options.run = &writes;
    refused(&f, options, KILN_ERROR_UNSUPPORTED, "writes outputs");
    options.run = NULL;
    options.sample_timeout = NAN;
    refused(&f, options, KILN_ERROR_ARGUMENT, "options.sample_timeout is nan");
    options.sample_timeout = 0;
    static const char *const unlike[] = {"sim", "sim:h200"}, *const gpu[] = {"cuda:0"}, *const none[] = {"gpu"};
    options.device_count = 2;
    options.devices = unlike;
    refused(&f, options, KILN_ERROR_ARGUMENT, "times of different models cannot be compared");
    options.devices = NULL;
    refused(&f, options, KILN_ERROR_ARGUMENT, "options.device_count is 2, but options.devices is NULL");
    options.device_count = 1;
    options.devices = gpu;
    refused(&f, options, KILN_ERROR_ARGUMENT, "a simulated device and a GPU");
    options.devices = none;
    refused(&f, options, KILN_ERROR_ARGUMENT, "device 'gpu': write cuda:0");
    teardown(&f);
}

static void programs_that_are_no_runner(void)
{
    static const struct {
        const char *program, *part;
    } want[] = {
        {"/nonexistent/kiln-worker", ": No such file or directory"},
        {"/", ": Permission denied"},
        {"/bin/false", "ended at once: it exited with status 1"},
        {"/bin/cat", "ended at once"}, /* this program does not know the options */
    };
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        fixture f;
        setup(&f, want[i].program, 0);
        kiln_tune_options options = ISOLATED(after);
        refused(&f, options, KILN_ERROR_IO, want[i].part);
        teardown(&f);
    }
}

/* Fails the 1st, 2nd, ... allocation. Each run must end with an error or a result, without a leak and without a
 * process left behind. */
static void survives_no_memory(void)
{
    fixture f;
    setup(&f, KILN_TEST_WORKER, 0);
    kiln_error *error = NULL;
    kiln_tuning *tuning = NULL;
    kiln_tune_options options = ISOLATED(after);
    options.max_configurations = 1;
    /* this sweep fills the cache with the code */
    CHECK_OK(kiln_tune(f.engine, f.spec, &options, &tuning, &error), error);
    kiln_tuning_free(tuning);
    int finished = 0;
    for (long n = 0; !finished && n < 10000; n += n < 10 ? 1 : n / 5) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_options with = {.size = sizeof with,
                             .device = "sim",
                             .cache_dir = f.folder,
                             .jobs = 1,
                             .worker = KILN_TEST_WORKER,
                             .allocator = &mem};
        kiln_engine *engine = NULL;
        kiln_spec *spec = NULL;
        const kiln_device_info *info = NULL;
        CHECK_OK(kiln_engine_open(&with, &engine, &error), error);
        CHECK_OK(kiln_spec_load(engine, KILN_TEST_DATA "/planted.yaml", &spec, &error), error);
        CHECK_OK(kiln_engine_device(engine, &info, &error), error);
        kiln__crew *crew = NULL;
        kiln__arena arena = {.mem = &mem};
        kiln__sites sites;
        /* without memory for its references, a sweep goes on without them */
        CHECK(kiln__engine_references(engine) != NULL);
        oom.countdown = n;
        kiln_status status = kiln__sites_find(engine, &options, &arena, &sites, &error);
        if (status == KILN_OK)
            status = kiln__crew_start(engine, spec, &options, &sites, &crew, &error);
        for (bool ready = false; status == KILN_OK && !ready;) {
            status = kiln__crew_greet(crew, &ready, &error);
            if (!ready)
                kiln__crew_wait(crew, false, 0.1);
        }
        finished = !oom.failed;
        oom.countdown = -1;
        CHECK(status == KILN_OK ? finished : status == KILN_ERROR_MEMORY);
        kiln_error_free(error);
        error = NULL;
        kiln__crew_close(crew);
        kiln__arena_free(&arena);
        tuning = NULL;
        oom.failed = 0;
        oom.countdown = n;
        status = kiln_tune(engine, spec, &options, &tuning, &error);
        finished &= !oom.failed;
        oom.countdown = -1;
        CHECK(status == KILN_OK || (oom.failed && error));
        kiln_error_free(error);
        error = NULL;
        kiln_tuning_free(tuning);
        kiln_spec_free(spec);
        kiln_engine_close(engine);
        CU_ASSERT_EQUAL(oom.live, 0);
    }
    CHECK(finished);
    teardown(&f);
}

static const check_case cases[] = {
    {"messages come back", messages_come_back},
    {"a result comes back whole", a_result_comes_back_whole},
    {"messages are untrusted input", messages_are_foreign_bytes},
    {"measures elsewhere", measures_elsewhere},
    {"a finding comes back", a_finding_comes_back},
    {"checks elsewhere", checks_elsewhere},
    {"survives its end in mid-sample", survives_its_end},
    {"ends what takes too long", ends_what_takes_too_long},
    {"the callback stops a sample", the_callback_stops_a_sample},
    {"several share a sweep", several_share_a_sweep},
    {"one of several ends", one_of_several_ends},
    {"one of several is let go", one_of_several_is_let_go},
    {"tried again alone", tried_again_alone},
    {"references are kept before a launch", references_are_kept_before_a_launch},
    {"failures set no limit", failures_set_no_limit},
    {"refuses what cannot be moved", refuses_what_cannot_be_moved},
    {"programs that are no runner", programs_that_are_no_runner},
    {"survives no memory", survives_no_memory},
};
KILN_SUITE("tune.runner", cases)
