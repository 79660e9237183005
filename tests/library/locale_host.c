/* locale_host.c - a program that sets the user's locale, as most programs with a window do, and embeds Kiln. It tunes on
 * the simulated device, exports the samples to files of both formats, and imports them again. It prints all numbers as bits,
 * and the bytes of a known-configurations file. locale.sh runs it under several locales and compares the output.
 *
 *     locale_host SPEC FOLDER */
#include <kiln_tune.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static int fail(kiln_error *error)
{
    fprintf(stderr, "locale_host: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    return 1;
}

/* printf("%g") would print the locale's decimal point. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int print_record(void *user, const kiln_record *record)
{
    (void)user;
    printf("record %s: %s, %016" PRIx64 " s, %016" PRIx64 " flops, made %s, run '%s'", record->variant,
           kiln_status_name(record->status), bits_of(record->result->seconds), bits_of(record->result->flops),
           record->made > 0 ? "once" : "never", record->run);
    for (size_t i = 0; i < record->param_count; i++)
        if (record->params[i].value.kind == KILN_FLOAT)
            printf(" %s=%016" PRIx64, record->params[i].name, bits_of(record->params[i].value.as.f));
        else if (record->params[i].value.kind == KILN_INT)
            printf(" %s=%" PRId64, record->params[i].name, record->params[i].value.as.i);
    puts("");
    return 0;
}

static int print_store(kiln_engine *engine, const char *path, const char *from)
{
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    uint64_t read = 0, taken = 0;
    if (kiln_store_open(engine, path, 0, &store, &error) ||
        (from && kiln_store_import(store, from, &read, &taken, &error)))
        return fail(error);
    printf("%s: %" PRIu64 " read, %" PRIu64 " taken\n", from ? strrchr(from, '/') + 1 : "store", read, taken);
    kiln_status status = kiln_store_list(store, NULL, print_record, NULL, &error);
    kiln_store_close(store);
    return status ? fail(error) : 0;
}

/* Prints a file without the line that says when it was made. */
static int print_file(const char *path)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strstr(line, "made:"))
            fputs(line, stdout);
    return !file || fclose(file) != 0;
}

/* Tunes a spec, exports the samples in both formats, imports them, and prints every number as bits. */
static int tune(kiln_engine *engine, const char *spec_path, const char *folder)
{
    char csv[512], json[512], known[512], path[512];
    snprintf(csv, sizeof csv, "%s/samples.csv", folder);
    snprintf(json, sizeof json, "%s/samples.json", folder);
    snprintf(known, sizeof known, "%s/known.yaml", folder);
    snprintf(path, sizeof path, "%s/samples.db", folder);
    kiln_spec *spec = NULL;
    kiln_store *store = NULL;
    kiln_tuning *tuning = NULL;
    kiln_knowledge *knowledge = NULL;
    kiln_error *error = NULL;
    if (kiln_spec_load(engine, spec_path, &spec, &error) || kiln_store_open(engine, path, 0, &store, &error))
        return fail(error);
    const kiln_tune_options options = {.size = sizeof options, .store = store};
    if (kiln_tune(engine, spec, &options, &tuning, &error))
        return fail(error);
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        printf("%s: %s %s%016" PRIx64 "\n", sample->variant, kiln_status_name(sample->status), sample->message,
               bits_of(sample->result->seconds));
    }
    printf("%" PRIu64 " of %" PRIu64 " failed\n", kiln_tuning_sum(tuning)->failed,
           kiln_tuning_sum(tuning)->configurations);
    uint64_t written = 0;
    if (kiln_store_export(store, NULL, csv, KILN_FORMAT_CSV, &written, &error) ||
        kiln_store_export(store, NULL, json, KILN_FORMAT_T4, &written, &error) ||
        kiln_knowledge_collect(engine, store, NULL, &knowledge, &error) ||
        kiln_knowledge_save(knowledge, known, &written, &error))
        return fail(error);
    kiln_knowledge_free(knowledge);
    knowledge = NULL;
    if (kiln_knowledge_load(engine, known, &knowledge, &error))
        return fail(error);
    printf("%zu known\n", kiln_knowledge_count(knowledge));
    kiln_knowledge_free(knowledge);
    kiln_tuning_free(tuning);
    kiln_store_close(store);
    kiln_spec_free(spec);
    char again[512], other[512];
    snprintf(again, sizeof again, "%s/csv.db", folder);
    snprintf(other, sizeof other, "%s/json.db", folder);
    return print_file(known) || print_store(engine, path, NULL) || print_store(engine, again, csv) ||
           print_store(engine, other, json);
}

int main(int count, char **arguments)
{
    if (!setlocale(LC_ALL, "")) {
        fprintf(stderr, "locale_host: the locale of the environment is not installed\n");
        return 77;
    }
    fprintf(stderr, "locale_host: the decimal point is '%s'\n", localeconv()->decimal_point);
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    const kiln_options options = {.size = sizeof options, .device = "sim:h200"};
    if (count != 3)
        return 2;
    if (kiln_engine_open(&options, &engine, &error))
        return fail(error);
    kiln_spec *spec = NULL;
    if (!kiln_spec_load(engine, "/nowhere/at/all.yaml", &spec, &error)) {
        fputs("locale_host: a file that does not exist was read\n", stderr);
        return 1;
    }
    puts(kiln_error_message(error)); /* the message contains the text of the system's error, which glibc translates */
    kiln_error_free(error);
    error = NULL;
    int code = tune(engine, arguments[1], arguments[2]);
    kiln_engine_close(engine);
    return code;
}
