/** A folio's upload is gone, or shorter than it was: trying again does not bring it back. */
export class UploadLostError extends Error {
  override readonly name = 'UploadLostError';
}
