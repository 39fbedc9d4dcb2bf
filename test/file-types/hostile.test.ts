/** Maliciously built documents: each is refused with a path, or is a file type. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { fileTypeOrProblem, installedFileTypes } from '../../src/file-types/installed.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import {
  DEFAULTS,
  documentWith,
  mapped,
  refusalOf,
  START,
  withMapping,
  withRealtime,
} from '../support/file-types/sample.ts'
import { wideDocument } from '../support/realtime/codecs/fuzz-dialects.ts'

function nested(depth: number, wrap: (inner: unknown) => unknown, core: unknown = 'x'): unknown {
  let value = core
  for (let level = 0; level < depth; level += 1) value = wrap(value)
  return value
}

describe('a document with very deep or very large content', () => {
  const each = (inner: unknown) => [{ each: 'a', fields: inner }]

  it('that contains itself is refused with its path', () => {
    const withoutEnd: unknown[] = []
    withoutEnd.push({ each: 'a', fields: withoutEnd })
    for (const document of [
      withMapping({ volume_src: withoutEnd }),
      withRealtime({ used_usagev_field: withoutEnd }),
      documentWith({ unify: withoutEnd }),
      documentWith({ rate_calculators: withoutEnd }),
      parse('&d\nfile_type: T\nparser: *d\nprocessor: *d\nrealtime: *d'),
      parse('file_type: T\nparser: {type: json}\nunify: &u [*u, *u, *u]'),
    ]) {
      expect(refusalOf(document)).toBe('file_types.T is nested deeper than 32')
    }
  })

  it.each([33, 1_000, 100_000])('nested %d deep is refused', (depth) => {
    const deep = nested(depth, each)
    expect(refusalOf(withMapping({ volume_src: deep }))).toContain('is nested deeper than 32')
    expect(refusalOf(documentWith({ unify: nested(depth, (inner) => ({ inner })) }))).toContain(
      'deeper',
    )
    expect(refusalOf(nested(depth, (inner) => ({ inner })))).toBe(
      'file_types is nested deeper than 32',
    )
  })

  it('nested as deep as a person may write it is accepted', () => {
    expect(refusalOf(withMapping({ volume_src: nested(5, each, ['x']) }))).toBe('')
  })

  it.each([
    ['structure', documentWith({ parser: { type: 'json', structure: Array(20_001).fill(1) } })],
    [
      'keys',
      documentWith({ unify: Object.fromEntries(Array.from({ length: 20_001 }, (_, i) => [i, 1])) }),
    ],
    ['aliases', documentWith({ unify: nested(9, (inner) => Array(9).fill(inner)) })],
    [
      'mappings',
      documentWith({ processor: { usaget_mapping: Array(9_999).fill({ usaget: 'a' }) } }),
    ],
  ])('with too many values is refused: %s', (_what, document) => {
    expect(refusalOf(document)).toBe('file_types.T has more than 20000 values')
  })

  it('does not affect the other documents', () => {
    const deep = documentWith({ file_type: 'DEEP', unify: nested(50_000, (inner) => [inner]) })
    const installed = installedFileTypes([deep, documentWith()], DEFAULTS)
    const problemOf = (name: string) => installed.find((one) => one.name === name)?.problem
    expect(problemOf('DEEP')).toEqual({
      path: 'file_types.DEEP',
      reason: 'is nested deeper than 32',
    })
    expect(problemOf('T')).toBeNull()
  })
})

const INHERITED = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'isPrototypeOf',
]

describe('names that every object inherits', () => {
  const fieldsNamed = (name: string) =>
    documentWith({
      file_type: '__proto__',
      processor: {
        usaget_mapping: [
          { src_field: name, op: '$exists', pattern: '/./', usaget: 'other', volume_src: [name] },
          { usaget: name, volume_src: ['want'] },
        ].map(({ op: _op, ...mapping }) => mapping),
        called_number_field: name,
        rating_group_field: name,
        stamp_fields: [name],
      },
      realtime: {
        session_id_fields: [name, 'session_id'],
        request_num_field: name,
        pretend_field: name,
        used_usagev_field: name,
        subscriber_fields: { msisdn: name, sid: 'sid' },
      },
      response: { fields: [{ response_field_name: name, row_field_name: `uf.${name}` }] },
    })

  it.each(INHERITED)('%s is only read from the message itself', (name) => {
    const document = fieldsNamed(name)
    const { request } = mapped(document, START)
    expect(request).toMatchObject({
      sessionId: ';s1',
      requestNumber: -1,
      subscriberKey: 'sid',
      pretend: false,
    })
    expect(request?.services).toMatchObject([
      { usaget: name, ratingGroup: -1, calledNumber: '', used: 0 },
    ])
    const update = { ...START, record_type: 'update_request' }
    const own = JSON.parse(`{${JSON.stringify(update).slice(1, -1)},"${name}":1}`)
    const given = mapped(document, own).request
    expect(given).toMatchObject({ sessionId: '1;s1', requestNumber: 1, pretend: true })
  })

  it.each(INHERITED)('%s is not a key of a section, of rules or of settings', (name) => {
    const own = (value: unknown) => JSON.parse(`{"${name}":${JSON.stringify(value)}}`)
    for (const document of [
      documentWith({ realtime: { ...own(1), used_usagev_field: 'spent' } }),
      withRealtime({ default_values: own(1) }),
      withRealtime({ final_unit: own(1) }),
      documentWith({ response: { return_codes: own(5) } }),
      documentWith({ rate_calculators: own({ '*': 5 }) }),
      documentWith({ filters: [{ ...own(1), conditions: [], skip_calc: ['all'] }] }),
      documentWith({ response: { fields: [{ response_field_name: 'a', row_field_name: name }] } }),
      documentWith({
        response: { fields: [{ response_field_name: 'a', row_field_name: { classMethod: name } }] },
      }),
      withMapping({ unit: name }),
      documentWith({ parser: { type: name } }),
    ]) {
      expect(refusalOf(document), JSON.stringify(document)).not.toBe('')
    }
    expect(({} as Record<string, unknown>)['used_usagev_field']).toBeUndefined()
  })
})

const VALUES: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  1e308,
  Number.NaN,
  true,
  'x',
  '__proto__',
  'a.b[c=d].e',
  '/(a+)+$/',
  '/(a+)+(?=b)/',
  [],
  {},
  [[]],
  [[[]]],
  [{}],
  { a: 1 },
  [null],
  [undefined],
  new Date(Number.NaN),
  new Date(0),
  5n,
  '\0',
  '\ud800',
  '.'.repeat(50),
  '['.repeat(50),
  'a[',
  'a[b=',
  'a..b',
  '%',
  '9'.repeat(400),
  'd.m.Y',
  Symbol('s'),
  () => 1,
  Object.create(null),
  JSON.parse('{"__proto__":{"type":"json"}}'),
  { conditions: [{ src_field: 'a', op: '$in', pattern: [1, {}] }] },
  [{ each: 'a', fields: {} }],
]

/** A copy with one value replaced or removed. */
function changed(document: unknown, places: readonly number[], value: unknown): unknown {
  const copy = structuredClone(document)
  let parent: Record<string, unknown> = { root: copy }
  let key = 'root'
  for (const place of places) {
    const inner = parent[key]
    if (typeof inner !== 'object' || inner === null) break
    const keys = Object.keys(inner)
    if (keys.length === 0) break
    parent = inner as Record<string, unknown>
    key = keys[place % keys.length] as string
  }
  parent[key] = value
  return copy
}

describe('any value at any position of a document', () => {
  const place = fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 8 })
  const damages = fc.array(fc.tuple(place, fc.constantFrom(...VALUES)), {
    minLength: 1,
    maxLength: 3,
  })
  const parsers = fc.constantFrom('json', 'xml', 'key_value', 'diameter')

  it('is accepted or refused with its path, and an accepted document maps messages', () => {
    let taken = 0
    const before = Reflect.ownKeys(Object.prototype)
    const property = fc.property(parsers, damages, (type, all) => {
      let document: unknown = wideDocument({ type })
      for (const [places, value] of all) {
        // A value that cannot be copied ends the changes.
        try {
          document = changed(document, places, value)
        } catch {
          break
        }
      }
      const { fileType, problem } = fileTypeOrProblem(document, DEFAULTS)
      if (problem !== null) {
        expect(problem.path).toMatch(/^file_types/)
        expect(problem.reason.length).toBeGreaterThan(4)
      } else {
        taken += 1
        const context = {
          origin: 'o',
          nowMs: 0,
          servicesMax: 4,
          eventAgeMsMax: 1,
          eventFutureMsMax: 1,
        }
        for (const message of [{}, START, { op: 'I', session: 1, list: [{ kind: 'x', to: {} }] }]) {
          fileType.map(message, { ...context, bodyDigest: () => 'd' })
        }
      }
    })
    fc.assert(property, propertyRuns(3_000))
    expect(taken).toBeGreaterThan(0)
    expect(Reflect.ownKeys(Object.prototype)).toEqual(before)
  })
})
