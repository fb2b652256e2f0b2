// Decodes the base64 string of a reply with simdutf: the whole file in memory, no JSON but the search for the string.
// decode REPLY, which prints the number of bytes
#include "simdutf.h"
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **words) {
  if (count != 2) return fprintf(stderr, "usage: decode REPLY\n"), 2;
  const int file = open(words[1], O_RDONLY);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0) return perror(words[1]), 1;
  const size_t size = about.st_size;
  std::unique_ptr<char[]> reply(new char[size]);
  for (size_t at = 0; at < size;) {
    const ssize_t got = read(file, reply.get() + at, size - at);
    if (got <= 0) return perror("read"), 1;
    at += got;
  }
  const char opening[] = "\"content\":\"";
  const char *found = static_cast<const char *>(memmem(reply.get(), size, opening, sizeof opening - 1));
  if (found == nullptr) return fprintf(stderr, "no content\n"), 1;
  const char *start = found + sizeof opening - 1;
  const char *end = static_cast<const char *>(memchr(start, '"', reply.get() + size - start));
  const size_t length = end - start;
  std::unique_ptr<char[]> decoded(new char[simdutf::maximal_binary_length_from_base64(start, length)]);
  const simdutf::result result = simdutf::base64_to_binary(start, length, decoded.get());
  if (result.error != simdutf::error_code::SUCCESS) return fprintf(stderr, "not base64\n"), 1;
  printf("%zu\n", result.count);
  return 0;
}
