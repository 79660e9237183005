/* hash.c - hashes bytes with XXH3. */
#include <stdio.h>
#include <xxhash.h>

#include "base.h"

kiln__hash128 kiln__hash(const void *data, size_t length)
{
    XXH128_hash_t hash = XXH3_128bits(data, length);
    return (kiln__hash128){.low = hash.low64, .high = hash.high64};
}

void kiln__hash_print(kiln__hash128 hash, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
}
