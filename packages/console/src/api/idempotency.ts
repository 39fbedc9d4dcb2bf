/** Keys of writes that must not happen twice. */

/** 128 random bits. `crypto.randomUUID` is missing on plain HTTP. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
