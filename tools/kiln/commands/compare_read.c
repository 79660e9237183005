/* compare_read.c - reads the two sides of `kiln compare`: stores, exported files, recorded search spaces, JSON
 * output. */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"

#define MOST_BYTES ((size_t)1 << 28) /* the largest JSON file that is read, in bytes */

static const char *copy(const char *text) { return cli_strndup(text, strlen(text)); }

static compare_row *add_row(compare_side *side)
{
    if (side->count == side->room) {
        side->room = side->room ? 2 * side->room : 256;
        compare_row **grown = cli_alloc(side->room * sizeof *grown);
        if (side->count)
            memcpy(grown, side->rows, side->count * sizeof *grown);
        side->rows = grown;
    }
    compare_row *row = side->rows[side->count++] = cli_alloc(sizeof *row);
    *row = (compare_row){.spec = "",
                         .sizes = "",
                         .device = "",
                         .variant = "",
                         .params = "",
                         .message = "",
                         .made = (int64_t)side->count};
    return row;
}

static compare_kind kind_of(bool measured, bool estimated)
{
    return measured ? COMPARE_MEASURED : estimated ? COMPARE_ESTIMATED : COMPARE_SIMULATED;
}

static bool is_time(double value) { return value > 0 && isfinite(value); }

/* ---- stores ---- */

typedef struct selecting {
    compare_side *side;
    const char *select; /* the device or the version whose records are read; NULL means all records */
    const char *bad;    /* the first record that succeeded but has no time; NULL means that every time is above 0 */
} selecting;

static bool contains(const char *text, const char *part)
{
    const size_t length = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return false;
}

/* Returns true if `select` is the device of the record, or a version of the record such as "driver 13.0". NULL selects
 * every record. */
static bool is_selected(const kiln_record *r, const char *select)
{
    const struct {
        const char *name, *version;
    } versions[] = {{"driver ", r->driver}, {"nvrtc ", r->nvrtc}, {"kiln ", r->kiln}};
    for (size_t i = 0; select && i < CLI_COUNT(versions); i++)
        if (strncmp(select, versions[i].name, strlen(versions[i].name)) == 0)
            return strcmp(select + strlen(versions[i].name), versions[i].version) == 0;
    return !select || strcmp(r->device_id, select) == 0 || strcmp(r->uuid, select) == 0 || contains(r->device, select);
}

static int add_record(void *user, const kiln_record *r)
{
    selecting *to = user;
    if (!is_selected(r, to->select))
        return 0;
    compare_row *row = add_row(to->side);
    row->spec = copy(r->spec);
    row->sizes = cli_settings_text(r->sizes, r->size_count);
    row->device = copy(r->device);
    row->variant = copy(r->variant);
    row->params = cli_settings_text(r->params, r->param_count);
    row->status = r->status;
    row->message = copy(r->message);
    row->made = r->made;
    if (r->status != KILN_OK)
        return 0;
    row->kind = kind_of(r->result->measured, r->result->estimated);
    row->value = row->kind == COMPARE_SIMULATED ? r->result->host_seconds : r->result->seconds;
    row->low = r->result->seconds_low;
    row->high = r->result->seconds_high;
    row->repetitions = r->result->repetitions;
    if (is_time(row->value))
        return 0;
    to->bad = cli_printf("%s %s %s", row->spec, row->variant, row->params);
    return 1;
}

/* Lists the records of a store as rows of one side. A `path` of NULL means the usual store. */
static int read_store(cli *c, const char *path, const char *select, const char *spec, compare_side *side)
{
    const compare_args *args = c->args;
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    kiln_store_filter filter = {.size = sizeof filter, .variant = args->variant, .device = args->device};
    if (spec) {
        int code = cli_stored_spec(c, spec, &filter.spec, &filter.path);
        if (code)
            return code;
        /* the path of the spec does not filter, because another commit may have the spec in another folder */
        filter.path = NULL;
    }
    if (kiln_store_open(c->engine, path, KILN_STORE_READ, &store, &error) != KILN_OK)
        return cli_error(c, error);
    selecting to = {.side = side, .select = select};
    kiln_status status = kiln_store_list(store, &filter, add_record, &to, &error);
    const char *shown = cli_printf("%s", kiln_store_path(store));
    kiln_store_close(store);
    if (to.bad) {
        kiln_error_free(error);
        return cli_fail(c, KILN_ERROR_IO, "%s: the time of '%s' is missing or not a number above 0",
                        select ? shown : side->name, to.bad);
    }
    if (status != KILN_OK)
        return cli_error(c, error);
    side->what = select ? cli_printf("%s, in %s", select, shown) : side->name;
    if (side->count > 0)
        return 0;
    return cli_fail(
        c, KILN_ERROR_NOT_FOUND,
        select
            ? "%s has no samples of '%s'%s%s: each side is a file, or a device or version that the store has samples "
              "of; 'kiln results' lists these samples"
            : "%s has no samples%.0s%s%s",
        shown, select ? select : "", spec ? " of " : "", spec ? spec : "");
}

/* Reads an exported file or a recorded search space: imports it into a store of its own in a temporary folder. */
static int read_exported(cli *c, const char *spec, compare_side *side)
{
    const char *folder = getenv("TMPDIR");
    char *made = cli_printf("%s/kiln-compare-XXXXXX", folder && *folder ? folder : "/tmp");
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    if (!mkdtemp(made))
        return cli_fail(c, KILN_ERROR_IO, "%s: kiln cannot make a temporary folder", made);
    const char *path = cli_printf("%s/samples.db", made);
    kiln_status status = kiln_store_open(c->engine, path, 0, &store, &error);
    if (status == KILN_OK)
        status = kiln_store_import(store, side->name, NULL, NULL, &error);
    kiln_store_close(store);
    int code = status == KILN_OK ? read_store(c, path, NULL, spec, side) : cli_error(c, error);
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < CLI_COUNT(ends); i++)
        unlink(cli_printf("%s%s", path, ends[i]));
    rmdir(made);
    return code;
}

/* ---- JSON ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? copy(text) : "";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *setting_text(const char *key, const json_t *value)
{
    kiln_value v = {.kind = KILN_TEXT, .as.text = json_string_value(value) ? json_string_value(value) : ""};
    if (json_is_integer(value))
        v = (kiln_value){.kind = KILN_INT, .as.i = json_integer_value(value)};
    else if (json_is_real(value))
        v = (kiln_value){.kind = KILN_FLOAT, .as.f = json_real_value(value)};
    else if (json_is_boolean(value))
        v = (kiln_value){.kind = KILN_BOOL, .as.i = json_is_true(value)};
    return cli_printf("%s=%s", key, cli_value_text(v));
}

/* Returns the settings as a text, as cli_settings_text() writes them: "A=1 B=2". */
static const char *settings_of(const json_t *object)
{
    const char *key;
    json_t *value;
    cli_list parts = {0};
    size_t length = 1;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const char *part = setting_text(key, value);
        cli_list_add(&parts, part);
        length += strlen(part) + 1;
    }
    char *line = cli_alloc(length), *to = line;
    for (size_t i = 0; i < parts.count; i++) {
        const size_t bytes = strlen(parts.items[i]);
        if (i)
            *to++ = ' ';
        memcpy(to, parts.items[i], bytes);
        to += bytes;
    }
    return line;
}

/* A JSON file that is being read. A sample of a sweep does not repeat the keys of the whole file, so they are kept
 * here. */
typedef struct reading {
    cli *c;
    compare_side *side;
    const json_t *whole;
    const char *only;                  /* the name of the spec whose rows are read; NULL means every spec */
    const char *spec, *sizes, *device; /* the values of these keys of the whole file */
} reading;

/* Returns the name of the device in a JSON object. In the output of a sweep or a run, the device is an object; in the
 * list of stored samples, it is a text. */
static const char *device_of(const json_t *object)
{
    const json_t *device = json_object_get(object, "device");
    return json_is_object(device) ? text_of(device, "name") : text_of(object, "device");
}

/* Returns true if --device selects the device of this object: by a part of its name, its id or its UUID. */
static bool takes_device(const compare_args *args, const json_t *object)
{
    const json_t *device = json_object_get(object, "device");
    const json_t *ids = json_is_object(device) ? device : object;
    return !args->device || contains(device_of(object), args->device) ||
           strcmp(text_of(ids, json_is_object(device) ? "id" : "device_id"), args->device) == 0 ||
           strcmp(text_of(ids, "uuid"), args->device) == 0;
}

static bool read_status(const char *name, kiln_status *status)
{
    for (int i = 0; i <= KILN_ERROR_INTERNAL; i++)
        if (strcmp(kiln_status_name((kiln_status)i), name) == 0) {
            *status = (kiln_status)i;
            return true;
        }
    return false;
}

/* Adds a sample as a row, unless the user asked for other samples only. `place` tells where the sample is in the file.
 * Returns 0, or the exit code if the sample is malformed. A status that this version does not know, or an impossible
 * time, must not count as a success. */
static int add_sample(const reading *r, const json_t *sample, const char *place)
{
    const compare_args *args = r->c->args;
    const json_t *result = json_object_get(sample, "result"), *status = json_object_get(sample, "status");
    const char *spec = json_object_get(sample, "spec") ? text_of(sample, "spec") : r->spec;
    const bool one_device = json_is_object(json_object_get(r->whole, "device"));
    if ((r->only && strcmp(spec, r->only) != 0) ||
        (args->variant && strcmp(text_of(sample, "variant"), args->variant) != 0) ||
        !takes_device(args, one_device ? r->whole : sample))
        return 0;
    kiln_status found = KILN_OK;
    if (status && (!json_is_string(status) || !read_status(json_string_value(status), &found)))
        return cli_fail(r->c, KILN_ERROR_IO, "%s%s: the status '%s' is not known", r->side->name, place,
                        json_is_string(status) ? json_string_value(status) : "");
    compare_row *row = add_row(r->side);
    row->spec = spec;
    row->sizes = json_object_get(sample, "sizes") ? settings_of(json_object_get(sample, "sizes")) : r->sizes;
    row->device = one_device ? r->device : device_of(sample);
    row->variant = text_of(sample, "variant");
    row->params = settings_of(json_object_get(sample, "params"));
    row->message = text_of(sample, "message");
    row->status = found;
    if (found != KILN_OK)
        return 0;
    row->kind = kind_of(json_is_true(json_object_get(result, "measured")),
                        json_is_true(json_object_get(result, "estimated")));
    const char *key = row->kind == COMPARE_SIMULATED ? "host_seconds" : "seconds";
    const double repetitions = number_of(result, "repetitions");
    row->value = number_of(result, key);
    row->low = number_of(result, "seconds_low");
    row->high = number_of(result, "seconds_high");
    if (!is_time(row->value))
        return cli_fail(r->c, KILN_ERROR_IO, "%s%s: '%s' is missing or not a number above 0", r->side->name, place,
                        key);
    if (!(repetitions >= 0 && repetitions <= UINT_MAX))
        return cli_fail(r->c, KILN_ERROR_IO, "%s%s: 'repetitions' is out of range", r->side->name, place);
    row->repetitions = (unsigned)repetitions;
    return 0;
}

bool compare_more_is_worse(const char *counter)
{
    static const char *const ends[] = {"_sectors", "_requests", "_wavefronts", "_serial", "local_bytes"};
    static const char *const names[] = {"executed",  "divergent",     "barriers",
                                        "registers", "static_shared", "dynamic_shared"};
    const size_t length = strlen(counter);
    for (size_t i = 0; i < CLI_COUNT(ends); i++)
        if (length >= strlen(ends[i]) && strcmp(counter + length - strlen(ends[i]), ends[i]) == 0)
            return true;
    for (size_t i = 0; i < CLI_COUNT(names); i++)
        if (strcmp(counter, names[i]) == 0)
            return true;
    return false;
}

static void add_count(const reading *r, const char *kernel, const char *name, double value)
{
    compare_row *row = add_row(r->side);
    row->spec = r->spec;
    row->sizes = r->sizes;
    row->device = r->device;
    row->variant = kernel;
    row->params = copy(name);
    row->kind = COMPARE_COUNT;
    row->value = value;
}

/* Adds a row for each figure and each counter in the profile of a kernel. */
static void add_kernel(const reading *r, const json_t *kernel)
{
    const char *key, *name, *of = text_of(kernel, "name");
    json_t *value, *count;
    json_object_foreach((json_t *)(uintptr_t)kernel, key, value)
    {
        if (json_is_number(value))
            add_count(r, of, key, json_number_value(value));
        else if (strcmp(key, "counters") == 0)
            json_object_foreach(value, name, count)
            {
                if (json_is_number(count))
                    add_count(r, of, name, json_number_value(count));
            }
    }
}

static bool takes_profile(const reading *r)
{
    const compare_args *args = r->c->args;
    return (!r->only || strcmp(r->spec, r->only) == 0) &&
           (!args->variant || strcmp(text_of(r->whole, "variant"), args->variant) == 0) && takes_device(args, r->whole);
}

/* Reads the output of a failed command: {"error": {"status": ..., "message": ...}}. This output does not tell which
 * configurations failed. */
static int read_failure(const reading *r, const json_t *failure)
{
    if (!read_status(text_of(failure, "status"), &r->side->failed) || r->side->failed == KILN_OK)
        return cli_fail(r->c, KILN_ERROR_IO, "%s: error: the status '%s' is not known", r->side->name,
                        text_of(failure, "status"));
    r->side->why = text_of(failure, "message");
    return 0;
}

/* Reads the output that tune, run, results or profile wrote with --json. *known becomes false if the JSON has another
 * form. */
static int read_json(cli *c, const json_t *whole, const char *spec, compare_side *side, bool *known)
{
    const json_t *samples = json_object_get(whole, "samples"), *kernels = json_object_get(whole, "kernels");
    const json_t *failure = json_object_get(whole, "error");
    const reading r = {.c = c,
                       .side = side,
                       .whole = whole,
                       .only = spec,
                       .spec = text_of(whole, "spec"),
                       .sizes = settings_of(json_object_get(whole, "sizes")),
                       .device = device_of(whole)};
    size_t i;
    json_t *one;
    int code = 0;
    *known = true;
    side->what = side->name;
    if (json_is_object(failure) && json_object_size(whole) == 1)
        return read_failure(&r, failure);
    if (json_is_array(samples) && (json_object_get(whole, "totals") || json_object_get(whole, "store"))) {
        json_array_foreach(samples, i, one) if (!code) code = add_sample(&r, one, cli_printf(": samples[%zu]", i));
    } else if (json_is_array(kernels) && json_object_get(whole, "spec")) {
        if (takes_profile(&r))
            json_array_foreach(kernels, i, one) add_kernel(&r, one);
    } else if (json_is_object(json_object_get(whole, "result")) && json_object_get(whole, "variant")) {
        code = add_sample(&r, whole, "");
    } else {
        *known = false;
        return 0;
    }
    if (code || side->count)
        return code;
    const compare_args *args = c->args;
    return cli_fail(c, KILN_ERROR_NOT_FOUND, "%s has no results%s%s%s", side->name, spec ? " of " : "",
                    spec ? spec : "", args->device || args->variant ? " that --device and --variant select" : "");
}

/* ---- a side ---- */

static bool is_store(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char begin[sizeof magic] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const bool is = fd >= 0 && read(fd, begin, sizeof begin) == (ssize_t)sizeof begin && strcmp(begin, magic) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

bool compare_is_file(const char *name)
{
    struct stat info;
    return stat(name, &info) == 0 && !S_ISDIR(info.st_mode);
}

int compare_read(cli *c, const char *spec, compare_side *side)
{
    const compare_args *args = c->args;
    if (!compare_is_file(side->name)) {
        if (strchr(side->name, '/') || strstr(side->name, ".db") || strstr(side->name, ".json") ||
            strstr(side->name, ".csv"))
            return cli_fail(c, KILN_ERROR_NOT_FOUND, "%s: there is no such file", side->name);
        return read_store(c, args->store, side->name, spec, side);
    }
    if (is_store(side->name))
        return read_store(c, side->name, NULL, spec, side);
    const char *text = cli_read_file(side->name, MOST_BYTES, NULL), *at = text;
    while (at && isspace((unsigned char)*at))
        at++;
    json_t *whole = at && *at == '{' ? json_loads(text, 0, NULL) : NULL;
    bool known = false;
    int code = whole ? read_json(c, whole, spec, side, &known) : 0;
    json_decref(whole);
    return known ? code : read_exported(c, spec, side);
}
