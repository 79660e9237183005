/* Tests references that are kept on disk. They must be found again only for the same arguments, and any bytes of an
 * entry must be safe. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plans.h"

static char folder[64];
static uint64_t lacking; /* weights of the reference `projected` */
static _Atomic int calls;

enum { SLOW = 30000 }; /* microseconds: long enough to be kept */

static kiln_status host_slow(void *user, kiln_call *call)
{
    const char *path;
    double more = 0, none = 0;
    calls++;
    usleep(SLOW);
    if (user) /* `user` is the name of a file that the function asks for */
        kiln_call_file(call, user, &path);
    kiln_call_float(call, "more", &none, &more);
    return host_add_one(NULL, call);
}

/* Looks at the variant's own input. */
static kiln_status host_own(void *user, kiln_call *call)
{
    const kiln_array *values;
    (void)user;
    calls++;
    usleep(SLOW);
    return kiln_call_array(call, "m.csr.values", &values) == KILN_OK ? host_add_one(NULL, call)
                                                                     : KILN_ERROR_HOST_FUNCTION;
}

/* Computes the elements of the output, and random sums for them. All weights are 0, so any answer has the right sums.
 * `user` tells how many weights are missing. */
static kiln_status host_projected(void *user, kiln_call *call)
{
    const kiln_array *x;
    kiln_array *y, *weights, *sums;
    const uint64_t *missing = user;
    calls++;
    usleep(SLOW);
    if (kiln_call_array(call, "x", &x) != KILN_OK || kiln_call_output(call, "y", &y) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (int i = 0; i < 8; i++)
        ((float *)y->data)[i] = ((const float *)x->data)[i] + 1;
    const uint64_t rows = y->shape[0], columns = y->shape[1],
                   blocks = (columns + KILN__PROJECTED - 1) / KILN__PROJECTED;
    if (kiln_call_export_array(call, "verify.weights", KILN_f64, 1, (uint64_t[]){columns - *missing}, &weights) !=
            KILN_OK ||
        kiln_call_export_array(call, "verify.sums", KILN_f64, 2, (uint64_t[]){rows, blocks}, &sums) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    memset(weights->data, 0, (size_t)(columns - *missing) * sizeof(double));
    memset(sums->data, 0, (size_t)(rows * blocks) * sizeof(double));
    return kiln_call_export_float(call, "verify.slack", 0);
}

static void enter(void)
{
    strcpy(folder, "/tmp/kiln-reference-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
}

static void leave(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
}

static void open_with(const kiln_allocator *mem, const char *where)
{
    open_engine(mem, true);
    CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
    kiln_register_host(engine, "slow", KILN_HOST_REFERENCE | KILN_HOST_SHIPPED, host_slow, NULL, NULL);
    kiln_register_host(engine, "opens", KILN_HOST_REFERENCE | KILN_HOST_SHIPPED, host_slow, "fake.yaml", NULL);
    kiln_register_host(engine, "of_mine", KILN_HOST_REFERENCE, host_slow, NULL, NULL);
    kiln_register_host(engine, "own", KILN_HOST_REFERENCE | KILN_HOST_SHIPPED, host_own, NULL, NULL);
    kiln_register_host(engine, "projected", KILN_HOST_REFERENCE | KILN_HOST_SHIPPED, host_projected, &lacking, NULL);
    kiln__engine_use_references(engine, where);
}

/* Opens the plan of `variant` for N elements, in an engine of its own as another process would. */
static void open_at(const char *text, const char *variant, int64_t n)
{
    kiln_error *error = NULL;
    kiln_setting size = {"N", {KILN_INT, {.i = n}}};
    kiln_choice choice = {.variant = variant, .sizes = &size, .size_count = 1};
    open_with(NULL, folder);
    CHECK_OK(try_plan(text, &choice, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
}

/* Runs the plan, and returns how often the reference was computed. */
static int count_calls(const char *text, const char *variant, int64_t n)
{
    const int before = calls;
    open_at(text, variant, n);
    check_run(KILN_OK, NULL);
    CHECK(plan->result.verified);
    close_all();
    return calls - before;
}

#define OF(host) HEAD VARIANT ADD("add_one") "verify:\n  y: {against: " host ", rtol: 1e-6}\n"

static void test_found_again(void)
{
    enter();
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 8), 1);
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 8), 0);
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 9), 1); /* the size differs */
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 9), 0);
    /* The argument `more` is part of the spec, so a change of it makes another spec. */
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow, more: 2.5}"), "v", 8), 1);
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}") "about: other\n", "v", 8), 1);
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 8), 0);
    /* A wrong answer is also found with a stored reference. */
    open_at(HEAD VARIANT ADD("add_two") "verify:\n  y: {against: {host: slow}, rtol: 1e-6}\n", "v", 8);
    check_run(KILN_ERROR_WRONG_ANSWER, NULL);
    close_all();
    const int before = calls;
    open_at(HEAD VARIANT ADD("add_two") "verify:\n  y: {against: {host: slow}, rtol: 1e-6}\n", "v", 8);
    check_run(KILN_ERROR_WRONG_ANSWER, NULL);
    CU_ASSERT_EQUAL(calls, before);
    close_all();
    leave();
}

/* If a file replaces a fill, the content of the file counts, not its name. */
static void test_files(void)
{
    char path[128];
    enter();
    snprintf(path, sizeof path, "%s/x.npy", folder);
    const kiln_file_binding input = {"x", path};
    const kiln_run_options options = {.size = sizeof options, .inputs = &input, .input_count = 1};
    for (int round = 0; round < 4; round++) {
        float x[8] = {1, 2, 3, 4, 5, 6, 7, round < 2 ? 8.0f : 9.0f};
        kiln_error *error = NULL;
        const kiln_array array = {.type = KILN_f32, .dims = 1, .shape = {8}, .data = x};
        const int before = calls;
        CHECK_OK(kiln__npy_write(NULL, path, &array, &error), error);
        open_at(OF("{host: slow}"), "v", 8);
        CHECK_OK(kiln_plan_run(plan, &options, NULL, &error), error);
        close_all();
        CU_ASSERT_EQUAL(calls - before, round % 2 == 0);
    }
    leave();
}

static void test_not_kept(void)
{
    enter();
    for (int i = 0; i < 2; i++) {
        /* the reference may depend on the application's state */
        CU_ASSERT_EQUAL(count_calls(OF("{host: of_mine}"), "v", 8), 1);
        CU_ASSERT_EQUAL(count_calls(OF("{host: opens}"), "v", 8), 1); /* the reference may depend on the file */
        /* Kiln keeps no reference for data that the caller has written. */
        const float x[8] = {5, 6, 7};
        const int before = calls;
        kiln_error *error = NULL;
        open_at(OF("{host: slow}"), "v", 8);
        CHECK_OK(kiln_plan_write(plan, "x", x, sizeof x, &error), error);
        check_run(KILN_OK, NULL);
        close_all();
        CU_ASSERT_EQUAL(calls, before + 1);
    }
    leave();
    /* Runs without a cache folder. */
    open_with(NULL, "");
    CHECK(kiln__engine_references(engine) == NULL);
    close_all();
}

/* A reference that looks at the variant's own input has one answer for each variant. */
static void test_own_inputs(void)
{
    static const char text[] = HEAD
        "variants:\n"
        "  a:\n    inputs: {m: {host: matrix, rows: 8}}\n"
        "    launch: {kernel: add_one, grid: [ceil_div(N, 4)], block: [4], args: [x, y, N]}\n"
        "  b:\n    inputs: {m: {host: matrix, rows: 9}}\n"
        "    launch: {kernel: add_one, grid: [ceil_div(N, 4)], block: [4], args: [x, y, N]}\n"
        "verify:\n  y: {against: {host: own}, rtol: 1e-6}\n";
    enter();
    CU_ASSERT_EQUAL(count_calls(text, "a", 8), 1);
    CU_ASSERT_EQUAL(count_calls(text, "b", 8), 1);
    CU_ASSERT_EQUAL(count_calls(text, "a", 8), 0);
    CU_ASSERT_EQUAL(count_calls(text, "b", 8), 0);
    leave();
}

/* A sweep prepares a reference while it compiles. Its samples use this reference, also if an input gives the content
 * of a buffer. */
static void test_prepared(void)
{
    static const char text[] = "kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 8}}\n"
                               "inputs: {m: {host: matrix, rows: N}}\n"
                               "buffers:\n  x: {type: f32, shape: [N], from: m.csr.values}\n"
                               "  y: {type: f32, shape: [N], out: true}\n" VARIANT ADD(
                                   "add_one") "verify:\n  y: {against: {host: slow}, rtol: 1e-6}\n";
    kiln__shared *shared = NULL;
    kiln_error *error = NULL;
    const kiln_choice sizes = {.size_set = "default"};
    open_with(NULL, "");
    CHECK_OK(kiln_spec_parse(engine, text, strlen(text), "fake.yaml", &spec, &error), error);
    CHECK_OK(kiln__shared_open(engine, spec, &shared, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shared);
    const int before = calls;
    CHECK_OK(kiln__plan_prepare(engine, spec, &sizes, shared, true, &error), error);
    CU_ASSERT_EQUAL(calls, before + 1);
    CHECK_OK(fake_plan_of(engine, spec, NULL, &plan, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    kiln__plan_share(plan, shared);
    check_run(KILN_OK, NULL);
    CU_ASSERT_EQUAL(calls, before + 1);
    kiln_plan_close(plan);
    plan = NULL;
    kiln__shared_free(shared);
    close_all();
}

/* ---- the entries ---- */

/* Calls `visit` for each entry, and returns the number of entries. *bytes gets their total size. */
static int visit_entries(void (*visit)(const char *path), uint64_t *bytes)
{
    char path[512];
    int count = 0;
    struct stat info;
    snprintf(path, sizeof path, "%s/v1", folder);
    DIR *open = opendir(path);
    *bytes = 0;
    for (const struct dirent *item; open && (item = readdir(open));) {
        snprintf(path, sizeof path, "%s/v1/%.64s", folder, item->d_name);
        if (item->d_name[0] == '.' || stat(path, &info) != 0)
            continue;
        count++;
        *bytes += (uint64_t)info.st_size;
        if (visit)
            visit(path);
    }
    if (open)
        closedir(open);
    return count;
}

static double damage_at; /* the place in the file, from 0 to 1; above 1 the file is cut at place - 1 */

static void damage(const char *path)
{
    struct stat info;
    char byte = 0;
    const int fd = open(path, O_RDWR);
    CU_ASSERT_TRUE_FATAL(fd >= 0 && fstat(fd, &info) == 0);
    const off_t at = (off_t)((damage_at > 1 ? damage_at - 1 : damage_at) * (double)(info.st_size - 1));
    if (damage_at > 1)
        CHECK(ftruncate(fd, at) == 0);
    else
        CHECK(pread(fd, &byte, 1, at) == 1 && (byte ^= 0x40, pwrite(fd, &byte, 1, at)) == 1);
    close(fd);
}

static void test_damaged(void)
{
    uint64_t bytes;
    enter();
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 8), 1);
    for (int i = 0; i <= 24; i++) {
        damage_at = i / 16.0;
        CU_ASSERT_EQUAL(visit_entries(damage, &bytes), 1);
        CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 8), 1);
        CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 8), 0);
    }
    leave();
}

/* Shortens the array `verify.weights` of an entry to one element, and renews the checksum. */
static void forge(const char *path)
{
    static const char name[] = "verify.weights";
    char *bytes = NULL;
    size_t length = 0, at = 0;
    const uint64_t one = 1;
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read(NULL, path, 0, &bytes, &length, &error), error);
    while (at + sizeof name < length && memcmp(bytes + at, name, sizeof name) != 0)
        at++;
    CU_ASSERT_TRUE_FATAL(at + sizeof name < length);
    /* the first extent comes after `is_array`, the type and `dims` */
    memcpy(bytes + at + sizeof name + 3 * sizeof one, &one, sizeof one);
    const kiln__hash128 hash = kiln__hash(bytes, length - sizeof hash);
    memcpy(bytes + length - sizeof hash, &hash, sizeof hash);
    const int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    close(fd);
    kiln__free(NULL, bytes);
}

/* Random sums that do not fit the output are refused. From a host function they are an error, and from a file they are
 * a miss. */
static void test_projected(void)
{
    static const char text[] = "kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 8}}\n"
                               "buffers:\n  x: {type: f32, shape: [N], fill: {iota: [1, 1]}}\n"
                               "  y: {type: f32, shape: [4, 2], out: true}\n" VARIANT ADD(
                                   "add_one") "verify:\n  y: {against: {host: projected}, rtol: 1e-6}\n";
    uint64_t bytes;
    enter();
    lacking = 1;
    open_at(text, "v", 8);
    check_run(KILN_ERROR_HOST_FUNCTION, "fake.yaml:14:3: the random sums of 'projected' do not fit the shape of 'y'\n"
                                        "    y: {against: {host: projected}, rtol: 1e-6}\n    ^");
    close_all();
    leave();
    enter();
    lacking = 0;
    CU_ASSERT_EQUAL(count_calls(text, "v", 8), 1);
    CU_ASSERT_EQUAL(count_calls(text, "v", 8), 0);
    CU_ASSERT_EQUAL(visit_entries(forge, &bytes), 1);
    CU_ASSERT_EQUAL(count_calls(text, "v", 8), 1);
    CU_ASSERT_EQUAL(count_calls(text, "v", 8), 0);
    leave();
}

/* The least recently used entries are removed, and an entry that is too large is not written. */
static void test_bounded(void)
{
    enum { MOST = 20000 };
    uint64_t bytes;
    enter();
    for (int64_t n = 400; n < 410; n++) {
        open_at(OF("{host: slow}"), "v", n);
        engine->references_most = MOST;
        check_run(KILN_OK, NULL);
        close_all();
        CHECK(visit_entries(NULL, &bytes) > 0 && bytes <= MOST);
    }
    const int count = visit_entries(NULL, &bytes);
    CHECK(count >= 2);
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 409), 0);
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 400), 1);
    open_at(OF("{host: slow}"), "v", 1000); /* 4,000 bytes */
    engine->references_most = 4 * 3999;
    check_run(KILN_OK, NULL);
    close_all();
    CU_ASSERT_EQUAL(visit_entries(NULL, &bytes), count + 1);
    leave();
}

/* Exports of every kind must be read back unchanged, and any bytes must be read without a fault. */
static void test_bytes(void)
{
    double numbers[3] = {1, -2, 3};
    uint8_t flags[5] = {1, 2, 3, 4, 5};
    kiln__export list[] = {
        {.name = "a", .value = {KILN_INT, {.i = -7}}},
        {.name = "b.c", .value = {KILN_FLOAT, {.f = 0.5}}},
        {.name = "text", .value = {KILN_TEXT, {.text = "any"}}},
        {.name = "x", .is_array = true, .array = {.type = KILN_f64, .dims = 1, .shape = {3}, .data = numbers}},
        {.name = "y", .is_array = true, .array = {.type = KILN_u8, .dims = 2, .shape = {5, 1}, .data = flags}},
        {.name = "empty", .is_array = true, .array = {.type = KILN_u8, .dims = 2, .shape = {5, 0}}},
        {.name = "scalar", .is_array = true, .array = {.type = KILN_f64, .dims = 0, .data = numbers}},
    };
    for (size_t i = 0; i + 1 < KILN__COUNT(list); i++)
        list[i].next = &list[i + 1];
    kiln__text fields = {0}, data = {0};
    kiln__export *back = NULL;
    bool whole = false;
    CHECK(kiln__exports_pack(list, &fields, &data));
    CU_ASSERT_EQUAL(kiln__exports_bytes(list), data.length);
    CHECK(kiln__exports_unpack(NULL, fields.data, fields.length, data.data, data.length, &back, &whole) == KILN_OK);
    CU_ASSERT_TRUE_FATAL(whole && back);
    CHECK(kiln__export_find(back, "a")->value.as.i == -7 && kiln__export_find(back, "b.c")->value.as.f == 0.5);
    CHECK_TEXT(kiln__export_find(back, "text")->value.as.text, "any");
    CHECK(memcmp(kiln__export_find(back, "x")->array.data, numbers, sizeof numbers) == 0);
    CHECK(memcmp(kiln__export_find(back, "y")->array.data, flags, sizeof flags) == 0);
    CHECK(kiln__export_find(back, "empty")->array.shape[0] == 5 && kiln__export_find(back, "scalar")->array.dims == 0);
    kiln__exports_free(NULL, back);
    for (size_t length = 0; length < fields.length; length++) {
        CHECK(kiln__exports_unpack(NULL, fields.data, length, data.data, data.length, &back, &whole) == KILN_OK &&
              !whole);
        CHECK(back == NULL);
    }
    for (size_t i = 0; i < fields.length; i++) {
        fields.data[i] = (char)~fields.data[i];
        kiln__exports_unpack(NULL, fields.data, fields.length, data.data, data.length, &back, &whole);
        kiln__exports_free(NULL, back);
        fields.data[i] = (char)~fields.data[i];
    }
    CHECK(kiln__exports_unpack(NULL, fields.data, fields.length, data.data, data.length - 1, &back, &whole) == KILN_OK);
    CHECK(!whole);
    kiln__text_free(&fields);
    kiln__text_free(&data);
}

/* ---- the entries of both caches ---- */

static int count_shown(void *user, const kiln_cache_entry *entry, const char *source, const char *ptx,
                       size_t cubin_bytes)
{
    (void)entry, (void)source, (void)ptx, (void)cubin_bytes;
    ++*(int *)user;
    return 0;
}

static int take_id(void *user, const kiln_cache_entry *entry)
{
    snprintf(user, 64, "%s", entry->id);
    return 1;
}

/* The beginning of an id must identify one entry, whether code or reference. */
static void test_shown(void)
{
    char id[64] = "", other[64] = "", path[128], name[16];
    int shown = 0;
    kiln_error *error = NULL;
    enter();
    CU_ASSERT_EQUAL(count_calls(OF("{host: slow}"), "v", 8), 1);
    open_with(NULL, folder);
    snprintf(path, sizeof path, "%s/code", folder);
    engine->cache_dir = path;
    kiln__cache *code = kiln__engine_cache(engine);
    CU_ASSERT_TRUE_FATAL(code && kiln__engine_references(engine));
    CHECK_OK(kiln__cache_list(kiln__engine_references(engine), false, take_id, id, &error), error);
    CHECK_OK(kiln_cache_show(engine, id, count_shown, &shown, &error), error);
    id[1] = '\0';
    CHECK_OK(kiln_cache_show(engine, id, count_shown, &shown, &error), error);
    CU_ASSERT_EQUAL(shown, 2);
    for (int i = 0; other[0] != id[0]; i++) { /* until an entry of code begins with the same digit as the reference */
        snprintf(name, sizeof name, "key %d", i);
        const kiln__cache_key key = {.material = name, .length = strlen(name)};
        CHECK_OK(kiln__cache_gc(code, 0, NULL, NULL, &error), error);
        kiln__cache_put(code, &key, &(kiln__unit){.ptx = "x", .ptx_length = 1});
        CHECK_OK(kiln__cache_list(code, false, take_id, other, &error), error);
    }
    CHECK(kiln_cache_show(engine, id, count_shown, &shown, &error) == KILN_ERROR_ARGUMENT);
    CHECK(strstr(kiln_error_message(error), ": the ids of 2 entries begin with these digits; give more digits") !=
          NULL);
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln_cache_show(engine, other, count_shown, &shown, &error), error);
    CU_ASSERT_EQUAL(shown, 3);
    CHECK(kiln_cache_show(engine, "g", count_shown, &shown, NULL) == KILN_ERROR_NOT_FOUND);
    CHECK(kiln_cache_show(engine, "", count_shown, &shown, NULL) == KILN_ERROR_ARGUMENT);
    close_all();
    leave();
}

/* ---- commands ---- */

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/spec/%s", folder, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Runs a spec whose reference is the command, in the folder `spec`, and tells whether the command ran. */
static bool runs_command(const char *command)
{
    char text[2000], mark[128];
    kiln_error *error = NULL;
    snprintf(text, sizeof text, HEAD VARIANT ADD("add_one") "verify:\n  y: {against: {command: [%s]}}\n", command);
    open_with(NULL, folder);
    engine->flags |= KILN_ALLOW_COMMANDS;
    snprintf(mark, sizeof mark, "%s/spec/fake.yaml", folder);
    CHECK_OK(kiln_spec_parse(engine, text, strlen(text), mark, &spec, &error), error);
    CHECK_OK(fake_plan_of(engine, spec, NULL, &plan, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    const kiln_status status = kiln_plan_run(plan, NULL, NULL, &error); /* a wrong answer: the reference gives x */
    CHECK(status == KILN_ERROR_WRONG_ANSWER);
    kiln_error_free(error);
    close_all();
    snprintf(mark, sizeof mark, "%s/ran", folder);
    return unlink(mark) == 0;
}

static void test_commands(void)
{
    char path[128], script[400];
    enter();
    snprintf(path, sizeof path, "%s/spec", folder);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(script, sizeof script, "sleep 0.03; cp $1/in/x.npy $1/out/y.npy; touch %s/ran\n", folder);
    write_file("reference.sh", script);
    CHECK(runs_command("sh, reference.sh"));
    CHECK(!runs_command("sh, reference.sh"));
    CHECK(runs_command("sh, -e, reference.sh")); /* the words of the command differ */
    CHECK(!runs_command("sh, -e, reference.sh"));
    strcat(script, "# changed\n");
    write_file("reference.sh", script);
    CHECK(runs_command("sh, reference.sh"));
    CHECK(!runs_command("sh, reference.sh"));
    write_file("imported", "a file that the script may read");
    CHECK(runs_command("sh, reference.sh"));
    CHECK(!runs_command("sh, reference.sh"));
    snprintf(script, sizeof script, "sh, -c, 'sleep 0.03; cp $0/in/x.npy $0/out/y.npy; touch %s/ran'", folder);
    CHECK(runs_command(script));
    CHECK(runs_command(script)); /* no word of the command is a file, so it is unknown what the command reads */
    leave();
}

static void test_memory(void)
{
    static const char text[] = OF("{host: slow}");
    enter();
    CU_ASSERT_EQUAL(count_calls(text, "v", 8), 1);
    for (long k = 0; k < 4000; k++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        open_with(&mem, folder);
        CHECK_OK(try_plan(text, NULL, &error), error);
        oom.countdown = k;
        kiln_status status = kiln_plan_run(plan, NULL, NULL, &error);
        const bool failed = oom.failed;
        oom.countdown = -1;
        CHECK(status == KILN_OK || (failed && status == KILN_ERROR_MEMORY));
        kiln_error_free(error);
        close_all();
        CHECK(oom.live == 0);
        if (!failed)
            break;
    }
    leave();
}

static const check_case cases[] = {
    {"found again", test_found_again}, {"files", test_files},
    {"not kept", test_not_kept},       {"own inputs", test_own_inputs},
    {"prepared", test_prepared},       {"damaged", test_damaged},
    {"projected", test_projected},     {"shown", test_shown},
    {"bounded", test_bounded},         {"bytes", test_bytes},
    {"commands", test_commands},       {"no memory", test_memory},
};

KILN_SUITE("plan.reference", cases)
