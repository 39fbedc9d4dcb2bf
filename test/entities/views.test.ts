import fc from 'fast-check'
import { BSON } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { ObjectId } from '../../src/catalog/collections.ts'
import { parseInstant } from '../../src/domain/time.ts'
import {
  dateText,
  readEnvelope,
  readView,
  writeEnvelope,
  writeView,
} from '../../src/entities/views.ts'

const HEX = '65f0c0ffee0123456789abcd'
const at = new Date('2026-01-01T00:00:00.250Z')
const object = { sec: 1_767_225_600, usec: 250_000 }
const shape = { timeZone: 'UTC', dateFields: [] }

describe('a document', () => {
  const document = {
    _id: new ObjectId(HEX),
    from: at,
    plan_activation: at,
    services: [{ name: 'TV', from: at, ref: new ObjectId(HEX), when: [at] }],
    include: { groups: {} },
    invoice_id: '000123',
    nothing: null,
    absent: undefined,
    rev: 7,
    deleted: true,
    deleted_at: at,
    inner: { rev: 1 },
  }

  it('in a read has dates of some names as texts', () => {
    expect(readView(document, shape)).toEqual({
      _id: { $id: HEX },
      from: '2026-01-01T00:00:00+0000',
      plan_activation: object,
      services: [
        { name: 'TV', from: '2026-01-01T00:00:00+0000', ref: { $id: HEX }, when: [object] },
      ],
      include: { groups: [] },
      invoice_id: 123,
      nothing: null,
      inner: { rev: 1 },
    })
  })

  it('in an answer to a write has all dates as objects', () => {
    const { from, services, invoice_id } = writeView(document)
    expect({ from, services, invoice_id }).toEqual({
      from: object,
      services: [{ name: 'TV', from: object, ref: { $id: HEX }, when: [object] }],
      invoice_id: '000123',
    })
  })

  it('has further dates as texts by path, in the zone', () => {
    const further = { timeZone: 'Asia/Kolkata', dateFields: ['a.when', 'in_collection_from'] }
    const shown = readView({ in_collection_from: at, a: [{ when: at }], when: at }, further)
    expect(shown).toEqual({
      in_collection_from: '2026-01-01T05:30:00+0530',
      a: [{ when: '2026-01-01T05:30:00+0530' }],
      when: object,
    })
  })

  it('omits hidden fields, and names of prototypes', () => {
    const hostile = JSON.parse('{"__proto__":{"x":1},"a":{"constructor":1,"b":1,"c":2}}')
    expect(readView({ ...document, password: 'x' }, { ...shape, hidden: ['password'] }))
      .not //
      .toHaveProperty('password')
    const shown = writeView(hostile, ['a.c'])
    expect(Object.getOwnPropertyNames(shown)).toEqual(['a'])
    expect(Object.getPrototypeOf(shown)).toBe(Object.prototype)
    expect(shown).toEqual({ a: { b: 1 } })
  })

  it('has other types of the store as numbers or texts', () => {
    const { Long, Decimal128, DBRef, Binary } = BSON
    expect(
      writeView({
        small: Long.fromNumber(5),
        large: Long.fromString('9223372036854775807'),
        exact: Decimal128.fromString('0.1'),
        finer: Decimal128.fromString('0.1234567890123456789012'),
        big: 12n,
        plan: new DBRef('plans', new ObjectId(HEX)),
        bytes: new Binary(Buffer.from('a')),
        never: new Date(Number.NaN),
      }),
    ).toEqual({
      small: 5,
      large: '9223372036854775807',
      exact: 0.1,
      finer: '0.1234567890123456789012',
      big: 12,
      plan: { $ref: 'plans', $id: { $id: HEX } },
      bytes: 'a',
      never: null,
    })
  })
})

it('a date is the local time of the zone with its offset from UTC', () => {
  expect(dateText(Date.parse('2026-07-01T00:00:00Z'), 'Europe/Vienna')).toBe(
    '2026-07-01T02:00:00+0200',
  )
  expect(dateText(Date.parse('2026-01-01T00:00:00Z'), 'America/St_Johns')).toBe(
    '2025-12-31T20:30:00-0330',
  )
  const zones = fc.constantFrom('UTC', 'Europe/Vienna', 'America/Sao_Paulo', 'Asia/Kathmandu')
  fc.assert(
    fc.property(fc.integer({ min: 1e9, max: 5e9 }), zones, (seconds, zone) => {
      expect(parseInstant(dateText(seconds * 1000, zone), 'UTC')).toBe(seconds * 1000)
    }),
  )
})

it('envelopes begin with the status', () => {
  expect(JSON.stringify(readEnvelope([{ a: 1 }], true))).toBe(
    '{"status":1,"next_page":true,"details":[{"a":1}]}',
  )
  expect(JSON.stringify(writeEnvelope(true, null, { totalUpdated: 2, status: 0 }))).toBe(
    '{"status":1,"details":true,"entity":null,"totalUpdated":2}',
  )
})
