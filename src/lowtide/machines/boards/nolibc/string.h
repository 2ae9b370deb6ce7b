/* For compilers without a C library, to compile only: what generated code uses of <string.h>. */
#ifndef LOWTIDE_NOLIBC_STRING_H
#define LOWTIDE_NOLIBC_STRING_H
#include <stddef.h>
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
#endif
