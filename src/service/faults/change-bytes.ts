/** Applies faults to a reply's bytes as they are sent: invalid base64, truncated, cut or slow. */
import { setTimeout } from 'node:timers/promises';
import { CONTENT_OFFSET, type ReplyBytes } from '../http/answer.js';
import type { TimeScale } from '../time-scale.js';
import type { Fault } from './fault.js';

/** Share of the reply that is sent before the connection is cut. */
const CUT_SHARE = 0.5;
/** A slow reply sends one piece in each interval of this length. */
const PIECE_MS = 50;
/** Not in the base64 alphabet. */
const INVALID_BASE64 = '*'.charCodeAt(0);

interface BytesOptions {
  /** Whether the reply holds a part. */
  readonly hasContent: boolean;
  readonly time: TimeScale;
  /** Aborted when the connection or the service is closed; ends a slow reply. */
  readonly signal: AbortSignal;
}

export function changeBytes(bytes: ReplyBytes, fault: Fault, options: BytesOptions): ReplyBytes {
  let changed = bytes;
  if (fault.brokenBase64 && options.hasContent) changed = breakBase64(changed);
  if (fault.truncate !== undefined) changed = truncate(changed, fault.truncate);
  if (fault.cut === 'in-reply') changed = cutInReply(changed);
  if (fault.slow) {
    changed = slowDown(changed, options.time.ratePerSecond(fault.slow.bytesPerSecond), options.signal);
  }
  return changed;
}

async function* breakBase64(bytes: ReplyBytes): ReplyBytes {
  const brokenOffset = CONTENT_OFFSET + 1;
  let offset = 0;
  for await (const piece of bytes) {
    const index = brokenOffset - offset;
    offset += piece.length;
    if (index < 0 || index >= piece.length) {
      yield piece;
      continue;
    }
    const copy = Buffer.from(piece);
    copy[index] = INVALID_BASE64;
    yield copy;
  }
}

/** Collects the whole reply first, because a share needs its full length. */
async function* truncate(bytes: ReplyBytes, share: number): ReplyBytes {
  const pieces: Buffer[] = [];
  for await (const piece of bytes) pieces.push(piece);
  const whole = Buffer.concat(pieces);
  yield whole.subarray(0, Math.floor(whole.length * share));
}

/** An error after the first bytes makes the server close the connection before the reply is complete. */
async function* cutInReply(bytes: ReplyBytes): ReplyBytes {
  yield* truncate(bytes, CUT_SHARE);
  await setTimeout(PIECE_MS);
  throw new Error('a fault cuts the connection');
}

async function* slowDown(bytes: ReplyBytes, perSecond: number, signal: AbortSignal): ReplyBytes {
  const size = Math.max(1, Math.floor((perSecond * PIECE_MS) / 1000));
  for await (const piece of bytes) {
    for (let from = 0; from < piece.length; from += size) {
      const next = piece.subarray(from, from + size);
      await setTimeout((next.length / perSecond) * 1000, undefined, { signal });
      yield next;
    }
  }
}
