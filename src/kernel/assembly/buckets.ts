// Entries that begin with a hash of 16 bytes: spread over buckets by its first byte, and matched within a bucket.

/** Index of the entry after the last that `spread` has taken. */
export let spreadTo: i32 = 0;
/** The bucket that `spread` has filled; -1 if it has taken all entries. */
export let fullBucket: i32 = -1;

/**
 * Appends entries to the buckets that their first byte says. Stops after an entry that fills its bucket.
 *
 * @param size bytes of an entry.
 * @param buckets address of the buckets, `capacity` entries each.
 * @param filled address of a number for each bucket: its entries.
 */
export function spread(
  entries: i32,
  first: i32,
  count: i32,
  size: i32,
  buckets: i32,
  filled: i32,
  capacity: i32,
): void {
  fullBucket = -1;
  let at = first;
  for (let entry = entries + first * size; at < count; entry += size) {
    at++;
    const bucket = <i32>load<u8>(entry);
    const place = filled + (bucket << 2);
    const known = load<i32>(place);
    copyEntry(entry, buckets + (bucket * capacity + known) * size, size);
    store<i32>(place, known + 1);
    if (known + 1 < capacity) continue;
    fullBucket = bucket;
    break;
  }
  spreadTo = at;
}

/**
 * Appends hashes, each with its number after it, to the buckets that their first byte says; a hash of zero is left out.
 * Stops after a hash that fills its bucket.
 *
 * @param hashes, numbers addresses of the two halves of the entries: a hash, and its number.
 */
export function spreadHashes(
  hashes: i32,
  numbers: i32,
  first: i32,
  count: i32,
  buckets: i32,
  filled: i32,
  capacity: i32,
): void {
  fullBucket = -1;
  let at = first;
  while (at < count) {
    const hash = v128.load(hashes + (at << 4));
    const number = load<i32>(numbers + (at << 2));
    at++;
    if (!v128.any_true(hash)) continue;
    const bucket = i8x16.extract_lane_u(hash, 0);
    const place = filled + ((<i32>bucket) << 2);
    const known = load<i32>(place);
    const entry = buckets + (<i32>bucket * capacity + known) * 20;
    v128.store(entry, hash);
    store<i32>(entry, number, 16);
    store<i32>(place, known + 1);
    if (known + 1 < capacity) continue;
    fullBucket = bucket;
    break;
  }
  spreadTo = at;
}

/** Copies whole numbers, at least 16 bytes. */
function copyEntry(from: i32, to: i32, size: i32): void {
  let at = 0;
  for (; at <= size - 16; at += 16) v128.store(to + at, v128.load(from + at));
  for (; at < size; at += 4) store<i32>(to + at, load<i32>(from + at));
}

/**
 * Puts entries into a hash table.
 *
 * @param slots address of `mask` + 1 numbers, all zero; each becomes an entry's index plus one.
 * @param out address for a number for each entry: the index of the first entry with the same hash, itself if there is
 *   none before it.
 * @returns how many entries have the hash of an earlier one.
 */
export function indexEntries(entries: i32, count: i32, size: i32, slots: i32, mask: i32, out: i32): i32 {
  let doubled = 0;
  for (let at = 0; at < count; at++) {
    const slot = slotOf(entries + at * size, entries, size, slots, mask);
    const known = load<i32>(slot);
    if (known === 0) store<i32>(slot, at + 1);
    else doubled++;
    store<i32>(out + (at << 2), known === 0 ? at : known - 1);
  }
  return doubled;
}

/** Where the entry of a row has the hash of its values, and its number. */
const VALUES: usize = 16;
const NUMBER: usize = 32;

/** Writes a match: the index of the entry, the number of its row, and whether the values of both rows are the same. */
function writeMatch(entries: i32, found: i32, size: i32, other: i32, out: i32): void {
  const entry = entries + found * size;
  store<i32>(out, found);
  store<i32>(out, load<i32>(entry, NUMBER), 4);
  store<i32>(out, isSameHash(entry + <i32>VALUES, other + <i32>VALUES) ? 1 : 0, 8);
}

/** Bytes of a match. */
const MATCH_BYTES: i32 = 12;

/** How many entries are tried in their order before one counts as missed: that many may be left out in a row. */
const TRIED: i32 = 4;

/**
 * Finds the entries with the hashes of others, as far as both are in the same order. Writes a match for each of the
 * others, or -1 as the index.
 *
 * @returns how many were not found.
 */
export function matchInOrder(
  entries: i32,
  count: i32,
  size: i32,
  others: i32,
  otherCount: i32,
  otherSize: i32,
  out: i32,
): i32 {
  let missed = 0;
  let next = 0;
  for (let at = 0; at < otherCount; at++, others += otherSize, out += MATCH_BYTES) {
    const end = min(next + TRIED, count);
    let found = next;
    while (found < end && !isSameHash(entries + found * size, others)) found++;
    if (found < end) {
      writeMatch(entries, found, size, others, out);
      next = found + 1;
    } else {
      store<i32>(out, -1);
      missed++;
    }
  }
  return missed;
}

/** Finds the others that `matchInOrder` has missed in the table of `indexEntries`. */
export function matchIndexed(
  entries: i32,
  size: i32,
  slots: i32,
  mask: i32,
  others: i32,
  otherCount: i32,
  otherSize: i32,
  out: i32,
): void {
  for (let at = 0; at < otherCount; at++, others += otherSize, out += MATCH_BYTES) {
    if (load<i32>(out) >= 0) continue;
    const found = load<i32>(slotOf(others, entries, size, slots, mask)) - 1;
    if (found >= 0) writeMatch(entries, found, size, others, out);
  }
}

/**
 * Keeps the matches without an entry and those of rows with other values. In each, the index of its other replaces the
 * row's number. Sets a bit for each row that was matched.
 *
 * @param kept address of the bits, by the numbers of the rows.
 * @param keepsSame whether those of rows with the same values are kept too.
 * @returns how many are kept; -1 if two matches have the same row.
 */
export function differing(matches: i32, count: i32, kept: i32, keepsSame: bool): i32 {
  let to = matches;
  for (let at = 0, match = matches; at < count; at++, match += MATCH_BYTES) {
    const found = load<i32>(match);
    const isSame = load<i32>(match, 8);
    if (found >= 0) {
      const row = load<i32>(match, 4);
      const place = kept + (row >>> 3);
      const bit = (<u32>1) << (row & 7);
      const bits = <u32>load<u8>(place);
      if ((bits & bit) !== 0) return -1;
      store<u8>(place, <u8>(bits | bit));
      if (isSame !== 0 && !keepsSame) continue;
    }
    store<i32>(to, found);
    store<i32>(to, at, 4);
    store<i32>(to, isSame, 8);
    to += MATCH_BYTES;
  }
  return (to - matches) / MATCH_BYTES;
}

/** The slot of the entry with this hash, or a free one for it. Its second number decides: the first chose the bucket. */
export function slotOf(hash: i32, entries: i32, size: i32, slots: i32, mask: i32): i32 {
  let at = load<i32>(hash, 4) & mask;
  let slot = slots + (at << 2);
  for (let known = load<i32>(slot); known !== 0; known = load<i32>(slot)) {
    if (isSameHash(entries + (known - 1) * size, hash)) break;
    at = (at + 1) & mask;
    slot = slots + (at << 2);
  }
  return slot;
}

function isSameHash(one: i32, other: i32): bool {
  return load<u64>(one) === load<u64>(other) && load<u64>(one, 8) === load<u64>(other, 8);
}
