/* calls.c - writes calls of the functions that the device defines, and the instructions of the stack. The operands of
 * these depend on earlier instructions. */
#include <stdio.h>
#include <string.h>

#include "hostile.h"
#include "vm_runtime.h"

typedef struct runtime_row {
    const char *name, *parameters;
    unsigned result;
} runtime_row;
enum {
#define X(name, text, result, parameters) ROW_##name,
    VM_RUNTIME_MAP(X)
#undef X
        ROWS
};
static const runtime_row rows[ROWS] = {
#define X(name, text, result, parameters) {text, parameters, result},
    VM_RUNTIME_MAP(X)
#undef X
};

static const char *const kinds[ROWS] = {
#define HOSTILE_BUILTIN(name, result, parameters, letters)
#define HOSTILE_RUNTIME(name, letters) [ROW_##name] = letters,
#include "functions.def"
#undef HOSTILE_BUILTIN
#undef HOSTILE_RUNTIME
};

static const hostile_function builtins[] = {
#define HOSTILE_BUILTIN(name, result, parameters, letters) {name, parameters, letters, result},
#define HOSTILE_RUNTIME(name, letters)
#include "functions.def"
#undef HOSTILE_BUILTIN
#undef HOSTILE_RUNTIME
};
enum { BUILTINS = sizeof builtins / sizeof *builtins };

unsigned hostile_function_count(void) { return BUILTINS + ROWS; }

const hostile_function *hostile_function_at(unsigned index)
{
    static hostile_function one[ROWS];
    static char names[ROWS][80];
    if (index < BUILTINS)
        return &builtins[index];
    index -= BUILTINS;
    snprintf(names[index], sizeof names[index], "cuda%s", rows[index].name);
    one[index] = (hostile_function){names[index], rows[index].parameters, kinds[index], rows[index].result};
    return &one[index];
}

static unsigned size_of(char kind)
{
    return kind == 'c' ? 12 : kind == 'e' ? 24 : kind == 'p' ? 32 : (unsigned)(kind - '0');
}

/* Writes the declaration of a parameter: ".param .b64 NAME" or ".param .align 8 .b8 NAME[24]". */
static void write_parameter(kiln__text *out, char kind, const char *name, unsigned n)
{
    if (kind == '8' || kind == '4')
        kiln__text_printf(out, ".param .b%u %s%u", size_of(kind) * 8, name, n);
    else
        kiln__text_printf(out, ".param .align %u .b8 %s%u[%u]", kind == 'c' ? 4 : 8, name, n, size_of(kind));
}

static void write_function(hostile_source *s, hostile_kernel *kernel, kiln__text *code, kiln__text *declarations)
{
    const hostile_function *f = hostile_function_at(kernel->function);
    const size_t count = strlen(f->parameters);
    kernel->frame = true;
    kernel->buffer = strchr(f->kinds, 'u') != NULL;
    kernel->heap = strchr(f->kinds, 'M') != NULL;
    if (kernel->heap && strcmp(f->name, "malloc") != 0)
        kiln__text_puts(declarations, ".extern .func (.param .b64 r) malloc (.param .b64 n);\n");
    if (kernel->buffer)
        kiln__text_puts(declarations, ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2 (.param .b64 f, "
                                      ".param .align 4 .b8 x[12], .param .align 4 .b8 y[12], .param .b32 n);\n");
    kiln__text_puts(declarations, ".extern .func ");
    if (f->result)
        kiln__text_printf(declarations, "(.param .b%u r) ", f->result * 8);
    kiln__text_printf(declarations, "%s (", f->name);
    for (unsigned k = 0; k < count; k++) {
        kiln__text_puts(declarations, k ? ", " : "");
        write_parameter(declarations, f->parameters[k], "a", k);
    }
    kiln__text_puts(declarations, ");\n");
    kiln__text_puts(code, "{\n");
    if (f->result)
        kiln__text_printf(code, ".param .b%u r;\n", f->result * 8);
    for (unsigned k = 0; k < count; k++) {
        const char kind = f->parameters[k];
        const unsigned bytes = size_of(kind), word = kind == '8' || kind == 'p' || kind == 'e' ? 8 : 4;
        write_parameter(code, kind, "a", k);
        kiln__text_puts(code, ";\n");
        for (unsigned at = 0; at < bytes; at += word) {
            const unsigned n = hostile_add_operand(kernel, f->kinds[k], word);
            kiln__text_printf(code, "st.param.b%u [a%u+%u], %%%s%u;\n", word * 8, k,
                              hostile_chance(s, 1) ? hostile_below(s, 4096) : at, word == 8 ? "d" : "w", n);
        }
    }
    kiln__text_printf(code, "@%%go call %s%s, (", f->result ? "(r), " : "", f->name);
    for (unsigned k = 0; k < count; k++)
        kiln__text_printf(code, k ? ", a%u" : "a%u", k);
    kiln__text_puts(code, ");\n");
    if (f->result)
        kiln__text_printf(code, "ld.param.b%u %%R%s0, [r];\n", f->result * 8, f->result == 8 ? "d" : "w");
    if (strcmp(f->name, "malloc") == 0) /* its result is used, and may be freed twice */
        kiln__text_puts(code, "setp.ne.u64 %own, %Rd0, 0;\n@%own st.u8 [%Rd0], 1;\n");
    kiln__text_puts(code, "}\n");
}

void hostile_write_call(hostile_source *s, hostile_kernel *kernel, kiln__text *code, kiln__text *declarations)
{
    static const char *const aligns[] = {"", ", 8", ", 16", ", 128", ", 4096"};
    if (kernel->op == PTX_OP_CALL) {
        write_function(s, kernel, code, declarations);
        return;
    }
    const bool restore = kernel->op == PTX_OP_STACKRESTORE;
    const unsigned n = hostile_add_operand(kernel, restore ? 'e' : 'z', 8);
    const char *align = aligns[hostile_below(s, KILN__COUNT(aligns))];
    kiln__text_puts(code, "stacksave.u64 %sp;\n");
    if (restore)
        kiln__text_printf(code, "@%%go stackrestore.u64 %%d%u;\nalloca.u64 %%Rd0, 64%s;\n", n, align);
    else
        kiln__text_printf(code, "alloca.u64 %%Rd0, %%d%u%s;\n", n, align);
    kiln__text_printf(code,
                      "@%%go st.local.u32 [%%Rd0], %%v1;\nadd.u64 %%u4, %%Rd0, %%d%u;\n@%%go ld.local.u32 %%Rw0, "
                      "[%%u4+-4];\nstacksave.u64 %%Rd1;\nstackrestore.u64 %%sp;\n",
                      n);
}
