import { describe, expect, it } from 'vitest'
import type {
  Catalogue,
  IncludedGroup,
  Override,
  ServiceRevision,
  SubscriberProfile,
} from '../../src/domain/catalogue.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { createPoolCheck } from '../../src/rating/pool-check.ts'
import { catalogueOf, plan, profileOf } from '../support/workers/processor-fixture.ts'

const group: IncludedGroup = {
  name: 'G',
  kind: 'units',
  total: 100,
  usagets: new Set(),
  rates: 'all',
  sharing: 'pool',
  isPerQuantity: true,
}
const offer = { id: 'x', fromMs: 0, toMs: FOREVER_MS, prices: new Map(), facts: {} }
const terms = { period: null, limitMonths: null }
const pooled: ServiceRevision = { ...offer, name: 'POOLED', groups: [group], ...terms }
const shared: ServiceRevision = {
  ...offer,
  name: 'SHARED',
  groups: [{ ...group, sharing: 'shared' }],
  ...terms,
}
const catalogue: Catalogue = {
  ...catalogueOf({}),
  services: new Map([pooled, shared].map((one) => [one.name, [one]])),
  plans: new Map([
    ['PLAIN', [{ ...plan, name: 'PLAIN' }]],
    ['OWN', [{ ...plan, name: 'OWN', groups: [group] }]],
    ['WITH', [{ ...plan, name: 'WITH', services: ['SHARED', 'POOLED'] }]],
  ]),
}

const held = (name: string) => ({ name, serviceId: 1, fromMs: 0, toMs: FOREVER_MS, quantity: 1 })
const override: Override = {
  type: 'plan',
  key: 'PLAIN',
  serviceId: 0,
  conditions: [],
  prices: null,
  groups: [group],
  disallowedRates: null,
}

describe('the need for the whole account', () => {
  const needs = createPoolCheck(() => catalogue)
  it.each<[boolean, Partial<SubscriberProfile>]>([
    [false, {}],
    [true, { plan: 'OWN' }],
    [true, { plan: 'WITH' }],
    [false, { plan: 'UNKNOWN' }],
    [true, { services: [held('POOLED')] }],
    [true, { accountServices: [held('POOLED')] }],
    [false, { services: [held('SHARED')] }],
    [true, { overrides: [override] }],
    [false, { overrides: [{ ...override, groups: null }] }],
  ])('%s for %j', (expected, more) => {
    const profile = profileOf(1)
    if (profile === null) throw new Error('no profile')
    expect(needs({ ...profile, plan: 'PLAIN', ...more })).toBe(expected)
  })

  it('is determined by the current catalogue', () => {
    let current = catalogue
    const check = createPoolCheck(() => current)
    const profile = profileOf(1)
    if (profile === null) throw new Error('no profile')
    expect(check({ ...profile, plan: 'OWN' })).toBe(true)
    current = { ...catalogueOf({}), revision: 2 }
    expect(check({ ...profile, plan: 'OWN' })).toBe(false)
  })
})
