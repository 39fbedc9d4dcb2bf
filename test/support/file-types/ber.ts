/** Encodes values of BER for tests (X.690): tags are context-specific. */

const lengthOf = (bytes: Buffer) => {
  if (bytes.length < 0x80) return Buffer.of(bytes.length)
  const digits = Buffer.alloc(4)
  digits.writeUInt32BE(bytes.length)
  const from = digits.findIndex((byte) => byte !== 0)
  return Buffer.concat([Buffer.of(0x80 + 4 - from), digits.subarray(from)])
}

function identifier(first: number, tag: number): Buffer {
  if (tag < 31) return Buffer.of(first + tag)
  const last = tag & 0x7f
  return Buffer.from(tag < 0x80 ? [first + 31, last] : [first + 31, 0x80 + (tag >> 7), last])
}

/** A primitive value: hexadecimal, or its bytes. */
export function value(tag: number, contents: string | Buffer): Buffer {
  const bytes = typeof contents === 'string' ? Buffer.from(contents, 'hex') : contents
  return Buffer.concat([identifier(0x80, tag), lengthOf(bytes), bytes])
}

export function group(tag: number, ...members: Buffer[]): Buffer {
  const bytes = Buffer.concat(members)
  return Buffer.concat([identifier(0xa0, tag), lengthOf(bytes), bytes])
}

/** A group whose end is marked, in place of a length. */
export function openGroup(tag: number, ...members: Buffer[]): Buffer {
  return Buffer.concat([identifier(0xa0, tag), Buffer.of(0x80), ...members, Buffer.of(0, 0)])
}

/** A member of a list (SEQUENCE). */
export function member(...members: Buffer[]): Buffer {
  const bytes = Buffer.concat(members)
  return Buffer.concat([Buffer.of(0x30), lengthOf(bytes), bytes])
}

export const text = (tag: number, given: string) => value(tag, Buffer.from(given))

/** A record of a PGW (TS 32.298) with a container for each rating group. */
export function pgwRecord(imsi: string, ...containers: Buffer[]): Buffer {
  return group(
    79,
    value(0, '55'),
    value(3, imsi),
    group(4, value(0, '0a000001')),
    value(5, '00abcdef'),
    group(6, value(0, '0a000002'), value(0, '0a000003')),
    text(7, 'internet'),
    value(13, '2605011200002b0200'),
    value(14, '0e10'),
    value(15, '00'),
    value(20, '07'),
    value(22, '919471010000f1'),
    group(34, ...containers),
  )
}

/** A container of `listOfServiceData`. */
export function container(ratingGroup: number, up: number, down: number): Buffer {
  const integer = (tag: number, number: number) => {
    const bytes = Buffer.alloc(6)
    bytes.writeIntBE(number, 0, 6)
    return value(tag, bytes)
  }
  return member(
    ...[integer(1, ratingGroup), value(5, '2605011200002b0200'), value(8, '0110')],
    ...[integer(12, up), integer(13, down), value(14, '2605011300002b0200')],
  )
}

/** A file of TS 32.297; `stated` in place of what is true. */
export function cdrFile(
  records: readonly Buffer[],
  stated: { bytes?: number; records?: number } = {},
): Buffer {
  const framed = records.map((record) => {
    const head = Buffer.from([0, 0, 0xe3, 0x27, 5])
    head.writeUInt16BE(record.length)
    return Buffer.concat([head, record])
  })
  const header = Buffer.alloc(54)
  const bytes = framed.reduce((sum, { length }) => sum + length, header.length)
  header.writeUInt32BE(stated.bytes ?? bytes, 0)
  header.writeUInt32BE(header.length, 4)
  header.writeUInt32BE(stated.records ?? records.length, 18)
  return Buffer.concat([header, ...framed])
}
