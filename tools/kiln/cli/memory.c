/* memory.c - allocates memory of the command, which is freed when the command ends. The command lives briefly and has
 * few objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct block {
    struct block *next;
    max_align_t data[];
} block;
static block *blocks;

void *cli_alloc(size_t size)
{
    block *made = size < SIZE_MAX - sizeof *made ? calloc(1, sizeof *made + size) : NULL;
    if (!made) {
        fputs("kiln: out of host memory\n", stderr);
        exit(cli_exit_code(KILN_ERROR_MEMORY));
    }
    made->next = blocks;
    blocks = made;
    return made->data;
}

void *cli_mark(void) { return blocks; }

void cli_release(void *mark)
{
    while (blocks != mark) {
        block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

void cli_free_all(void) { cli_release(NULL); }

char *cli_strndup(const char *text, size_t length)
{
    char *made = cli_alloc(length + 1);
    memcpy(made, text, length);
    return made;
}

char *cli_vprintf(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    size_t room = length < 0 ? 1 : (size_t)length + 1;
    char *made = cli_alloc(room);
    if (length > 0)
        vsnprintf(made, room, format, again);
    va_end(again);
    return made;
}

char *cli_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *made = cli_vprintf(format, arguments);
    va_end(arguments);
    return made;
}

void cli_list_add(cli_list *list, const char *item)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 8;
        const char **items = cli_alloc(room * sizeof *items);
        if (list->count)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = item;
}
