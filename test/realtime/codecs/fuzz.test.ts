/** Any bytes: every decoder returns a named error or a valid request. */
import fc from 'fast-check'
import { SaxesParser } from 'saxes'
import { afterAll, describe, expect, it } from 'vitest'
import { plainOutcome, type Reason } from '../../../src/domain/charge-outcome.ts'
import { propertyRuns } from '../../support/domain/property-runs.ts'
import {
  context,
  type FuzzFormat,
  fuzzFormats,
} from '../../support/realtime/codecs/fuzz-dialects.ts'
import { anyBytes, damaged } from '../../support/realtime/codecs/fuzz-inputs.ts'
import { isText, problemsOf } from '../../support/realtime/codecs/request-validator.ts'

const RUNS = propertyRuns(400).numRuns
const formats = fuzzFormats()

/** Prototypes that a message could have changed for all other objects. */
function prototypes(): unknown {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype].map(
    (prototype) =>
      Reflect.ownKeys(prototype).map((key) => Reflect.getOwnPropertyDescriptor(prototype, key)),
  )
}
const before = prototypes()
afterAll(() => expect(prototypes()).toEqual(before))

const counts = { refused: 0, taken: 0, skipped: 0 }

/** The problems of a decoding result; empty if it is valid. */
function wrongWith({ codec, fresh }: FuzzFormat, bytes: Buffer): string[] {
  const given = Buffer.from(bytes)
  const decoded = codec.decode(bytes, context)
  const wrong = bytes.equals(given) ? [] : ['the body was changed']
  // A decoder keeps no state of earlier messages.
  for (const other of [codec, fresh()]) {
    const again = other.decode(given, context)
    const isSame = again.ok === decoded.ok && JSON.stringify(again) === JSON.stringify(decoded)
    if (!isSame) wrong.push(`another answer: ${JSON.stringify(again)}`)
  }
  if (!decoded.ok) {
    counts.refused += 1
    const { field, why } = decoded.error
    if (typeof field !== 'string' || field === '' || field.length > 320) wrong.push('field')
    if (!isText(why, 5, 400)) wrong.push(`why ${why}`)
    return [...wrong, ...unreadable(codec.contentType, codec.encodeError(decoded.error))]
  }
  const { envelope, request } = decoded
  if (request === null) counts.skipped += 1
  else {
    counts.taken += 1
    wrong.push(...problemsOf(request, context))
  }
  const reasons: Reason[] = request === null ? ['granted'] : ['noCredit', 'storeDown', 'granted']
  for (const reason of reasons) {
    wrong.push(...unreadable(codec.contentType, codec.encode(envelope, plainOutcome(reason))))
  }
  return wrong
}

/** The reason why an answer cannot be read. */
function unreadable(contentType: string, text: string): string[] {
  if (/\p{Cs}/u.test(text)) return ['an answer with half characters']
  try {
    if (contentType.includes('json')) JSON.parse(text)
    if (contentType.includes('xml')) new SaxesParser().write(text).close()
    return []
  } catch (error) {
    return [`an answer that is none: ${error} ${text}`]
  }
}

describe.each(formats)('$name', (format) => {
  it('accepts the messages before they are damaged', () => {
    const taken = format.messages.filter((text) => {
      expect(wrongWith(format, Buffer.from(text))).toEqual([])
      return format.codec.decode(Buffer.from(text), context).ok
    })
    expect(taken.length).toBeGreaterThan(0)
  })

  it('accepts any bytes, or names the error', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        expect(wrongWith(format, bytes), String(bytes)).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })

  it('accepts damaged messages, or names the error', () => {
    fc.assert(
      fc.property(damaged(format.messages), (bytes) => {
        expect(wrongWith(format, bytes), String(bytes)).toEqual([])
      }),
      { numRuns: 3 * RUNS },
    )
  })
})

describe('all inputs', () => {
  it('contain accepted and refused ones', () => {
    expect(counts.refused).toBeGreaterThan(RUNS)
    expect(counts.taken).toBeGreaterThan(RUNS)
  })
})
