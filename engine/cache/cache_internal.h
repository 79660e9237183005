/* cache_internal.h - declarations that the files of the cache share. */
#ifndef KILN_CACHE_INTERNAL_H
#define KILN_CACHE_INTERNAL_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "cache.h"

enum {
    KILN__CACHE_ID = 32,           /* hexadecimal digits in the name of an entry */
    KILN__CACHE_LABEL_MAX = 65536, /* largest number of bytes of a label */
};
/* The largest number of bytes of an entry. */
#define KILN__CACHE_ENTRY_MAX ((uint64_t)1 << 30)
#define KILN__CACHE_TEMP ".tmp-" /* stands after the id in the name of a file that is being written */

/* An open cache. After opening only the atomics change. */
struct kiln__cache {
    const kiln_allocator *mem;
    kiln__log log;
    char *folder;
    int fd;    /* descriptor of FOLDER/v1; -1 means that the cache is off */
    bool fast; /* entries are not synced */
    atomic_bool writable;
    atomic_bool warned;
    atomic_uint serial; /* makes temporary names unique */
    atomic_uint_least64_t hits, misses;
};

/* The parts of an entry in the order of the file. Labels come first, so that a listing reads only the beginning of a
 * file. */
#define KILN__CACHE_PARTS(X) X(source) X(arch) X(compiler) X(options) X(cubin) X(ptx) X(lowered) X(log) X(material)
enum {
#define KILN_X(name) KILN__PART_##name,
    KILN__CACHE_PARTS(KILN_X)
#undef KILN_X
        KILN__CACHE_PART_COUNT
};

/* The header of an entry, as in the file. */
typedef struct kiln__cache_header {
    char magic[8];
    uint32_t version, order; /* `order` has another value on a machine with another byte order */
    uint64_t total;          /* size of the file including the checksum */
    uint64_t text_at, text_length;
    uint64_t length[KILN__CACHE_PART_COUNT];
    uint64_t spare[2]; /* zero */
} kiln__cache_header;

/* Checks the header and computes the offset of each part. It needs only the first bytes of a file. Returns false if
 * the header is not valid for a file of `total` bytes. */
bool kiln__cache_header_check(const void *data, size_t length, uint64_t total, kiln__cache_header *header,
                              uint64_t *offsets);
/* Returns an entry as bytes, or NULL if memory runs out or a part is too large. The caller frees it. */
char *kiln__cache_entry_make(const kiln_allocator *mem, const kiln__cache_key *key, const kiln__unit *unit,
                             size_t *length);
void kiln__cache_id(const kiln__cache_key *key, char id[KILN__CACHE_ID + 1]);
bool kiln__cache_is_id(const char *name, size_t length);

/* Opens an entry for reading if it can be trusted: a regular file that belongs to the effective user and that nobody
 * else may write. Returns -1 otherwise; errno is then 0 if the file was opened and cannot be trusted. */
int kiln__cache_open_entry(const kiln__cache *cache, const char *id, struct stat *info);
/* Reads the first `length` bytes. Returns false on an error, or if there are fewer. */
bool kiln__cache_read(int fd, void *data, size_t length);
/* Removes the entry if its name still belongs to the file that `info` describes. Returns true if it was removed. */
bool kiln__cache_remove(const kiln__cache *cache, const char *name, const struct stat *info);
/* Logs a warning, once for each cache object. */
void kiln__cache_warn(kiln__cache *cache, const char *format, ...) KILN__PRINTF(2, 3);

#endif
