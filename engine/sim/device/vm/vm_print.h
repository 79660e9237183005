/* vm_print.h - the printf of kernels: formats the text of one call from a format string and arguments in device
 * memory.
 *
 * A kernel may be hostile, and it chooses both the format and the arguments. So a format is parsed into fields with
 * bounds, and only these fields decide how an argument is written. The simulator never passes the kernel's format to a
 * format function of the host. The text, the time and the memory of one call are bounded. */
#ifndef KILN_SIM_VM_PRINT_H
#define KILN_SIM_VM_PRINT_H

#include "base.h"

enum {
    VM_PRINT_FIELD_MOST = 4096, /* a larger width or precision is replaced by this value */
    VM_PRINT_SPEC_MOST = 64,    /* the longest conversion in characters; a longer conversion is printed literally */
    /* CUDA's limit of arguments; a conversion that would take one more argument is printed literally */
    VM_PRINT_ARGUMENTS_MOST = 32,
    /* the limit of the text of one call in bytes; a longer text is cut, and a note in the text says so */
    VM_PRINT_OUTPUT_MOST = 1 << 16
};

/* Copies `bytes` bytes of the printing thread's memory. If the thread must not read these bytes, the function records a
 * fault and returns false. */
typedef bool vm_print_reader(void *user, uint64_t address, uint32_t bytes, void *to);

/* Adds the text of one call to `out`. `format` is the address of the format string. `arguments` is the address of the
 * arguments, in the form in which vprintf() of device code gets them: each argument is aligned to its size of 4 or 8
 * bytes. Sets `answer` to the result of the kernel's printf(): the number of arguments that were used, or -1 if
 * `format` is NULL. Returns false after a fault of the reader. `out` keeps the text that was written before the
 * fault. */
bool vm_print_format(vm_print_reader *read, void *user, uint64_t format, uint64_t arguments, kiln__text *out,
                     int *answer);

#endif
