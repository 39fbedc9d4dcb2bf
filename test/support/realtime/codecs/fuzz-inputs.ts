/** Bytes for tests of invalid input: arbitrary ones, and damaged messages. */
import fc from 'fast-check'

/** Values that are known to break decoders. */
const NASTY = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'prototype',
  'valueOf',
  'length',
  '"__proto__":{"sid":1},',
  '"__proto__":null,',
  '"constructor":{"prototype":{"sid":1}},',
  '__proto__.sid=1&',
  'constructor.prototype.sid=1&',
  'a[]=1&a.0=2&',
  '__proto__[]=1&',
  '[]=1&',
  '="',
  ',="a"b,',
  '<__proto__>1</__proto__>',
  '<a constructor="1"/>',
  '&__proto__;',
  '&constructor;',
  '&#0;',
  '<!DOCTYPE a [<!ENTITY b "c">]>',
  '<![CDATA[',
  ']]>',
  '<?xml encoding="x"?>',
  '<!--',
  '&#x110000;',
  '\0',
  '\u0001',
  '\u007f',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\ufffd',
  '\u{10ffff}',
  '\r\n',
  '\\u0000',
  '\\ud800',
  '\\udc00\\ud800',
  '\\"',
  '\\',
  '"',
  "'",
  '%00',
  '%',
  '%zz',
  '%ED%A0%80',
  '%C0%80',
  '+',
  '=',
  '&',
  ';',
  ',',
  '<',
  '>',
  '/',
  '.',
  '..',
  '[',
  ']',
  '{',
  '}',
  ':',
  ' ',
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '"5"',
  '[1]',
  '{"high":1,"low":2}',
  '[["263","x"]]',
  '-0',
  '-1',
  '0.5',
  '1e3',
  '1E400',
  '-1e400',
  '1e-400',
  '1e999',
  '5e-324',
  '0x10',
  '1_0',
  '007',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '18446744073709551616',
  'NaN',
  'Infinity',
  '4294967295',
  '4294967296',
  '2147483648',
  '253402300800',
  '99999999999.999999999',
  '2026-02-30T00:00:00Z',
  '2026-11-21T10:00:00+99:00',
  '2026-11-21',
  '20261121100000',
  'Z',
  'Mars/X',
  '['.repeat(40),
  '{"a":'.repeat(40),
  '<a>'.repeat(40),
  'a.'.repeat(40),
  'x'.repeat(300),
  `&${'k'.repeat(2000)}=%zz&`,
  `,${'k'.repeat(2000)}="a"b,`,
  `"${'k'.repeat(2000)}":{"a":1},`,
  '9'.repeat(400),
  '1,'.repeat(5000),
  'a=1&'.repeat(5000),
  '<a/>'.repeat(5000),
  `"${'y'.repeat(300)}":1,`,
]

const BYTES = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
  [0],
]
const nasty = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...NASTY).map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.constantFrom(...BYTES).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => Buffer.from(text)),
  },
)

type Damage = (bytes: Buffer) => Buffer

/** A position as a share of the length, so that it is valid for any length. */
const share = fc.integer({ min: 0, max: 9_999 }).map((part) => part / 10_000)
const at = (bytes: Buffer, part: number) => Math.floor(bytes.length * part)

/** Replaces the nth match of the expression. */
function replacing(what: RegExp, part: number, by: (found: string) => string): Damage {
  return (bytes) => {
    const text = bytes.toString('latin1')
    const found = [...text.matchAll(what)]
    const one = found[Math.floor(found.length * part)]
    if (one === undefined) return bytes
    const end = one.index + one[0].length
    return Buffer.from(text.slice(0, one.index) + by(one[0]) + text.slice(end), 'latin1')
  }
}

const WORD = /[A-Za-z_][\w.-]*/g
const NUMBER = /-?\d+(?:\.\d+)?/g
const IN_QUOTES = /"-?\d+(?:\.\d+)?"/g
const MEMBER = /"[\w-]+":(?:"[^"]*"|\d+),?|<(\w+)>[^<]*<\/\1>|[\w.]+=[^&\n]*&?/g

const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(share, fc.integer({ min: 0, max: 7 })).map(
    ([part, bit]): Damage =>
      (bytes) => {
        const copy = Buffer.from(bytes)
        if (copy.length > 0) copy[at(copy, part)]! ^= 1 << bit
        return copy
      },
  ),
  share.map(
    (part): Damage =>
      (bytes) =>
        bytes.subarray(0, at(bytes, part)),
  ),
  fc.tuple(share, nasty).map(
    ([part, more]): Damage =>
      (bytes) => {
        const place = at(bytes, part)
        return Buffer.concat([bytes.subarray(0, place), more, bytes.subarray(place)])
      },
  ),
  fc.tuple(share, share).map(
    ([one, other]): Damage =>
      (bytes) => {
        const [from, to] = [at(bytes, Math.min(one, other)), at(bytes, Math.max(one, other))]
        return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)])
      },
  ),
  fc.tuple(share, nasty).map(([part, by]) => replacing(WORD, part, () => by.toString('latin1'))),
  fc.tuple(share, nasty).map(([part, by]) => replacing(NUMBER, part, () => by.toString('latin1'))),
  share.map((part) => replacing(NUMBER, part, (number) => `"${number}"`)),
  share.map((part) => replacing(IN_QUOTES, part, (text) => text.slice(1, -1))),
  share.map((part) => replacing(MEMBER, part, (member) => member + member)),
  share.map((part) => replacing(MEMBER, part, () => '')),
)

/** One of these messages with up to four kinds of damage. */
export function damaged(messages: readonly string[]): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...messages), fc.array(damage, { minLength: 1, maxLength: 4 }))
    .map(([message, all]) => all.reduce<Buffer>((bytes, one) => one(bytes), Buffer.from(message)))
}

const SYNTAX = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ':',
  ',',
  '=',
  '&',
  '%',
  '<',
  '>',
  '/',
  '.',
  '\n',
  '1',
  'a',
  ' ',
]

/** Arbitrary bytes, and bytes that a parser has to examine. */
export const anyBytes: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc
    .array(fc.constantFrom(...SYNTAX), { maxLength: 200 })
    .map((parts) => Buffer.from(parts.join(''))),
  fc.array(nasty, { maxLength: 12 }).map((parts) => Buffer.concat(parts)),
  fc.json({ maxDepth: 6 }).map((text) => Buffer.from(text)),
)

/** A message with some bytes exchanged. */
export function withExchangedBytes(message: string | Buffer, most = 6): fc.Arbitrary<Buffer> {
  const length = Buffer.byteLength(message)
  const change = fc.tuple(fc.nat(length - 1), fc.nat(255))
  return fc.array(change, { minLength: 1, maxLength: most }).map((changes) => {
    const bytes = Buffer.from(message as string)
    for (const [at, byte] of changes) bytes[at] = byte
    return bytes
  })
}
