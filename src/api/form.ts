/**
 * A form as its encoder takes one, each name once. Node's own FormData would load a second HTTP client: half of what
 * a small command takes.
 */
import { type FileLike, FormDataEncoder, type FormDataLike } from 'form-data-encoder';

/** The fields, in order, as a body of multipart/form-data (RFC 7578). */
export function encodeForm(fields: Readonly<Record<string, string | FileLike>>): FormDataEncoder {
  return new FormDataEncoder(new Form(Object.entries(fields)));
}

class Form extends Map<string, string | FileLike> implements FormDataLike {
  override readonly [Symbol.toStringTag] = 'FormData';

  append(name: string, value: string | FileLike): void {
    this.set(name, value);
  }

  getAll(name: string): (string | FileLike)[] {
    const value = this.get(name);
    return value === undefined ? [] : [value];
  }
}
