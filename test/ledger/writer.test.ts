import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { Reader } from '../../src/ledger/reader.ts'
import { Writer } from '../../src/ledger/writer.ts'
import { separateValues } from '../../src/store/script-command.ts'

const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31)
const RUNS = { seed: SEED, numRuns: 1000 }

function written(write: (writer: Writer) => void): Buffer {
  const writer = new Writer(1)
  write(writer)
  return writer.take()
}

/** The values around each bound at which a number needs one more byte. */
const edges = [6, 7, 8, 13, 16, 20, 24, 31, 32, 40, 48, 53].flatMap((bits) => {
  const edge = 2 ** bits
  return [edge - 2, edge - 1, edge, -edge, 1 - edge]
})
const anyNumber = fc.oneof(
  fc.maxSafeInteger(),
  fc.nat(),
  fc.double({ noNaN: true }),
  fc.constantFrom(...edges, 0xbf, 0xc0, UNLIMITED, FOREVER_MS, FOREVER_MS - 1),
)
const sameNumber = (one: number, other: number) => one === other

describe(`a number (seed ${SEED})`, () => {
  it('is unchanged when read back, and the bytes end with it', () => {
    fc.assert(
      fc.property(fc.array(anyNumber), (numbers) => {
        const reader = new Reader(
          written((writer) => {
            for (const number of numbers) writer.number(number)
          }),
        )
        for (const number of numbers) expect(sameNumber(reader.number(), number)).toBe(true)
        expect(reader.isAtEnd).toBe(true)
      }),
      RUNS,
    )
  })

  it.each([
    [0, 1],
    [0xbf, 1],
    [0xc0, 2],
    [0x1fff, 2],
    [0x2000, 3],
    [0xfffff, 3],
    [0x100000, 4],
    [0x1000000, 5],
    [2 ** 32, 6],
    [2 ** 40, 7],
    [2 ** 48, 8],
    [UNLIMITED, 1],
    [FOREVER_MS, 1],
    [-1, 2],
    [0.5, 9],
    [2 ** 53, 9],
  ])('%d takes %d bytes', (number, bytes) => {
    expect(written((writer) => writer.number(number))).toHaveLength(bytes)
  })

  it('is refused if it is not a number, or if bytes are missing', () => {
    for (const bytes of [
      [0xf0],
      [0xf2, 1, 1],
      [0xff],
      [0xf8, 0xf8, 1],
      [0xc0],
      [0xf4, 1, 2, 3],
      [],
    ]) {
      expect(() => new Reader(Buffer.from(bytes)).number(), String(bytes)).toThrow(RangeError)
    }
  })
})

describe(`a time (seed ${SEED})`, () => {
  it('is unchanged when read back, relative to any other time', () => {
    fc.assert(
      fc.property(anyNumber, anyNumber, (since, time) => {
        const reader = new Reader(written((writer) => writer.time(time, since)))
        expect(sameNumber(reader.time(since), time)).toBe(true)
        expect(reader.isAtEnd).toBe(true)
      }),
      RUNS,
    )
    for (const time of [2 * FOREVER_MS, FOREVER_MS, FOREVER_MS + 5]) {
      for (const since of [FOREVER_MS, 5]) {
        expect(new Reader(written((writer) => writer.time(time, since))).time(since)).toBe(time)
      }
    }
  })

  it('takes few bytes soon after another', () => {
    expect(written((writer) => writer.time(1_795_305_724_971, 1_795_305_724_900))).toHaveLength(1)
    expect(written((writer) => writer.time(FOREVER_MS, 1_795_305_724_900))).toHaveLength(1)
  })
})

describe(`a text (seed ${SEED})`, () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.string({ maxLength: 300 }),
    fc.constantFrom('data', 'd\u00e4ta', '\u00c3\u00a4'),
  )

  it('is unchanged when read back, also if words are shared', () => {
    fc.assert(
      fc.property(fc.array(text), (texts) => {
        const bytes = written((writer) => {
          for (const one of texts) {
            writer.string(one)
            writer.string(one)
          }
        })
        const reader = new Reader(bytes)
        for (const one of texts) {
          expect(reader.word()).toBe(one)
          expect(reader.string()).toBe(one)
        }
        expect(reader.isAtEnd).toBe(true)
      }),
      RUNS,
    )
  })

  it('of a script argument is its length and UTF-8', () => {
    fc.assert(
      fc.property(text, (one) => {
        const bytes = written((writer) => writer.text(one))
        expect(bytes.readUInt32LE()).toBe(bytes.length - 4)
        expect(bytes.toString('utf8', 4)).toBe(one)
      }),
      RUNS,
    )
  })

  it('is refused if it is longer than the remaining bytes', () => {
    for (const bytes of [[5, 97], [0xc1, 0], [0xfa]]) {
      expect(() => new Reader(Buffer.from(bytes)).string()).toThrow(RangeError)
      expect(() => new Reader(Buffer.from(bytes)).word()).toThrow(RangeError)
      expect(() => new Reader(Buffer.from(bytes)).chunk()).toThrow(RangeError)
    }
  })
})

it('an argument of a script has its length in digits, whatever its length', () => {
  const sizes = [0, 9, 10, 99, 100, 999, 1000, 12_345]
  const writer = new Writer(1)
  const found = sizes.map((size) => {
    writer.bulkTexts('s:', String(size))
    const openedAt = writer.openBulk()
    for (let index = 0; index < size; index += 1) writer.u8(index)
    return { from: writer.closeBulk(openedAt), end: writer.length - 2 }
  })
  const bytes = writer.bytes()
  const expected = sizes.flatMap((size) => [
    Buffer.from(`s:${size}`),
    Buffer.from(Array.from({ length: size }, (_, index) => index)),
  ])
  expect(separateValues([{ count: expected.length, bytes }])).toEqual(expected)
  const written = found.map(({ from, end }) => bytes.subarray(from, end))
  expect(written).toEqual(expected.filter((_, index) => index % 2 === 1))
})
