/* cache_internal.h - declarations that the files of the cache share. */
#ifndef KILN_CACHE_INTERNAL_H
#define KILN_CACHE_INTERNAL_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "cache.h"

enum {
    KILN__CACHE_ID = 32,           /* number of hexadecimal digits in the name of an entry */
    KILN__CACHE_LABEL_MAX = 65536, /* largest number of bytes of a label */
};
/* The largest number of bytes of an entry. */
#define KILN__CACHE_ENTRY_MAX ((uint64_t)1 << 30)
#define KILN__CACHE_TEMP ".tmp-" /* follows the id in the name of a file that is being written */

/* An open cache. After opening, only its atomic members change. */
struct kiln__cache {
    const kiln_allocator *mem;
    kiln__log log;
    char *folder;
    int fd;    /* descriptor of the folder FOLDER/v1, or -1 if the cache is off */
    bool fast; /* entries are not synced before they are renamed */
    atomic_bool writable;
    atomic_bool warned;
    atomic_uint serial; /* a counter that makes temporary names unique */
    atomic_uint_least64_t hits, misses;
};

/* The parts of an entry, in their order in the file. Labels come first, so that a listing reads only the beginning of a
 * file. */
#define KILN__CACHE_PARTS(X) X(source) X(arch) X(compiler) X(options) X(cubin) X(ptx) X(lowered) X(log) X(material)
enum {
#define KILN_X(name) KILN__PART_##name,
    KILN__CACHE_PARTS(KILN_X)
#undef KILN_X
        KILN__CACHE_PART_COUNT
};

/* The header of an entry, with the layout of the file. */
typedef struct kiln__cache_header {
    char magic[8];
    uint32_t version, order; /* the value of `order` looks different on a machine with another byte order */
    uint64_t total;          /* size of the file in bytes, including the checksum */
    uint64_t text_at, text_length;
    uint64_t length[KILN__CACHE_PART_COUNT];
    uint64_t spare[2]; /* zero */
} kiln__cache_header;

/* Checks the header of an entry and computes the offset of each part. The function needs only the first bytes of the
 * file. Returns false if the header is not valid for a file of `total` bytes. */
bool kiln__cache_header_check(const void *data, size_t length, uint64_t total, kiln__cache_header *header,
                              uint64_t *offsets);
/* Encodes an entry as bytes and returns them. Returns NULL if memory runs out or a part is too large. The caller frees
 * the bytes. */
char *kiln__cache_entry_make(const kiln_allocator *mem, const kiln__cache_key *key, const kiln__unit *unit,
                             size_t *length);
void kiln__cache_id(const kiln__cache_key *key, char id[KILN__CACHE_ID + 1]);
bool kiln__cache_is_id(const char *name, size_t length);

/* Opens an entry for reading if it can be trusted: it must be a regular file that belongs to the effective user and
 * that no other user may write. If it cannot, returns -1. errno is then 0 if the file was opened but cannot be
 * trusted. */
int kiln__cache_open_entry(const kiln__cache *cache, const char *id, struct stat *info);
/* Reads the first `length` bytes of a file. Returns false after an error, or if the file is shorter. */
bool kiln__cache_read(int fd, void *data, size_t length);
/* Removes the file `name` if it is still the file that `info` describes. Returns true if the function removed the
 * file. */
bool kiln__cache_remove(const kiln__cache *cache, const char *name, const struct stat *info);
/* Logs a warning, but only the first warning of each cache object. */
void kiln__cache_warn(kiln__cache *cache, const char *format, ...) KILN__PRINTF(2, 3);

#endif
