/* nvjitlink.c - libnvJitLink.so.13 for the simulated device. It links PTX and files with PTX (fat binaries, host
 * objects, libraries) to an image for the simulated driver. NVIDIA's library makes a cubin instead. Programs that load
 * the library at run time (cuda.core, Numba) use it. The library has the functions of nvJitLink.h, a header that the
 * build does not need. For LTO-IR this library calls NVIDIA's library ($KILN_NVJITLINK, or the library of the toolkit),
 * which compiles the LTO-IR to PTX. */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu_image.h"
#include "vm.h"

/* The values of nvJitLinkResult in nvJitLink.h. */
typedef enum result {
    SUCCESS,
    UNRECOGNIZED_OPTION,
    MISSING_ARCH,
    INVALID_INPUT,
    PTX_COMPILE,
    NVVM_COMPILE,
    INTERNAL,
    THREADPOOL,
    UNRECOGNIZED_INPUT,
    FINALIZE,
    NULL_INPUT,
    INCOMPATIBLE_OPTIONS,
    INCORRECT_INPUT_TYPE
} result;
enum {
    INPUT_CUBIN = 1,
    INPUT_PTX,
    INPUT_LTOIR,
    INPUT_FATBIN,
    INPUT_OBJECT,
    INPUT_LIBRARY,
    INPUT_INDEX,
    INPUT_ANY = 10
};
enum { MAJOR = 13, MINOR = 0 };

/* The functions of NVIDIA's library that this file calls. */
typedef struct compiler {
    void *library, *link;
    result (*create)(void **, uint32_t, const char **);
    result (*destroy)(void **);
    result (*add)(void *, int, const void *, size_t, const char *);
    result (*complete)(void *);
    result (*ptx_size)(void *, size_t *);
    result (*ptx)(void *, char *);
    result (*log_size)(void *, size_t *);
    result (*log)(void *, char *);
} compiler;

typedef struct jit_link {
    int cc; /* * compute capability, such as 90 * */
    char **options;
    uint32_t option_count;
    compiler lto; /* the library that compiles LTO-IR */
    unsigned added;
    sim_texts texts;
    kiln__text errors;
    unsigned char *image; /* the linked image, or NULL until the link is complete */
    size_t length;
} jit_link;

#define API(name) __attribute__((visibility("default"))) name

result API(nvJitLinkCreate)(jit_link **handle, uint32_t count, const char **options);
result API(nvJitLinkDestroy)(jit_link **handle);
result API(nvJitLinkAddData)(jit_link *link, int type, const void *data, size_t size, const char *name);
result API(nvJitLinkAddFile)(jit_link *link, int type, const char *path);
result API(nvJitLinkComplete)(jit_link *link);
result API(nvJitLinkGetLinkedCubinSize)(jit_link *link, size_t *size);
result API(nvJitLinkGetLinkedCubin)(jit_link *link, void *image);
result API(nvJitLinkGetLinkedPtxSize)(jit_link *link, size_t *size);
result API(nvJitLinkGetLinkedPtx)(jit_link *link, char *ptx);
result API(nvJitLinkGetErrorLogSize)(jit_link *link, size_t *size);
result API(nvJitLinkGetErrorLog)(jit_link *link, char *log);
result API(nvJitLinkGetInfoLogSize)(jit_link *link, size_t *size);
result API(nvJitLinkGetInfoLog)(jit_link *link, char *log);
result API(nvJitLinkVersion)(unsigned *major, unsigned *minor);

/* ---- LTO-IR, which NVIDIA's library compiles ---- */

static bool symbol(const compiler *c, const char *name, void *function)
{
    void *found = dlsym(c->library, name);
    memcpy(function, &found, sizeof found); /* POSIX allows storing a function pointer in a data pointer */
    return found;
}

static void lto_close(compiler *c)
{
    if (c->link)
        c->destroy(&c->link);
    if (c->library)
        dlclose(c->library);
    *c = (compiler){0};
}

static bool lto_library(compiler *c)
{
    static const char *const variables[] = {"KILN_NVJITLINK", "CUDA_HOME", "CUDA_PATH"};
    static const char *const endings[] = {"", "/lib64/libnvJitLink.so.13", "/lib64/libnvJitLink.so.13"};
    char path[PATH_MAX];
    for (size_t i = 0; i < KILN__COUNT(variables) && !c->library; i++) {
        const char *value = getenv(variables[i]);
        if (value && (size_t)snprintf(path, sizeof path, "%s%s", value, endings[i]) < sizeof path)
            c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!c->library)
        c->library = dlopen("/usr/local/cuda/lib64/libnvJitLink.so.13", RTLD_NOW | RTLD_LOCAL);
    return c->library && symbol(c, "nvJitLinkCreate", &c->create) && symbol(c, "nvJitLinkDestroy", &c->destroy) &&
           symbol(c, "nvJitLinkAddData", &c->add) && symbol(c, "nvJitLinkComplete", &c->complete) &&
           symbol(c, "nvJitLinkGetLinkedPtxSize", &c->ptx_size) && symbol(c, "nvJitLinkGetLinkedPtx", &c->ptx) &&
           symbol(c, "nvJitLinkGetErrorLogSize", &c->log_size) && symbol(c, "nvJitLinkGetErrorLog", &c->log);
}

/* Adds the log of NVIDIA's library to the log of this link. */
static result lto_result(jit_link *link, result got)
{
    size_t size = 0;
    char *log = NULL;
    if (got != SUCCESS && link->lto.log_size(link->lto.link, &size) == SUCCESS && size > 1 &&
        (log = kiln__calloc(NULL, size + 1, 1)) != NULL && link->lto.log(link->lto.link, log) == SUCCESS)
        kiln__text_puts(&link->errors, log);
    kiln__free(NULL, log);
    return got;
}

static result lto_open(jit_link *link)
{
    if (!lto_library(&link->lto)) {
        lto_close(&link->lto);
        kiln__text_puts(&link->errors, "error   : LTO-IR needs NVIDIA's libnvJitLink.so.13, which was not found: set "
                                       "KILN_NVJITLINK to it\n");
        return NVVM_COMPILE;
    }
    const char **options = kiln__calloc(NULL, (size_t)link->option_count + 2, sizeof *options);
    uint32_t count = 0;
    if (!options)
        return INTERNAL;
    for (uint32_t i = 0; i < link->option_count; i++)
        if (strcmp(link->options[i], "-lto") != 0 && strcmp(link->options[i], "-ptx") != 0)
            options[count++] = link->options[i];
    options[count++] = "-lto";
    options[count++] = "-ptx";
    result got = link->lto.create(&link->lto.link, count, options);
    kiln__free(NULL, options);
    if (got != SUCCESS) {
        link->lto.link = NULL;
        lto_close(&link->lto);
    }
    return got;
}

static result lto_add(jit_link *link, const void *data, size_t size, const char *name)
{
    result got = link->lto.link ? SUCCESS : lto_open(link);
    return got == SUCCESS ? lto_result(link, link->lto.add(link->lto.link, INPUT_LTOIR, data, size, name)) : got;
}

/* Compiles all LTO-IR to PTX, and adds the PTX as one more text. */
static result lto_complete(jit_link *link)
{
    size_t size = 0;
    result got = lto_result(link, link->lto.complete(link->lto.link));
    if (got == SUCCESS)
        got = lto_result(link, link->lto.ptx_size(link->lto.link, &size));
    char *ptx = got == SUCCESS ? kiln__calloc(NULL, size + 1, 1) : NULL;
    if (got == SUCCESS && !ptx)
        got = INTERNAL;
    if (got == SUCCESS)
        got = lto_result(link, link->lto.ptx(link->lto.link, ptx));
    if (got == SUCCESS && !sim_texts_add(&link->texts, ptx, strlen(ptx), "<lto>", false))
        got = INTERNAL;
    kiln__free(NULL, ptx);
    lto_close(&link->lto);
    return got;
}

/* ---- the functions ---- */

result nvJitLinkDestroy(jit_link **handle)
{
    if (!handle || !*handle)
        return NULL_INPUT;
    for (uint32_t i = 0; (*handle)->options && i < (*handle)->option_count; i++)
        kiln__free(NULL, (*handle)->options[i]);
    kiln__free(NULL, (*handle)->options);
    lto_close(&(*handle)->lto);
    kiln__text_free(&(*handle)->errors);
    sim_texts_free(&(*handle)->texts);
    kiln__free(NULL, (*handle)->image);
    kiln__free(NULL, *handle);
    *handle = NULL;
    return SUCCESS;
}

/* The options must include one such as -arch=sm_90. The function accepts options for optimisation, which have no
 * effect. */
result nvJitLinkCreate(jit_link **handle, uint32_t count, const char **options)
{
    int cc = 0;
    if (!handle || (count > 0 && !options))
        return NULL_INPUT;
    *handle = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!options[i])
            return NULL_INPUT;
        if (options[i][0] != '-')
            return UNRECOGNIZED_OPTION;
        if (strncmp(options[i], "-arch=sm_", 9) == 0 || strncmp(options[i], "-arch=compute_", 14) == 0)
            cc = atoi(strchr(options[i], '_') + 1);
    }
    if (cc <= 0)
        return MISSING_ARCH;
    jit_link *link = kiln__calloc(NULL, 1, sizeof *link);
    if (!link)
        return INTERNAL;
    link->cc = cc;
    link->options = kiln__calloc(NULL, (size_t)count + 1, sizeof *link->options);
    for (uint32_t i = 0; link->options && i < count; i++, link->option_count++)
        if (!(link->options[i] = kiln__strdup(NULL, options[i])))
            break;
    *handle = link;
    if (link->option_count == count)
        return SUCCESS;
    nvJitLinkDestroy(handle);
    return INTERNAL;
}

static result image_result(sim_image_result from)
{
    switch (from) {
    case SIM_IMAGE_OK: return SUCCESS;
    case SIM_IMAGE_INVALID:
    case SIM_IMAGE_NO_BINARY: return INVALID_INPUT;
    case SIM_IMAGE_MEMORY: break;
    }
    return INTERNAL;
}

result nvJitLinkAddData(jit_link *link, int type, const void *data, size_t size, const char *name)
{
    char own[32];
    if (!link || !data)
        return NULL_INPUT;
    if (link->image || size == 0 || (type != INPUT_ANY && (type < INPUT_CUBIN || type > INPUT_INDEX)))
        return INVALID_INPUT;
    snprintf(own, sizeof own, "<input %u>", ++link->added);
    name = name && *name ? name : own;
    if (type == INPUT_LTOIR)
        return lto_add(link, data, size, name);
    if (type == INPUT_INDEX) {
        kiln__text_printf(&link->errors, "error   : '%s' is an index, which is not supported\n", name);
        return INVALID_INPUT;
    }
    sim_image_result got = sim_image_read(&link->texts, data, size, name, link->cc, &link->errors);
    /* the function ignores this error, because the linker reports missing symbols later */
    if (got == SIM_IMAGE_NO_BINARY && type == INPUT_LIBRARY)
        return SUCCESS;
    return image_result(got);
}

result nvJitLinkAddFile(jit_link *link, int type, const char *path)
{
    char *data;
    size_t length;
    kiln_error *error = NULL;
    if (!link || !path)
        return NULL_INPUT;
    if (kiln__file_read(NULL, path, 0, &data, &length, &error) != KILN_OK) {
        kiln__text_printf(&link->errors, "error   : %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return INVALID_INPUT;
    }
    result got = nvJitLinkAddData(link, type, data, length, path);
    kiln__free(NULL, data);
    return got;
}

/* The function first compiles LTO-IR, and adds the PTX to the texts. Then it parses and links every text, only to
 * report errors and to learn which inputs are used. The image contains the texts, and the driver links them again. */
result nvJitLinkComplete(jit_link *link)
{
    if (!link)
        return NULL_INPUT;
    result compiled = link->lto.link && !link->image ? lto_complete(link) : SUCCESS;
    size_t count = link->texts.count, parsed = 0;
    if (compiled != SUCCESS || link->image || count == 0)
        return compiled != SUCCESS ? compiled : INVALID_INPUT;
    ptx_input *inputs = kiln__calloc(NULL, count, sizeof *inputs);
    bool *used = kiln__calloc(NULL, count, sizeof *used);
    ptx_module *whole = NULL;
    ptx_result got = inputs && used ? PTX_OK : PTX_MEMORY;
    while (got == PTX_OK && parsed < count) {
        const sim_text *text = &link->texts.items[parsed];
        inputs[parsed] = (ptx_input){.name = text->name, .lazy = text->lazy};
        got = ptx_parse(NULL, text->data, text->length, &inputs[parsed].module, &link->errors);
        parsed += got == PTX_OK;
    }
    if (got == PTX_OK)
        got = ptx_link(NULL, inputs, (uint32_t)count, vm_is_builtin, &whole, &link->errors);
    else
        for (size_t k = 0; k < parsed; k++)
            ptx_free(NULL, inputs[k].module);
    ptx_free(NULL, whole);
    for (size_t k = 0; got == PTX_OK && k < count; k++)
        used[k] = inputs[k].used;
    if (got == PTX_OK)
        link->image = sim_image_write(&link->texts, used, &link->length);
    kiln__free(NULL, inputs);
    kiln__free(NULL, used);
    return got != PTX_OK ? PTX_COMPILE : link->image ? SUCCESS : INTERNAL;
}

result nvJitLinkGetLinkedCubinSize(jit_link *link, size_t *size)
{
    if (!link || !size)
        return NULL_INPUT;
    *size = link->length;
    return link->image ? SUCCESS : FINALIZE;
}

result nvJitLinkGetLinkedCubin(jit_link *link, void *image)
{
    if (!link || !image)
        return NULL_INPUT;
    if (!link->image)
        return FINALIZE;
    memcpy(image, link->image, link->length);
    return SUCCESS;
}

/* Programs call this function after the options -lto -ptx. This library does not support these two options, and always
 * makes an image. */
result nvJitLinkGetLinkedPtxSize(jit_link *link, size_t *size)
{
    return link && size ? INCOMPATIBLE_OPTIONS : NULL_INPUT;
}

result nvJitLinkGetLinkedPtx(jit_link *link, char *ptx) { return link && ptx ? INCOMPATIBLE_OPTIONS : NULL_INPUT; }

result nvJitLinkGetErrorLogSize(jit_link *link, size_t *size)
{
    if (!link || !size)
        return NULL_INPUT;
    *size = link->errors.length + 1;
    return SUCCESS;
}

result nvJitLinkGetErrorLog(jit_link *link, char *log)
{
    if (!link || !log)
        return NULL_INPUT;
    memcpy(log, kiln__text_get(&link->errors), link->errors.length + 1);
    return SUCCESS;
}

result nvJitLinkGetInfoLogSize(jit_link *link, size_t *size)
{
    if (!link || !size)
        return NULL_INPUT;
    *size = 1;
    return SUCCESS;
}

result nvJitLinkGetInfoLog(jit_link *link, char *log)
{
    if (!link || !log)
        return NULL_INPUT;
    *log = '\0';
    return SUCCESS;
}

result nvJitLinkVersion(unsigned *major, unsigned *minor)
{
    if (!major || !minor)
        return NULL_INPUT;
    *major = MAJOR;
    *minor = MINOR;
    return SUCCESS;
}

/* The names to which nvJitLink.h of CUDA 13.0 maps these functions. */
#define VERSIONED(name) extern __typeof__(name) __##name##_13_0 __attribute__((alias(#name), visibility("default")));
VERSIONED(nvJitLinkCreate)
VERSIONED(nvJitLinkDestroy)
VERSIONED(nvJitLinkAddData)
VERSIONED(nvJitLinkAddFile)
VERSIONED(nvJitLinkComplete)
VERSIONED(nvJitLinkGetLinkedCubinSize)
VERSIONED(nvJitLinkGetLinkedCubin)
VERSIONED(nvJitLinkGetLinkedPtxSize)
VERSIONED(nvJitLinkGetLinkedPtx)
VERSIONED(nvJitLinkGetErrorLogSize)
VERSIONED(nvJitLinkGetErrorLog)
VERSIONED(nvJitLinkGetInfoLogSize)
VERSIONED(nvJitLinkGetInfoLog)
