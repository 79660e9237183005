/* identity.c - computes the identity of a host function: a hash of the machine code of its object file, of libkiln and
 * of libm. The hash includes the processor's features by which libm chooses its functions. */
#include <link.h>
#include <math.h>
#include <string.h>
#include <sys/auxv.h>

#include "core_internal.h"

/* The objects whose code is hashed. An address inside each object identifies it. */
typedef struct hashed_code {
    uintptr_t addresses[3];
    kiln__hash128 hashes[3];
    bool found[3];
} hashed_code;

static bool holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

/* Hashes the parts of an object that do not change after loading: its code, its constants, and the linker's build id if
 * the object has one. These parts are already in memory, so the function opens no file, and it does not matter whether
 * the file was replaced. */
static kiln__hash128 hash_object(const struct dl_phdr_info *object)
{
    kiln__hash128 parts[2] = {{0}};
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || part->p_flags & PF_W || !(part->p_flags & PF_R))
            continue;
        const uintptr_t at = (uintptr_t)(object->dlpi_addr + part->p_vaddr);
        parts[1] = kiln__hash((const void *)at, (size_t)part->p_filesz);
        parts[0] = kiln__hash(parts, sizeof parts);
    }
    return parts[0];
}

static int hash_wanted(struct dl_phdr_info *object, size_t size, void *user)
{
    hashed_code *code = user;
    bool wanted = false;
    (void)size;
    for (size_t i = 0; i < KILN__COUNT(code->addresses); i++)
        wanted |= !code->found[i] && holds(object, code->addresses[i]);
    if (!wanted)
        return 0;
    const kiln__hash128 hash = hash_object(object);
    for (size_t i = 0; i < KILN__COUNT(code->addresses); i++)
        if (!code->found[i] && holds(object, code->addresses[i])) {
            code->hashes[i] = hash;
            code->found[i] = true;
        }
    return 0;
}

/* Returns the processor features on which the results of libm depend: libm has functions with and without fused
 * multiply-add. */
static unsigned long processor_features(void)
{
#if defined __x86_64__ || defined __i386__
    return (__builtin_cpu_supports("fma") ? 1u : 0u) | (__builtin_cpu_supports("avx2") ? 2u : 0u) |
           (__builtin_cpu_supports("avx512f") ? 4u : 0u);
#else
    return getauxval(AT_HWCAP);
#endif
}

bool kiln__host_identity(const kiln__host *host, kiln__hash128 *identity)
{
    double (*of_libm)(double) = exp;
    void (*of_kiln)(size_t, size_t, void (*)(void *, size_t, size_t), void *) = kiln__parallel;
    hashed_code code = {.addresses = {(uintptr_t)host->function, (uintptr_t)of_kiln, (uintptr_t)of_libm}};
    dl_iterate_phdr(hash_wanted, &code);
    const unsigned long features = processor_features();
    struct {
        kiln__hash128 code[3], features;
    } all = {.features = kiln__hash(&features, sizeof features)};
    memcpy(all.code, code.hashes, sizeof all.code);
    *identity = kiln__hash(&all, sizeof all);
    return code.found[0] && code.found[1] && code.found[2];
}
