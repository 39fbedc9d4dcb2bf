import { describe, expect, it } from 'vitest'
import { compilePrepaidInclude } from '../../../src/catalog/compile/prepaid-include.ts'
import { REVISION, refusal, stored } from '../../support/catalog/compile/stored.ts'

const include = (fields: object = {}) =>
  stored({
    name: 'PACK',
    external_id: 7,
    priority: 50,
    charging_by: 'usagev',
    charging_by_usaget: 'data',
    ...fields,
  })

describe('a prepaid include', () => {
  it.each([
    ['usagev', 'data', 'units', 'data'],
    ['cost', 'call', 'cost', 'call'],
    ['total_cost', 'total_cost', 'totalCost', ''],
  ])('charges by %s of %s', (charging_by, charging_by_usaget, kind, usaget) => {
    expect(compilePrepaidInclude(include({ charging_by, charging_by_usaget }))).toEqual({
      ...REVISION,
      externalId: 7,
      name: 'PACK',
      kind,
      usaget,
      priority: 50,
      shared: false,
      unlimited: false,
      allowedIn: null,
      moreUsagets: [],
    })
  })

  it('states what it may pay for', () => {
    const allowed_in = { GOLD: ['CALL', 'SMS'], BASE: [] }
    const fields = { allowed_in, additional_charging_usaget: ['video', 'sms'] }
    const compiled = compilePrepaidInclude(include(fields))
    expect(compiled.allowedIn?.get('GOLD')).toEqual(new Set(['CALL', 'SMS']))
    expect(compiled.allowedIn?.get('BASE')).toEqual(new Set())
    expect(compiled.moreUsagets).toEqual(['video', 'sms'])
  })

  it.each([
    [{ external_id: 0 }, 'external_id must be an integer from 1 to 2^53'],
    [{ priority: 1.5 }, 'priority must be an integer'],
    [{ charging_by: 'luck' }, "charging_by must be 'usagev', 'cost' or 'total_cost'"],
    [{ allowed_in: 'GOLD' }, 'allowed_in must be an object'],
    [{ allowed_in: { GOLD: 'CALL' } }, 'allowed_in.GOLD must be a list'],
    [{ allowed_in: { GOLD: [7] } }, 'allowed_in.GOLD.0 must be a text that is not empty'],
    [
      { additional_charging_usaget: ['a.b'] },
      'additional_charging_usaget.0 must be named with letters, digits, _ and - only',
    ],
    [
      { charging_by_usaget: '$data' },
      'charging_by_usaget must be named with letters, digits, _ and - only',
    ],
  ])('refuses %j', (fields, message) => {
    expect(refusal(() => compilePrepaidInclude(include(fields)))).toBe(message)
  })

  it('accepts the empty lists that PHP clients send for empty objects', () => {
    const fields = { allowed_in: [], additional_charging_usaget: [], shared: true, unlimited: true }
    const compiled = compilePrepaidInclude(include(fields))
    expect(compiled).toMatchObject({ shared: true, unlimited: true, allowedIn: null })
  })
})
