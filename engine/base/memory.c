/* memory.c - allocates through the caller's allocator, and in arenas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

void *kiln__realloc(const kiln_allocator *mem, void *pointer, size_t size)
{
    if (size == 0)
        size = 1;
    return mem ? mem->resize(mem->user, pointer, size) : realloc(pointer, size);
}

void *kiln__alloc(const kiln_allocator *mem, size_t size) { return kiln__realloc(mem, NULL, size); }

void *kiln__calloc(const kiln_allocator *mem, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    if (!mem) /* calloc does not need to write pages that are already zero */
        return calloc(count ? count : 1, size ? size : 1);
    void *pointer = kiln__alloc(mem, count * size);
    if (pointer)
        memset(pointer, 0, count * size);
    return pointer;
}

void kiln__free(const kiln_allocator *mem, void *pointer)
{
    if (!pointer)
        return;
    if (mem)
        mem->resize(mem->user, pointer, 0);
    else
        free(pointer);
}

char *kiln__strdup(const kiln_allocator *mem, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = kiln__alloc(mem, size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

bool kiln__grow(const kiln_allocator *mem, void *array, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity ? *capacity : 8;
    while (wanted < need) {
        if (wanted > SIZE_MAX / 2)
            return false;
        wanted *= 2;
    }
    if (wanted > SIZE_MAX / size)
        return false;
    void *old;
    /* `array` is a T**, which the function copies as bytes to respect the aliasing rules */
    memcpy(&old, array, sizeof old);
    void *grown = kiln__realloc(mem, old, wanted * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

struct kiln__block {
    struct kiln__block *next;
    size_t used, size;
    max_align_t data[];
};

/* Returns zeroed memory that is aligned for any type. The memory comes from the newest block, or from a new block. A
 * new block is twice as large as the last block, up to 1 MiB. If memory runs out, the function sets arena->failed and
 * returns NULL. */
void *kiln__arena_alloc(kiln__arena *arena, size_t size)
{
    const size_t align = sizeof(max_align_t);
    if (size > SIZE_MAX - sizeof(struct kiln__block) - align) {
        arena->failed = true;
        return NULL;
    }
    size = (size + align - 1) / align * align;
    struct kiln__block *block = arena->blocks;
    if (!block || block->size - block->used < size) {
        size_t room = block ? block->size * 2 : 1024;
        if (room > (size_t)1 << 20)
            room = (size_t)1 << 20;
        if (room < size)
            room = size;
        struct kiln__block *fresh = kiln__alloc(arena->mem, sizeof *fresh + room);
        if (!fresh) {
            arena->failed = true;
            return NULL;
        }
        fresh->next = block;
        fresh->used = 0;
        fresh->size = room;
        arena->blocks = block = fresh;
    }
    char *pointer = (char *)block->data + block->used;
    block->used += size;
    memset(pointer, 0, size);
    return pointer;
}

char *kiln__arena_strndup(kiln__arena *arena, const char *text, size_t length)
{
    char *copy = kiln__arena_alloc(arena, length + 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

char *kiln__arena_strdup(kiln__arena *arena, const char *text)
{
    return kiln__arena_strndup(arena, text, strlen(text));
}

char *kiln__arena_printf(kiln__arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = kiln__vformat(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : kiln__arena_alloc(arena, (size_t)length + 1);
    if (text) {
        va_start(arguments, format);
        kiln__vformat(text, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    return text;
}

void kiln__arena_join(kiln__arena *to, kiln__arena *from)
{
    struct kiln__block **last = &to->blocks;
    while (*last)
        last = &(*last)->next;
    *last = from->blocks;
    from->blocks = NULL;
}

void kiln__arena_free(kiln__arena *arena)
{
    struct kiln__block *block = arena->blocks;
    while (block) {
        struct kiln__block *next = block->next;
        kiln__free(arena->mem, block);
        block = next;
    }
    arena->blocks = NULL;
    arena->failed = false;
}
