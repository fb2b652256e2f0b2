/** The part of WebAssembly's interface that the kernel needs: Node's types leave it to the browser's. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module);
    readonly exports: unknown;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
    /** @returns the number of pages before. */
    grow(pages: number): number;
  }
  interface Global {
    readonly value: number;
  }
}
