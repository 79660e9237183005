/* link.c - the functions cuLink* of the driver API. Each call that adds an input also reads and parses it. So the call
 * itself reports the errors of its input. Then cuLinkComplete() resolves the names and returns an image that contains
 * the texts. When the driver loads this image, it links the texts again. */
#include <stdio.h>
#include <string.h>

#include "cu_objects.h"

typedef struct sim_link {
    sim_object object;
    sim_jit jit;
    uint64_t nanoseconds;
    kiln__text errors, notes; /* the messages of all calls until now */
    sim_texts texts;
    ptx_input *inputs; /* inputs[k] is the result of parsing text k */
    size_t input_count, input_capacity;
    unsigned added;
    unsigned char *image; /* the image that cuLinkComplete() has made, or NULL before this call */
    bool failed;          /* true if cuLinkComplete() has failed; its inputs are freed then */
} sim_link;

void sim_link_drop(sim_object *object)
{
    sim_link *link = (sim_link *)object;
    for (size_t k = 0; k < link->input_count; k++)
        ptx_free(sim_memory(), link->inputs[k].module);
    kiln__free(sim_memory(), link->inputs);
    kiln__free(sim_memory(), link->image);
    kiln__text_free(&link->errors);
    kiln__text_free(&link->notes);
    sim_texts_free(&link->texts);
}

CUresult sim_file_read(const char *path, char **data, size_t *length)
{
    kiln_error *error = NULL;
    if (!path || !*path)
        return CUDA_ERROR_INVALID_VALUE;
    kiln_status status = kiln__file_read(sim_memory(), path, 0, data, length, &error);
    kiln_error_free(error);
    if (status == KILN_OK)
        return CUDA_SUCCESS;
    return status == KILN_ERROR_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult sim_cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *state)
{
    sim_context *context;
    sim_jit jit;
    SIM_TRY(sim_begin(&context));
    CUresult result = state ? sim_jit_read(count, options, values, &jit) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    sim_link *made = sim_object_new(context, SIM_LINK, sizeof *made);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    made->jit = jit;
    made->errors.mem = made->notes.mem = made->texts.mem = sim_memory();
    *state = SIM_HANDLE(CUlinkState, made);
    return sim_end(CUDA_SUCCESS);
}

/* Ends a call. Appends the messages of the call to the earlier messages, and writes all of them to the buffers that the
 * program gave to cuLinkCreate(). */
static CUresult write_logs(sim_context *context, sim_link *link, kiln__text *log, uint64_t start, CUresult result)
{
    kiln__text *to = result == CUDA_SUCCESS ? &link->notes : &link->errors;
    kiln__text_puts(to, kiln__text_get(log));
    kiln__text_free(log);
    sim_jit_log_put(&link->jit.error, kiln__text_get(&link->errors));
    sim_jit_log_put(&link->jit.info, kiln__text_get(&link->notes));
    link->nanoseconds += kiln__now_ns() - start;
    sim_jit_time_put(&link->jit, link->nanoseconds);
    return sim_end_work(context, result);
}

/* Parses the texts that were not parsed before. If this fails, the earlier inputs stay, and the caller must remove the
 * new inputs. */
static CUresult parse_new(sim_link *link, kiln__text *log)
{
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS && link->input_count < link->texts.count) {
        const sim_text *text = &link->texts.items[link->input_count];
        ptx_module *module = NULL;
        if (!kiln__grow(sim_memory(), &link->inputs, &link->input_capacity, link->input_count + 1,
                        sizeof *link->inputs))
            return CUDA_ERROR_OUT_OF_MEMORY;
        result = sim_ptx_parse(text->data, text->length, &module, log);
        if (result == CUDA_SUCCESS)
            link->inputs[link->input_count++] = (ptx_input){.module = module, .name = text->name, .lazy = text->lazy};
        else
            kiln__text_printf(log, "error   : in '%s'\n", text->name);
    }
    return result;
}

static bool is_of_type(CUjitInputType type, const unsigned char *data, size_t size)
{
    static const unsigned char elf[] = {0x7f, 'E', 'L', 'F'};
    bool binary = size >= 4 && (memcmp(data, elf, 4) == 0 || memcmp(data, "!<ar", 4) == 0 || data[0] == 0x50);
    return type == CU_JIT_INPUT_PTX ? !binary : binary || type == CU_JIT_INPUT_CUBIN;
}

static CUresult add_input(sim_context *context, sim_link *link, CUjitInputType type, const void *data, size_t size,
                          const char *name, unsigned count, const CUjit_option *options, void **values)
{
    sim_jit jit; /* these options are only checked, because cuLinkCreate() has already set the buffers of the logs */
    char made[32];
    if (!link)
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    CUresult result = sim_jit_read(count, options, values, &jit);
    if (result != CUDA_SUCCESS || !data || size == 0 || link->image || link->failed ||
        (unsigned)type >= CU_JIT_NUM_INPUT_TYPES)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    snprintf(made, sizeof made, "<input %u>", ++link->added);
    name = name && *name ? name : made;
    kiln__text log = {.mem = sim_memory()};
    uint64_t start = kiln__now_ns();
    if (type == CU_JIT_INPUT_NVVM) {
        kiln__text_printf(&log, "error   : '%s' is NVVM IR, which the simulated device does not compile\n", name);
        return write_logs(context, link, &log, start, CUDA_ERROR_NOT_SUPPORTED);
    }
    if (!is_of_type(type, data, size)) {
        kiln__text_printf(&log, "error   : '%s' does not have the given type\n", name);
        return write_logs(context, link, &log, start,
                          type == CU_JIT_INPUT_PTX ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE);
    }
    size_t before = link->texts.count;
    result = sim_image_error(sim_image_read(&link->texts, data, size, name, sim_device_cc(), &log));
    bool machine_code = result == CUDA_ERROR_NO_BINARY_FOR_GPU && type == CU_JIT_INPUT_LIBRARY;
    if (machine_code) /* cuLinkComplete() will report the names that are missing */
        result = CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = parse_new(link, &log);
    if (result != CUDA_SUCCESS) { /* removes the texts that the failed call has added */
        while (link->input_count > before)
            ptx_free(sim_memory(), link->inputs[--link->input_count].module);
        sim_texts_cut(&link->texts, before);
    }
    return write_logs(context, link, &log, start, result);
}

CUresult sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                           unsigned count, CUjit_option *options, void **values)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    return add_input(context, sim_object_find(context, state, SIM_LINK), type, data, size, name, count, options,
                     values);
}

CUresult sim_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
                           CUjit_option *options, void **values)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    char *data = NULL;
    size_t length = 0;
    CUresult result = sim_file_read(path, &data, &length);
    if (result != CUDA_SUCCESS)
        return sim_end_work(context, result);
    result = add_input(context, sim_object_find(context, state, SIM_LINK), type, data, length, path, count, options,
                       values);
    kiln__free(sim_memory(), data);
    return result;
}

bool sim_is_builtin(const char *function) { return vm_is_builtin(function); }

CUresult sim_cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_link *link = sim_object_find(context, state, SIM_LINK);
    if (!link)
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (!image || link->image || link->failed)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    kiln__text log = {.mem = sim_memory()};
    uint64_t start = kiln__now_ns();
    if (link->input_count == 0) {
        kiln__text_puts(&log, "error   : there is nothing to link\n");
        return write_logs(context, link, &log, start, CUDA_ERROR_INVALID_IMAGE);
    }
    ptx_module *whole = NULL;
    size_t count = link->input_count, length = 0;
    for (size_t k = 0; k < count; k++) /* the names are set again, because the array of texts may have moved */
        link->inputs[k].name = link->texts.items[k].name;
    CUresult result =
        sim_ptx_result(ptx_link(sim_memory(), link->inputs, (uint32_t)count, sim_is_builtin, &whole, &log));
    link->input_count = 0; /* even if it failed, ptx_link() has taken or freed the inputs */
    link->failed = true;
    ptx_free(sim_memory(), whole);
    bool *used = result == CUDA_SUCCESS ? kiln__calloc(sim_memory(), count, sizeof *used) : NULL;
    for (size_t k = 0; used && k < count; k++)
        used[k] = link->inputs[k].used;
    if (used)
        link->image = sim_image_write(&link->texts, used, &length);
    kiln__free(sim_memory(), used);
    if (result == CUDA_SUCCESS && !link->image)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        link->failed = false;
        *image = link->image;
        if (size)
            *size = length;
    }
    return write_logs(context, link, &log, start, result);
}

CUresult sim_cuLinkDestroy(CUlinkState state)
{
    sim_context *context;
    CUresult result;
    sim_link *link = sim_begin_object(&context, state, SIM_LINK, &result);
    if (!link)
        return result;
    sim_link_drop(&link->object);
    sim_object_free(context, link);
    return sim_end(CUDA_SUCCESS);
}
