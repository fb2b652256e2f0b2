/*
 * Preloaded into a process: fsync and fdatasync take FOLIOPIPE_BENCH_SYNC_MS and do nothing else. At its end, the
 * process writes to FOLIOPIPE_BENCH_SYNCS how many its first thread has waited for, and how many the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static _Atomic long by_first, by_others;

static int slow(void) {
  const char *text = getenv("FOLIOPIPE_BENCH_SYNC_MS");
  const long ms = text ? atol(text) : 0;
  const struct timespec time = {ms / 1000, (ms % 1000) * 1000000};
  if (gettid() == getpid()) by_first += 1;
  else by_others += 1;
  if (ms > 0) nanosleep(&time, NULL);
  return 0;
}

int fsync(int file) { return (void)file, slow(); }
int fdatasync(int file) { return (void)file, slow(); }

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("FOLIOPIPE_BENCH_SYNCS");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file == NULL) return;
  fprintf(file, "{\"blockingSyncs\": %ld, \"otherSyncs\": %ld}", by_first, by_others);
  fclose(file);
}
