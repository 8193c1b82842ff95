#ifndef GATEHOUSE_HEAP_H
#define GATEHOUSE_HEAP_H

/* Who asked the engine's allocator for memory: instances have the numbers below gatehouse_heap_engines, statements those above. 0 is nobody. */
enum { gatehouse_heap_engines = 1024, gatehouse_heap_marks = 8192 };

void gatehouse_heap_bounds(long soft, long hard);
long gatehouse_heap_resident(void);
long gatehouse_heap_mapped(void);
long gatehouse_heap_refused(void);
long gatehouse_heap_granted(int mark);
void gatehouse_heap_forget(int mark);
void gatehouse_heap_calm(void);
void gatehouse_heap_tight(void);
void gatehouse_heap_purge(void);
void gatehouse_heap_enter(int engine, int statement);
void gatehouse_heap_name(int engine, char *before);
void gatehouse_heap_rename(const char *before);

#endif
