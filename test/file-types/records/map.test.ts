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
