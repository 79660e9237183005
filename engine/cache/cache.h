/* cache.h - the on-disk store of compiled code. Knows nothing of NVRTC.
 *
 * An entry can never be wrong: the key material (everything that determines the bytes) is hashed to the entry's name,
 * stored completely in the entry and compared on every read; the payload has a checksum; writes are temp file, fsync,
 * rename. An entry that is incomplete, damaged, of another format or not trusted is a miss. Threads and processes may
 * use one folder at once. */
#ifndef KILN_CACHE_H
#define KILN_CACHE_H

#include "base.h"

typedef struct kiln__cache kiln__cache;

/* Opens the folder; creates it if it is missing. With a folder that cannot be used (read-only, not ours, group- or
 * world-writable, full) the cache is read-only if that is safe, and off otherwise; `log` gets one warning. Fails only
 * for lack of memory. */
kiln_status kiln__cache_open(const kiln_allocator *mem, const char *folder, const kiln__log *log, kiln__cache **cache,
                             kiln_error **error);
void kiln__cache_close(kiln__cache *cache);
const char *kiln__cache_folder(const kiln__cache *cache);
bool kiln__cache_is_writable(const kiln__cache *cache); /* false for a folder that was refused, too */

/* Everything that determines the bytes. `material` is hashed, stored and compared; the other fields are for listings
 * and must be derivable from it. */
typedef struct kiln__cache_key {
    const void *material;
    size_t length;
    const char *source, *arch, *compiler, *options; /* labels */
    size_t text_at, text_length;                    /* the source text within the material, for `show`; 0, 0: unknown */
} kiln__cache_key;

/* A compiled unit. ptx is NUL-terminated text; either of ptx and cubin may be absent (NULL, 0). `lowered` holds the
 * names of the kernels: "spec name\0symbol\0" pairs. */
typedef struct kiln__unit {
    const char *ptx;
    size_t ptx_length;
    const void *cubin;
    size_t cubin_length;
    const char *lowered;
    size_t lowered_length;
    const char *log;
    size_t log_length;
    void *block; /* holds all of these; freed by kiln__unit_free */
    const kiln_allocator *mem;
} kiln__unit;
void kiln__unit_free(kiln__unit *unit);

/* True on a hit. A damaged entry is removed if possible. */
bool kiln__cache_get(kiln__cache *cache, const kiln__cache_key *key, kiln__unit *unit);
void kiln__cache_put(kiln__cache *cache, const kiln__cache_key *key, const kiln__unit *unit);
void kiln__cache_counts(const kiln__cache *cache, uint64_t *hits, uint64_t *misses); /* of cache_get(), since opening */

kiln_status kiln__cache_list(kiln__cache *cache, bool verify, kiln_cache_fn each, void *user, kiln_error **error);
kiln_status kiln__cache_show(kiln__cache *cache, const char *id, kiln_cache_show_fn show, void *user,
                             kiln_error **error);
kiln_status kiln__cache_gc(kiln__cache *cache, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                           kiln_error **error);
/* Parses one entry in memory; for the fuzzer. False: not an entry. *unit and labels point into data. */
bool kiln__cache_entry_parse(const void *data, size_t length, kiln__cache_key *key, kiln__unit *unit);
#endif
