const NEEDS_ESCAPE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/

/** A text as JSON. */
export function quote(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`
}
