import { describe, expect, it } from 'vitest'
import {
  call,
  eventFields,
  type Json,
  quoteCaseOf,
} from '../../support/billing/quote/case-builder.ts'

/** Two weeks of 100 units from 5 January; calls beyond them cost 0.01. */
function pack(dates: readonly [string, number][], more: Json = {}): unknown[] {
  const include = { groups: { G: { value: 100, usage_types: ['call'] } } }
  const value = quoteCaseOf({
    catalogue: { services: [{ name: 'PACK', balance_period: '+2 weeks', include }] },
    subscriber: { plan: 'P', from: '2026-01-01', services: [{ name: 'PACK', from: '2026-01-05' }] },
    events: dates.map(([date, units]) => call(units, { urt: `${date}T12:00:00Z` })),
    ...more,
  })
  return eventFields(value, 'in_group', 'over_group', 'aprice')
}

const [ALL, NOTHING] = [
  [10, 0, 0],
  [0, 10, 0.1],
]

describe('usage reported after expiry, within the period of its service', () => {
  it('uses the units of that period, two and more cycles later', () => {
    for (const now of ['2026-03-10', '2026-04-10', '2026-05-20']) {
      expect(
        pack([
          [now, 10],
          ['2026-01-10', 10],
        ]),
        now,
      ).toEqual([NOTHING, ALL])
    }
  })

  it('uses the remaining units of the period, whatever was used since', () => {
    const other = { name: 'OTHER', balance_period: '+1 month' }
    const include = { groups: { H: { value: 7, usage_types: ['call'] } } }
    const dates: [string, number][] = [
      ['2026-01-10', 95],
      ['2026-03-10', 10],
      ['2026-01-11', 10],
    ]
    const services = [
      { name: 'PACK', from: '2026-01-05' },
      { name: 'OTHER', from: '2026-03-01' },
    ]
    const packed = { groups: { G: { value: 100, usage_types: ['call'] } } }
    const found = pack(dates, {
      catalogue: {
        services: [
          { name: 'PACK', balance_period: '+2 weeks', include: packed },
          { ...other, include },
        ],
      },
      subscriber: { plan: 'P', from: '2026-01-01', services },
    })
    expect(found).toEqual([
      [95, 0, 0],
      [7, 3, 0.03],
      [5, 5, 0.05],
    ])
  })

  it('uses nothing once the period is closed, so that no unit is included twice', () => {
    expect(
      pack([
        ['2026-06-10', 10],
        ['2026-01-10', 10],
      ]),
    ).toEqual([NOTHING, NOTHING])
  })

  it('uses nothing of the period before its begin and after its end', () => {
    const dates: [string, number][] = [
      ['2026-03-10', 10],
      ['2026-01-04', 10],
      ['2026-01-20', 10],
    ]
    expect(pack(dates)).toEqual([NOTHING, NOTHING, NOTHING])
  })
})
