/** CRC-32 (ISO 3309), by which a key is told from another one. Node has it from version 22 on. */

const POLYNOMIAL = 0xedb8_8320

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? POLYNOMIAL : 0)
  return value
})

/** Of the UTF-8 bytes of a text, as 8 hex digits. */
export function crc32Hex(text: string): string {
  let crc = 0xffff_ffff
  for (const byte of Buffer.from(text)) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0)
  return ((crc ^ 0xffff_ffff) >>> 0).toString(16).padStart(8, '0')
}
