/* argument.c - checks the arguments with which every public function begins. base.h has the macros for the checks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base.h"

/* The largest size of an options struct that a newer header could have. A larger size is a mistake of the caller. A
 * read of that many bytes could go beyond the caller's struct. */
enum { MOST_BYTES = 4096 };

kiln_status kiln__fail_null(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument)
{
    return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s is NULL", function, argument);
}

kiln_status kiln__fail_empty(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument)
{
    return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s is empty", function, argument);
}

kiln_status kiln__fail_flags(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                             unsigned bits)
{
    return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s has unknown bits 0x%x", function, argument, bits);
}

kiln_status kiln__fail_enum(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                            unsigned value, unsigned count)
{
    return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s is %d; it must be 0 to %u", function, argument,
                      (int)value, count - 1);
}

kiln_status kiln__fail_number(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                              double value)
{
    return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s is %g; it must be 0 or more", function, argument, value);
}

kiln_status kiln__fail_array(const kiln_allocator *mem, kiln_error **error, const char *function, const char *array,
                             const char *count_name, size_t count)
{
    if (count > KILN__MOST_ITEMS)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT,
                          "%s: %s is %zu; it must be at most %d (a negative number wraps "
                          "to a large one)",
                          function, count_name, count, KILN__MOST_ITEMS);
    return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s is %zu, but %s is NULL", function, count_name, count,
                      array);
}

/* ---- lists ---- */

kiln_status kiln__check_settings(const kiln_allocator *mem, kiln_error **error, const char *function, const char *array,
                                 const char *count_name, const kiln_setting *settings, size_t count)
{
    if (count > KILN__MOST_ITEMS || (count && !settings))
        return kiln__fail_array(mem, error, function, array, count_name, count);
    for (size_t i = 0; i < count; i++) {
        const kiln_setting *s = &settings[i];
        if (!s->name || !*s->name)
            return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s[%zu].name is %s", function, array, i,
                              s->name ? "empty" : "NULL");
        if ((unsigned)s->value.kind > KILN_TEXT)
            return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s[%zu].value.kind is %d; it must be 0 to %d",
                              function, array, i, (int)s->value.kind, KILN_TEXT);
        if (s->value.kind == KILN_TEXT && !s->value.as.text)
            return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s[%zu].value.as.text is NULL", function, array, i);
    }
    return KILN_OK;
}

kiln_status kiln__check_names(const kiln_allocator *mem, kiln_error **error, const char *function, const char *array,
                              const char *count_name, const char *const *names, size_t count)
{
    if (count > KILN__MOST_ITEMS || (count && !names))
        return kiln__fail_array(mem, error, function, array, count_name, count);
    for (size_t i = 0; i < count; i++)
        if (!names[i] || !*names[i])
            return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s[%zu] is %s", function, array, i,
                              names[i] ? "empty" : "NULL");
    return KILN_OK;
}

static kiln_status check_files(const kiln_allocator *mem, kiln_error **error, const char *function, const char *array,
                               const char *count_name, const kiln_file_binding *files, size_t count)
{
    if (count > KILN__MOST_ITEMS || (count && !files))
        return kiln__fail_array(mem, error, function, array, count_name, count);
    for (size_t i = 0; i < count; i++) {
        const char *text = files[i].buffer && *files[i].buffer ? files[i].path : files[i].buffer;
        const char *which = text == files[i].path && files[i].buffer && *files[i].buffer ? "path" : "buffer";
        if (!text || !*text)
            return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s[%zu].%s is %s", function, array, i, which,
                              text ? "empty" : "NULL");
    }
    return KILN_OK;
}

kiln_status kiln__check_choice(const kiln_allocator *mem, kiln_error **error, const char *function,
                               const kiln_choice *choice)
{
    if (!choice)
        return KILN_OK;
    kiln_status status = kiln__check_settings(mem, error, function, "choice.params", "choice.param_count",
                                              choice->params, choice->param_count);
    return status == KILN_OK ? kiln__check_settings(mem, error, function, "choice.sizes", "choice.size_count",
                                                    choice->sizes, choice->size_count)
                             : status;
}

/* ---- structs that the caller fills ---- */

kiln_status kiln__check_size(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                             size_t size)
{
    if (size == 0)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s.size is 0; set %s.size = sizeof %s", function,
                          argument, argument, argument);
    /* No member of these structs is larger than a uint64_t, and each member is aligned to its own size. So a size that
     * is a multiple of 8 never ends inside a member. */
    if (size % sizeof(uint64_t) != 0 || size < sizeof size)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT,
                          "%s: %s.size is %zu, which ends within a member; set %s.size = "
                          "sizeof %s",
                          function, argument, size, argument, argument);
    if (size > MOST_BYTES)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT,
                          "%s: %s.size is %zu, larger than in any version; set "
                          "%s.size = sizeof %s",
                          function, argument, size, argument, argument);
    return KILN_OK;
}

void kiln__give_struct(void *wanted, size_t size, const void *made, size_t known)
{
    size_t head = sizeof size; /* keeps the `size` that the caller set */
    memset((char *)wanted + head, 0, size - head);
    if (size > head)
        memcpy((char *)wanted + head, (const char *)made + head, (size < known ? size : known) - head);
}

kiln_status kiln__take_struct(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                              const void *given, void *taken, size_t known)
{
    size_t size = known;
    memset(taken, 0, known);
    if (given)
        memcpy(&size, given, sizeof size);
    KILN__TRY(kiln__check_size(mem, error, function, argument, size));
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                              "%s: %s uses an option that this library (" KILN_VERSION
                              ") does not know: it is older than the header that the caller was compiled with",
                              function, argument);
    if (given)
        memcpy(taken, given, size < known ? size : known);
    memcpy(taken, &known, sizeof known);
    return KILN_OK;
}

#define RUN_FLAGS                                                                                                      \
    (KILN_RUN_NO_VERIFY | KILN_RUN_NO_MEASURE | KILN_RUN_KEEP_L2 | KILN_RUN_FLUSH_L2 | KILN_RUN_CHECK |                \
     KILN_RUN_ENERGY | KILN_RUN_NO_MACHINE_CODE)

static kiln_status check_run(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                             const kiln_run_options *run)
{
    char text[2][64];
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"budget", run->budget},       {"precision", run->precision},       {"stop_early_above", run->stop_early_above},
        {"cut_above", run->cut_above}, {"most_seconds", run->most_seconds}, {"verify_seconds", run->verify_seconds}};
    snprintf(text[0], sizeof text[0], "%s.flags", argument);
    if (run->flags & ~RUN_FLAGS)
        return kiln__fail_flags(mem, error, function, text[0], run->flags & ~RUN_FLAGS);
    for (size_t i = 0; i < KILN__COUNT(numbers); i++) {
        snprintf(text[0], sizeof text[0], "%s.%s", argument, numbers[i].name);
        if (!(numbers[i].value >= 0)) /* this comparison is also false for NaN */
            return kiln__fail_number(mem, error, function, text[0], numbers[i].value);
    }
    if (isnan(run->sample_timeout)) /* only NaN is refused, because a negative timeout means no limit */
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: %s.sample_timeout is nan", function, argument);
    snprintf(text[0], sizeof text[0], "%s.inputs", argument);
    snprintf(text[1], sizeof text[1], "%s.input_count", argument);
    kiln_status status = check_files(mem, error, function, text[0], text[1], run->inputs, run->input_count);
    if (status != KILN_OK)
        return status;
    snprintf(text[0], sizeof text[0], "%s.outputs", argument);
    snprintf(text[1], sizeof text[1], "%s.output_count", argument);
    return check_files(mem, error, function, text[0], text[1], run->outputs, run->output_count);
}

kiln_status kiln__take_run(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                           const kiln_run_options *given, kiln_run_options *taken)
{
    kiln_status status = kiln__take_struct(mem, error, function, argument, given, taken, sizeof *taken);
    return status == KILN_OK ? check_run(mem, error, function, argument, taken) : status;
}

kiln_status kiln__take_filter(const kiln_allocator *mem, kiln_error **error, const char *function,
                              const kiln_store_filter *given, kiln_store_filter *taken)
{
    kiln_status status = kiln__take_struct(mem, error, function, "filter", given, taken, sizeof *taken);
    if (status == KILN_OK && (taken->failed < -1 || taken->failed > 1))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: filter.failed is %d; it must be -1 to 1", function,
                          taken->failed);
    if (status == KILN_OK && taken->path && !taken->spec)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: filter.path is set, but filter.spec is NULL", function);
    return status == KILN_OK ? kiln__check_settings(mem, error, function, "filter.sizes", "filter.size_count",
                                                    taken->sizes, taken->size_count)
                             : status;
}
