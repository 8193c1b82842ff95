#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap_linux.h"

/* The engine's allocator is a jemalloc of its own, in this program, that gets all its memory by calling mmap. The mmap below takes the
   C library's place for it, and says no once the process is above a bound; the engine turns that into an error of the statement. See
   heap.go. (Hooks of jemalloc itself would be the other way: with them it crashed and hung, since its default ones are special.) */
extern int duckdb_je_mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
extern void *duckdb_je_malloc(size_t) __attribute__((weak));
extern void duckdb_je_free(void *) __attribute__((weak));

static atomic_long soft, hard; /* bytes that the process may have resident */
static atomic_long mapped;     /* bytes that the allocator has: it keeps its address space for ever */
static atomic_long refused;    /* how many requests were refused */
static atomic_long granted[gatehouse_heap_marks];
static atomic_long most; /* the largest of the instances' granted */

static __thread int own_engine = -1, own_statement;

#define THREAD_NAME "duckdb-"

/* engine returns the instance that this thread works for. Worker threads have it in their name, which they got from the thread that
   opened the instance. */
static int engine(void) {
	if (own_engine >= 0) return own_engine;
	char name[16] = "";
	int n = 0;
	if (prctl(PR_GET_NAME, name) == 0 && strncmp(name, THREAD_NAME, strlen(THREAD_NAME)) == 0) n = atoi(name + strlen(THREAD_NAME));
	return own_engine = n > 0 && n < gatehouse_heap_engines ? n : 0;
}

void gatehouse_heap_enter(int e, int statement) {
	own_engine = e;
	own_statement = statement;
}

/* gatehouse_heap_name names this thread after an instance; threads that it starts inherit the name. */
void gatehouse_heap_name(int e, char *before) {
	char name[16];
	prctl(PR_GET_NAME, before);
	snprintf(name, sizeof name, THREAD_NAME "%d", e);
	prctl(PR_SET_NAME, name);
	own_engine = e;
}

void gatehouse_heap_rename(const char *before) {
	prctl(PR_SET_NAME, before);
	own_engine = 0;
}

void gatehouse_heap_bounds(long s, long h) {
	atomic_store(&soft, s);
	atomic_store(&hard, h);
}

long gatehouse_heap_refused(void) { return atomic_load(&refused); }
long gatehouse_heap_granted(int mark) { return atomic_load(&granted[mark]); }

void gatehouse_heap_forget(int mark) {
	if (atomic_exchange(&granted[mark], 0) == 0 || mark >= gatehouse_heap_engines) return;
	long top = 0;
	for (int i = 1; i < gatehouse_heap_engines; i++) {
		long n = atomic_load(&granted[i]);
		if (n > top) top = n;
	}
	atomic_store(&most, top);
}

void gatehouse_heap_calm(void) {
	for (int i = 0; i < gatehouse_heap_engines; i++) atomic_store(&granted[i], 0);
	atomic_store(&most, 0);
}

/* gatehouse_heap_resident returns the bytes of the process that lie in memory, -1 if the kernel does not say. It may not allocate. */
long gatehouse_heap_resident(void) {
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (fd < 0) return -1;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0) return -1;
	text[n] = 0;
	const char *p = strchr(text, ' ');
	if (p == NULL) return -1;
	return atol(p) * sysconf(_SC_PAGESIZE);
}

/* allowed decides. The instance that got most lately gets nothing above the soft bound, nor address space above 5/4 of the hard one: what
   the allocator keeps for later it may touch without a word. Others get memory up to an eighth above the hard bound, so that they
   need not pay for it, and address space up to twice that. */
static bool allowed(long size, int e) {
	long top = atomic_load(&hard), low = atomic_load(&soft), have = atomic_load(&mapped);
	if (top == 0) return true;
	long now = gatehouse_heap_resident();
	if (size <= top && now <= low - size && have <= top + top / 4 - size) return true;
	bool largest = e != 0 && atomic_load(&granted[e]) + size >= atomic_load(&most);
	return !largest && size <= top / 8 && now <= top + top / 8 - size && have <= 2 * top - size;
}

static bool grant(long size) {
	int saved = errno, e = engine();
	bool yes = allowed(size, e);
	errno = saved;
	if (!yes) {
		atomic_fetch_add(&refused, 1);
		return false;
	}
	long n = atomic_fetch_add(&granted[e], size) + size;
	for (long m = atomic_load(&most); e != 0 && n > m && !atomic_compare_exchange_weak(&most, &m, n);) {
	}
	if (own_statement != 0) atomic_fetch_add(&granted[own_statement], size);
	return true;
}

/* ours reports whether a request is the allocator's. The Go runtime's and thread stacks do not look like that. */
static bool ours(int prot, int flags, int fd) {
	return prot == (PROT_READ | PROT_WRITE) && flags == (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE) && fd == -1;
}

void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset) {
	bool asked = ours(prot, flags, fd);
	if (asked && !grant((long)size)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	void *p = (void *)syscall(SYS_mmap, address, size, prot, flags, fd, offset);
	if (asked && p != MAP_FAILED) atomic_fetch_add(&mapped, (long)size);
	return p;
}

long gatehouse_heap_mapped(void) { return atomic_load(&mapped); }

/* gatehouse_heap_tight makes the allocator ask for little more than it needs, in every arena that there is now. */
void gatehouse_heap_tight(void) {
	static atomic_bool once;
	unsigned arenas = 0;
	unsigned long epoch = 1;
	size_t n = sizeof epoch, step = 8 << 20;
	if (duckdb_je_mallctl == NULL || duckdb_je_malloc == NULL) return;
	if (!atomic_exchange(&once, true)) duckdb_je_free(duckdb_je_malloc(256ul << 20)); /* makes the arena of the largest blocks; nothing is touched */
	(void)duckdb_je_mallctl("epoch", &epoch, &n, &epoch, n); /* so that it is counted */
	n = sizeof arenas;
	if ( duckdb_je_mallctl("arenas.narenas", &arenas, &n, NULL, 0) != 0) return;
	for (unsigned i = 0; i < arenas; i++) {
		char name[64];
		snprintf(name, sizeof name, "arena.%u.retain_grow_limit", i);
		(void)duckdb_je_mallctl(name, NULL, NULL, &step, sizeof step);
	}
}

/* gatehouse_heap_purge gives what is free back to the kernel. 4096 is MALLCTL_ARENAS_ALL. */
void gatehouse_heap_purge(void) {
	if (duckdb_je_mallctl != NULL) (void)duckdb_je_mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
	malloc_trim(0);
}
