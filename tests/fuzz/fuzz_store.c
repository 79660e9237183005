/* Reads any bytes as a store, and as pending samples beside a store, in every way, and writes to the store. The result
 * is rows, or an error whose message does not call the file a defect of this library. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "known.h"
#include "store_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY "00000000000000000000000000000001" /* the key of a row in the seeds */

static char folder[64];

/* Removes all files of the folder: renamed stores, logs, pending samples. */
static void empty_folder(void)
{
    DIR *list = opendir(folder);
    for (struct dirent *item; list && (item = readdir(list));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
        if (item->d_name[0] != '.')
            unlink(path);
    }
    if (list)
        closedir(list);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

/* Checks that a failure has a reason, and frees it. */
static void expect(kiln_status status, kiln_error **error)
{
    if (status != KILN_OK && (!*kiln_error_message(*error) || status == KILN_ERROR_INTERNAL)) {
        fprintf(stderr, "%s: %s\n", kiln_status_name(status), kiln_error_message(*error));
        abort();
    }
    kiln_error_free(*error);
    *error = NULL;
}

static int look(void *user, const kiln_record *r)
{
    kiln__known known = {.spec = r->spec,
                         .variant = r->variant,
                         .device = r->device,
                         .cc = r->cc,
                         .sizes = KILN__SIZES(r),
                         .params = KILN__PARAMS(r),
                         .how = KILN__MEASURED,
                         .seconds = r->status == KILN_OK ? r->result->seconds : HUGE_VAL,
                         .made = r->made};
    double sum = (double)strlen(r->message) + (double)strlen(kiln_status_name(r->status));
    for (size_t i = 0; i < r->time_count; i++)
        sum += r->times[i];
    return !kiln__known_add(user, &known) || (sum > 0 && strlen(r->key) > 1000000);
}

static void read_all(kiln_store *store)
{
    static const kiln_format formats[] = {KILN_FORMAT_CSV, KILN_FORMAT_T4, KILN_FORMAT_KERNEL_TUNER};
    kiln__known_list known = {0};
    kiln__text text = {0};
    kiln_error *error = NULL;
    char path[96];
    expect(kiln_store_list(store, NULL, look, &known, &error), &error);
    kiln__known_deduplicate(&known);
    expect(kiln__known_print(NULL, &known, &text, &error), &error);
    kiln__known_free(&known);
    kiln__text_free(&text);
    for (size_t i = 0; i < KILN__COUNT(formats); i++) {
        snprintf(path, sizeof path, "%s/export", folder);
        expect(kiln_store_export(store, NULL, path, formats[i], NULL, &error), &error);
    }
    kiln__arena arena = {0};
    kiln__store_row row;
    bool found;
    expect(kiln__store_find(store, KEY, &arena, &row, &found, &error), &error);
    kiln__arena_free(&arena);
}

/* Adds a sample to a store that could be opened, and removes it again. Each call may fail with an error, but may not
 * crash. */
static void write_some(kiln_store *store)
{
    static const double times[] = {1, 2};
    kiln__store_row row = {.key = KEY,
                           .spec = "s",
                           .variant = "v",
                           .params = "A=1",
                           .sizes = "N=1",
                           .inputs = "",
                           .run = "",
                           .device = "",
                           .device_id = "",
                           .uuid = "",
                           .cc = "",
                           .driver = "",
                           .nvrtc = "",
                           .kiln = "",
                           .source_key = "",
                           .message = "",
                           .features = "",
                           .input_functions = "",
                           .metrics = "",
                           .host = "",
                           .command = "",
                           .path = "",
                           .made = INT64_MAX,
                           .times = times,
                           .time_count = 2};
    kiln_store_filter filter = {.size = sizeof filter, .spec = "s"};
    kiln_error *error = NULL;
    expect(kiln__store_add(store, &row, NULL, &error), &error);
    expect(kiln_store_prune(store, &filter, NULL, &error), &error);
}

static void open_as(const char *path, unsigned flags)
{
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    kiln_status status = kiln__store_open_for(NULL, NULL, path, flags, 0, NULL, &store, &error);
    expect(status, &error);
    if (status != KILN_OK)
        return;
    read_all(store);
    if (!flags)
        write_some(store);
    kiln_store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[96], waits[128];
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/kiln-fuzz-XXXXXX" : "/tmp/kiln-fuzz-XXXXXX");
    if (!mkdtemp(folder)) /* a new folder for each input, because a fuzzer ends without its exit handlers */
        abort();
    snprintf(path, sizeof path, "%s/samples.db", folder);
    snprintf(waits, sizeof waits, "%s.pending-1-1", path);
    write_file(path, data, size);
    open_as(path, KILN_STORE_READ);
    open_as(path, 0);
    empty_folder();
    write_file(waits, data, size);
    open_as(path, 0);
    empty_folder();
    rmdir(folder);
    return 0;
}
