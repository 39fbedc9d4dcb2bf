/** Records in files become events that have been used. */
import { describe, expect, it } from 'vitest'
import {
  CALLS,
  CSV,
  RECORD_CONTEXT,
  readChunks,
  recordType,
} from '../../support/file-types/records.ts'
import { DEFAULTS, type Fields } from '../../support/file-types/sample.ts'

const RECORD = { when: '2026-05-01 10:00:00', caller: '0301234', called: '4930', seconds: '0061' }
const MAPPING = CALLS.usaget_mapping[0] as Fields

function mapped(record: object, changes: Fields = {}, context = RECORD_CONTEXT, given = DEFAULTS) {
  return recordType(changes, given).map({ ...RECORD, ...record }, context)
}

function processed(processor: Fields): Fields {
  return { processor: { ...CALLS, ...processor } }
}

/** `field why`, or the request. */
function problemOf(record: object, changes: Fields = {}, context = RECORD_CONTEXT) {
  const found = mapped(record, changes, context)
  return 'why' in found ? `${found.field} ${found.why}` : found.request
}

describe('a record', () => {
  it('becomes an event whose units are used, and not requested', () => {
    const found = mapped({})
    expect(found).toMatchObject({
      skipped: [],
      request: {
        kind: 'event',
        origin: 'files/CDR',
        sessionId: 'd1ge57',
        requestNumber: -1,
        stamp: 'd1ge57',
        subscriberKey: 'none',
        eventTimeMs: Date.UTC(2026, 4, 1, 10),
        eventTimeGiven: true,
        services: [
          { usaget: 'call', requested: -1, used: 61, usedBefore: -1, calledNumber: '4930' },
        ],
        wantBalances: false,
        pretend: false,
        refund: false,
        fields: { caller: '0301234' },
      },
    })
  })

  it('is identified by all its bytes, or by its stamp fields in any file', () => {
    const texts = readChunks(CSV, ['1,"2",3,é\r\n1, 2 ,3,']).map(({ text }) => text)
    expect(texts).toEqual(['1,"2",3,é', '1, 2 ,3,'])
    const sessionOf = (given: object, fields: unknown) => {
      const found = mapped(given, processed({ stamp_fields: fields }))
      return 'why' in found ? found.why : found.request?.sessionId
    }
    const fields = ['caller', 'when']
    expect(sessionOf({}, fields)).toMatch(/^[0-9a-f]{64}$/)
    expect(sessionOf({ seconds: '5' }, fields)).toBe(sessionOf({}, fields))
    expect(sessionOf({ caller: '1' }, fields)).not.toBe(sessionOf({}, fields))
    const long = { caller: '1'.repeat(200), called: '2'.repeat(60), when: RECORD.when }
    expect(sessionOf(long, ['caller', 'called'])).toMatch(/^[0-9a-f]{64}$/)
    // All of them are empty.
    expect(sessionOf({ note: '' }, ['note'])).toBe('d1ge57')
  })

  it('has a volume: a sum of columns, or a constant', () => {
    const volumes = (source: unknown, more: object = {}) =>
      processed({ usaget_mapping: [{ ...MAPPING, volume_src: source, ...more }] })
    expect(problemOf({ up: '1', seconds: '2' }, volumes(['seconds', 'up']))).toMatchObject({
      services: [{ used: 3 }],
    })
    expect(problemOf({ seconds: '1.5' }, volumes('seconds', { unit: 'minutes' }))).toMatchObject({
      services: [{ used: 90 }],
    })
    expect(problemOf({}, volumes(1, { volume_type: 'value' }))).toMatchObject({
      services: [{ used: 1 }],
    })
    expect(problemOf({ seconds: '0' })).toMatchObject({ services: [{ used: 0 }] })
    expect(problemOf({ seconds: '' })).toBe('seconds is required')
    expect(problemOf({}, volumes(['seconds', 'up']))).toBe('seconds is required')
    expect(problemOf({ seconds: '-1' })).toBe('seconds must not be negative')
    expect(problemOf({ seconds: '99999999999999999' })).toMatch(/^seconds is more than 2\^53/)
  })

  it('is of the first usage type that matches', () => {
    const mappings = [
      { ...MAPPING, usaget: 'sms', src_field: 'kind', pattern: 'S' },
      { ...MAPPING, src_field: 'kind', pattern: 'V' },
    ]
    const changes = processed({ usaget_mapping: mappings })
    expect(problemOf({ kind: 'S' }, changes)).toMatchObject({ services: [{ usaget: 'sms' }] })
    expect(problemOf({ kind: 'V' }, changes)).toMatchObject({ services: [{ usaget: 'call' }] })
    expect(problemOf({ kind: 'X' }, changes)).toBe('record is of no usage type of the file type')
  })

  it('has a time, of the last three months', () => {
    expect(problemOf({ when: '' })).toBe('when is required')
    expect(problemOf({ when: 'yesterday' })).toMatch(/^when must be ISO 8601/)
    expect(problemOf({ when: '2026-02-04 12:00:00' })).toMatchObject({ kind: 'event' })
    expect(problemOf({ when: '2026-02-04 11:59:59' })).toBe('when is too far in the past')
    expect(problemOf({ when: '2026-05-04 12:01:00' })).toMatchObject({ kind: 'event' })
    expect(problemOf({ when: '2026-05-04 12:01:01' })).toBe('when is in the future')
    // Three months before the 31st of May: the last day of February.
    const context = { ...RECORD_CONTEXT, nowMs: Date.UTC(2026, 4, 31, 12) }
    expect(problemOf({ when: '2026-02-28 12:00:00' }, {}, context)).toMatchObject({ kind: 'event' })
    expect(problemOf({ when: '2026-02-28 11:59:59' }, {}, context)).toMatch(/in the past$/)
    const year = { ...DEFAULTS, recordAgeMonthsMax: 12 }
    expect(mapped({ when: '2025-05-04 12:00:00' }, {}, RECORD_CONTEXT, year)).toHaveProperty(
      'request.kind',
      'event',
    )
  })

  it('has a time in a format and a zone', () => {
    const changes = processed({
      date_field: 'day',
      date_format: 'd.m.y',
      time_field: 'clock',
      time_format: 'His',
      timezone: 'Europe/Berlin',
    })
    expect(problemOf({ day: '01.05.26', clock: '120000' }, changes)).toMatchObject({
      eventTimeMs: Date.UTC(2026, 4, 1, 10),
    })
  })

  describe('with a list of services', () => {
    const data = (changes: Fields = {}) => ({
      ...processed({
        services_field: 'parts',
        stamp_fields: 'id',
        rating_group_field: 'rg',
        usaget_mapping: [{ usaget: 'data', volume_src: [['up', 'down']] }],
      }),
      ...changes,
    })
    const parts = [
      { rg: 1, up: 1 },
      { rg: 2, up: 5, down: 7 },
      { rg: 1, down: 3 },
    ]
    const filters = [
      { conditions: [{ field_name: 'rg', op: '$eq', value: 1 }], skip_calc: ['all'] },
    ]

    it('is usage of each; what is of the same service is added up', () => {
      expect(problemOf({ id: 'a', parts }, data())).toMatchObject({
        kind: 'event',
        services: [
          { ratingGroup: 1, usaget: 'data', requested: -1, used: 4 },
          { ratingGroup: 2, usaget: 'data', requested: -1, used: 12 },
        ],
      })
      expect(problemOf({ parts: { rg: 9, up: 2 } }, data())).toMatchObject({
        services: [{ ratingGroup: 9, used: 2 }],
      })
      expect(problemOf({ rg: 8, up: 6 }, data())).toMatchObject({
        services: [{ ratingGroup: 8, used: 6 }],
      })
    })

    it('is the same record whichever of them are charged', () => {
      const idOf = (record: object, changes: Fields) => {
        const found = mapped(record, changes)
        return 'why' in found ? found.why : found.request?.sessionId
      }
      const all = idOf({ id: 'a', parts }, data())
      expect(all).toMatch(/^[0-9a-f]{64}$/)
      expect(idOf({ id: 'a', parts: parts.slice(1) }, data())).toBe(all)
      expect(idOf({ id: 'a', parts }, data({ filters }))).toBe(all)
      expect(idOf({ id: 'b', parts }, data())).not.toBe(all)
      const named = parts.map((part, index) => ({ ...part, id: index }))
      expect(idOf({ id: 'a', parts: named }, data())).toBe(all)
      expect(mapped({ id: 'a', parts: [{ rg: 1, up: 1 }] }, data({ filters }))).toMatchObject({
        request: null,
      })
    })

    it('is wrong as a whole if one of them is', () => {
      const wrong = (last: unknown) => problemOf({ parts: [...parts, last] }, data())
      expect(wrong({ rg: 3 })).toBe('parts.3.up is required')
      expect(wrong({ rg: 'x', up: 1 })).toMatch(/^parts.3.rg must be a whole number/)
      expect(wrong(7)).toBe('parts.3 must be a record')
      expect(problemOf({ parts: [] }, data())).toBe('parts must have at least one service')
      expect(problemOf({ up: 5, parts: [{ rg: 1 }, { rg: 2 }] }, data())).toBe(
        'parts.0.up must be in the service itself: it is one of several',
      )
      const many = Array.from({ length: 1_025 }, (_, rg) => ({ rg, up: 1 }))
      expect(problemOf({ parts: many }, data())).toMatch(/^parts.1024 is beyond the 1024 services/)
    })
  })

  it('may be excluded by a filter', () => {
    const filters = [
      { conditions: [{ field_name: 'called', op: '$regex', value: '/^49/' }], skip_calc: ['all'] },
    ]
    expect(mapped({}, { filters })).toMatchObject({
      request: null,
      skipped: [{ usaget: 'call', granted: 0 }],
    })
    expect(problemOf({ called: '33' }, { filters })).toMatchObject({ kind: 'event' })
  })

  it('names its subscriber by the rules of the document only, if it has any', () => {
    expect(problemOf({ caller: '', sid: '7' })).toMatchObject({ subscriberKey: 'none' })
    expect(mapped({ caller: undefined, sid: '7' })).toEqual({ field: 'caller', why: 'is required' })
    const changes = { customer_identification_fields: undefined }
    expect(problemOf({ sid: '7' }, changes)).toMatchObject({
      subscriberKey: 'sid',
      subscriberValue: '7',
    })
    expect(problemOf({}, changes)).toBe('sid is required, or msisdn or imsi in its place')
  })

  it('has no request number, dry run or request type, whatever its columns are called', () => {
    const columns = { request_num: 'x', pretend: 'x', record_type: 'stop', session_id: 's' }
    expect(problemOf(columns)).toMatchObject({ requestNumber: -1, pretend: false, kind: 'event' })
  })
})
