import { describe, expect, it } from 'vitest'
import { DecodeErrors } from '../../src/file-types/decode-errors.ts'
import { beforeChangeAt } from '../../src/file-types/tariff-change.ts'
import { problemOf, refusalOf, serviceOf, withRealtime } from '../support/file-types/sample.ts'

const USED = { each: 'used', fields: [['total'], ['in', 'out']], tariff_change_field: 'side' }
const UPDATE = { record_type: 'update_request', session_id: 's1' }

function before(used: unknown, document: unknown = USED) {
  const service = serviceOf(withRealtime({ used_usagev_field: document }), { ...UPDATE, used })
  return [service.used, service.usedBefore]
}

describe('usage over a tariff change', () => {
  it.each([
    [
      [30, 10],
      [
        { total: 10, side: 0 },
        { total: 20, side: 1 },
      ],
    ],
    [
      [30, 20],
      [
        { total: 10, side: '1' },
        { in: 15, out: 5, side: '0' },
      ],
    ],
    [[30, 30], { total: 30, side: 0 }],
    [[30, 0], [{ total: 30, side: 1 }]],
    [
      [36, 13],
      [
        { total: 10, side: 0 },
        { total: 3, side: 0 },
        { total: 23, side: 1 },
      ],
    ],
  ])('is %j as total and units before the change', (expected, used) => {
    expect(before(used)).toEqual(expected)
  })

  it.each([
    [[{ total: 10 }, { total: 20 }]],
    [[{ total: 10, side: 0 }, { total: 20 }]],
    [
      [
        { total: 10, side: 0 },
        { total: 20, side: 2 },
      ],
    ],
    [
      [
        { total: 10, side: 'UNIT_BEFORE_TARIFF_CHANGE' },
        { total: 20, side: 1 },
      ],
    ],
    [
      [
        { total: 10, side: {} },
        { total: 20, side: 1 },
      ],
    ],
  ])('of %j is not split if one member names no side', (used) => {
    expect(before(used)).toEqual([30, -1])
  })

  it('is split by the members with a volume', () => {
    const others = [{ total: 0 }, { time: 5, side: 2 }, null, 'x', {}]
    expect(before([...others, { total: 4, side: 0 }, { total: 5, side: 1 }])).toEqual([9, 4])
    expect(before([{ total: 0, side: 0 }])).toEqual([0, -1])
    expect(before([])).toEqual([0, -1])
  })

  it('is not split if the document has no field for it, nor for totals', () => {
    const { tariff_change_field, ...plain } = USED
    expect(before([{ total: 10, side: 0 }], plain)).toEqual([10, -1])
    const totals = withRealtime({ used_usagev_field: USED, used_usagev_accumulative: true })
    const used = [{ total: 10, side: 0 }]
    expect(serviceOf(totals, { ...UPDATE, used })).toMatchObject({ used: 10, usedBefore: -1 })
    expect(beforeChangeAt(plain, 'used', 'counter')).toBeNull()
  })

  it('is in the unit of the used volume', () => {
    const read = beforeChangeAt(USED, 'used', 'kb1000')
    const message = {
      used: [
        { total: 2, side: 0 },
        { total: 1, side: 1 },
      ],
    }
    expect(read?.({ entry: message, message }, new DecodeErrors())).toBe(2000)
  })

  it('that cannot be read is named like any used volume', () => {
    const document = withRealtime({ used_usagev_field: USED })
    const used = [{ total: 'many', side: 0 }]
    expect(problemOf(document, { ...UPDATE, used })).toBe('used.total must be a number from 0 up')
  })

  it.each([
    [{ ...USED, tariff_change_field: 'a b' }, 'realtime.used_usagev_field.tariff_change_field'],
    [{ ...USED, more: 1 }, 'realtime.used_usagev_field.more is not known'],
    [[USED], 'realtime.used_usagev_field.0.tariff_change_field is not known'],
    [{ each: 'a', fields: [USED] }, 'fields.0.tariff_change_field is not known'],
  ])('cannot be configured by %j', (document, problem) => {
    expect(refusalOf(withRealtime({ used_usagev_field: document }))).toContain(problem)
  })
})
