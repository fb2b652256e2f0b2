import { describe, expect, it, vi } from 'vitest';
import { ConfigError, TroubleError } from '../../src/errors.js';
import { KernelMemory, MAX_MEMORY_BYTES, MemoryLayout, slotsFor } from '../../src/kernel/kernel-memory.js';
import { thrownBy } from '../helpers/csv/result-parts.js';

interface Exports {
  readonly memory: WebAssembly.Memory;
}

describe('the memory of a kernel', () => {
  it('has only addresses, with some spare ones, that fit into a signed number of 32 bits', () => {
    const memory = new KernelMemory<Exports>();
    const error = thrownBy(() => memory.reserve(MAX_MEMORY_BYTES + 1));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({
      code: 'MEMORY_LIMIT',
      message: `the records and answers that are handled at once take ${MAX_MEMORY_BYTES + 1} bytes; the CSV kernel holds at most 2147418112`,
      hint: expect.stringContaining('chunks.maxBytes'),
    });
    memory.reserve(100_000);
    expect(memory.bytes.length).toBeGreaterThanOrEqual(100_000);
  });

  it('that the system does not provide is a TroubleError', () => {
    const memory = new KernelMemory<Exports>();
    vi.spyOn(memory.exports.memory, 'grow').mockImplementation(() => {
      throw new RangeError('WebAssembly.Memory.grow(): Unable to grow instance memory');
    });
    const error = thrownBy(() => memory.reserve(memory.bytes.length + 1));
    expect(error).toBeInstanceOf(TroubleError);
    expect(error).toMatchObject({ code: 'MEMORY_REFUSED', cause: expect.any(RangeError) });
  });

  it('for which there are no addresses, as under ulimit -v, is a TroubleError that names this limit', () => {
    vi.spyOn(WebAssembly, 'Instance').mockImplementation(function refuse() {
      throw new RangeError('WebAssembly.Instance(): Out of memory: Cannot allocate Wasm memory');
    });
    const kept: unknown[] = [];
    const error = thrownBy(() => {
      // Released ones are used first.
      for (;;) kept.push(new KernelMemory<Exports>());
    });
    vi.restoreAllMocks();
    expect(error).toBeInstanceOf(TroubleError);
    expect(error).toMatchObject({ code: 'MEMORY_REFUSED', hint: expect.stringContaining('ulimit -v') });
  });

  it('is reused after release, unless it has grown very large', () => {
    const one = new KernelMemory<Exports>();
    one.release();
    const next = new KernelMemory<Exports>();
    expect(next.exports).toBe(one.exports);
    next.reserve(100 * 1024 * 1024);
    next.release();
    expect(new KernelMemory<Exports>().exports).not.toBe(next.exports);
  });
});

it('a layout places blocks at multiples of 64, with 64 spare bytes behind each', () => {
  const layout = new MemoryLayout();
  expect([layout.placeBytes(1), layout.placeInts(16), layout.end]).toEqual([64, 192, 320]);
  expect(new MemoryLayout(65).placeBytes(0)).toBe(128);
});

it('a hash table has a power of two of slots, at least 16, and is at most half full', () => {
  expect([0, 8, 9, 16, 17].map(slotsFor)).toEqual([16, 16, 32, 32, 64]);
});
