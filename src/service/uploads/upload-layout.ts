/** Where an upload keeps what the prediction needs. */

/** Field numbers from 0; -1 where the upload has no such column. */
export interface UploadLayout {
  readonly fields: number;
  readonly name: number;
  readonly address: number;
  readonly state: number;
}

/** The columns so named, in whatever case. `name` is -1 in a file that cannot be predicted. */
export function uploadLayout(columns: readonly string[]): UploadLayout {
  const names = columns.map((column) => column.trim().toLowerCase());
  return {
    fields: columns.length,
    name: names.indexOf('name'),
    address: names.indexOf('address'),
    state: names.indexOf('state'),
  };
}
