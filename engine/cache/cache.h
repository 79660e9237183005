/* cache.h - the on-disk store of compiled code. Knows nothing of NVRTC.
 *
 * An entry can never be wrong: the key material (everything that determines the bytes) is hashed to the entry's name,
 * stored in the entry whole and compared on every read; the payload has a checksum; writes are temp file, fsync,
 * rename. A short, foreign, damaged or untrusted entry is a miss. Threads and processes may use one folder at once. */
#ifndef KILN_CACHE_H
#define KILN_CACHE_H

#include "base.h"

typedef struct kiln__cache kiln__cache;

/* Opens (makes) the folder. A folder that cannot be used (read-only, not ours, group- or world-writable, full) gives a
 * cache that degrades: reading where that is safe, else nothing; one warning goes to `log`. Never fails but for memory. */
kiln_status kiln__cache_open(const kiln_allocator *mem, const char *folder, const kiln__log *log, kiln__cache **cache,
                             kiln_error **error);
void kiln__cache_close(kiln__cache *cache);
const char *kiln__cache_folder(const kiln__cache *cache);

/* Everything that determines the bytes. `material` is what is hashed, stored and compared; the rest is for listings
 * and must be derivable from it. */
typedef struct kiln__cache_key {
    const void *material;
    size_t length;
    const char *source, *arch, *compiler, *options; /* labels */
    size_t text_at, text_length; /* where the source text stands in the material, for `show`; 0, 0: it is not said */
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
    void *block; /* what all of these point into; freed by kiln__unit_free */
    const kiln_allocator *mem;
} kiln__unit;
void kiln__unit_free(kiln__unit *unit);

/* True on a hit. A damaged entry is removed where that is allowed. */
bool kiln__cache_get(kiln__cache *cache, const kiln__cache_key *key, kiln__unit *unit);
void kiln__cache_put(kiln__cache *cache, const kiln__cache_key *key, const kiln__unit *unit);
void kiln__cache_counts(const kiln__cache *cache, uint64_t *hits, uint64_t *misses); /* of get, since open */

kiln_status kiln__cache_list(kiln__cache *cache, bool verify, kiln_cache_fn each, void *user, kiln_error **error);
kiln_status kiln__cache_show(kiln__cache *cache, const char *id, kiln_cache_show_fn show, void *user,
                             kiln_error **error);
kiln_status kiln__cache_gc(kiln__cache *cache, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                           kiln_error **error);
/* Parses one entry from memory; what the fuzzer calls. False: not an entry. *unit and labels point into data. */
bool kiln__cache_entry_parse(const void *data, size_t length, kiln__cache_key *key, kiln__unit *unit);
#endif
