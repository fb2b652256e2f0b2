// Decodes the base64 string of a reply with simdutf, in pieces of 64 KiB as ours gets them, with the same system calls.
// No JSON but the search for the string in the first piece.
// decode REPLY, which prints the number of bytes
#include "simdutf.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

static char text[65536 + 4];
static char decoded[65536];

int main(int count, char **words) {
  if (count != 2) return fprintf(stderr, "usage: decode REPLY\n"), 2;
  const int file = open(words[1], O_RDONLY);
  if (file < 0) return perror(words[1]), 1;
  const char opening[] = "\"content\":\"";
  size_t all = 0;
  // Characters of a group of four whose end has not been read.
  size_t held = 0;
  for (bool is_within = false, is_closed = false; !is_closed;) {
    const ssize_t got = read(file, text + held, 65536);
    if (got <= 0) return fprintf(stderr, "the string does not end\n"), 1;
    const char *from = text;
    const char *to = text + held + got;
    if (!is_within) {
      from = static_cast<const char *>(memmem(text, got, opening, sizeof opening - 1));
      if (from == nullptr) return fprintf(stderr, "no content\n"), 1;
      from += sizeof opening - 1;
      is_within = true;
    }
    const void *quote = memchr(from, '"', to - from);
    is_closed = quote != nullptr;
    if (is_closed) to = static_cast<const char *>(quote);
    const size_t length = is_closed ? to - from : (to - from) / 4 * 4;
    const simdutf::result result = simdutf::base64_to_binary(from, length, decoded);
    if (result.error != simdutf::error_code::SUCCESS) return fprintf(stderr, "not base64\n"), 1;
    all += result.count;
    held = to - from - length;
    std::copy(from + length, to, text);
  }
  printf("%zu\n", all);
  return 0;
}
