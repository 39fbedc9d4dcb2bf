import { describe, expect, it } from 'vitest'
import {
  type CustomerKind,
  fieldsOf,
  type RevisionContext,
  readAccountRevision,
  readSubscriberRevision,
} from '../../../src/external/customers/revisions.ts'

const ZONE = 'Asia/Jerusalem'
const context: RevisionContext = {
  timeZone: ZONE,
  customFields: { account: [], subscriber: [] },
}
const field = (name: string, more: object = {}) => ({
  name,
  isMandatory: true,
  isDate: false,
  plays: [],
  ...more,
})

const account = { type: 'account', aid: 17, from: '2026-01-01 00:00:00', to: '2170-01-01 00:00:00' }
const subscriber = { ...account, type: 'subscriber', sid: 4, plan: 'GOLD' }
const read = (kind: CustomerKind, more: object) =>
  fieldsOf(kind, { ...(kind === 'account' ? account : subscriber), ...more }, context)

describe('a datetime', () => {
  it.each([
    ['2026-01-31 12:00:00', '2026-01-31T10:00:00.000Z'],
    ['2026-07-31 12:00:00', '2026-07-31T09:00:00.000Z'],
    ['2026-01-31T12:00:00', '2026-01-31T10:00:00.000Z'],
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:00+05:30', '2026-01-31T06:30:00.000Z'],
    ['2026-01-31T12:00:00-0500', '2026-01-31T17:00:00.000Z'],
    ['2026-01-31T12:00:00.250Z', '2026-01-31T12:00:00.250Z'],
    ['2026-01-31', '2026-01-30T22:00:00.000Z'],
  ])('%s is %s', (given, instant) => {
    const names = ['from', 'to', 'creation_time', 'activation_date', 'deactivation_date']
    for (const name of [...names, 'plan_activation', 'plan_deactivation']) {
      const around = { from: '1990-01-01 00:00:00', to: '2170-01-01 00:00:00', [name]: given }
      expect(read('subscriber', around)[name], name).toEqual(new Date(instant))
    }
  })

  it.each(['', null])('%j means that there is none', (empty) => {
    const revision = read('subscriber', { to: empty, plan_activation: empty })
    expect(revision.to).toEqual(new Date('2170-01-01T00:00:00Z'))
    expect('plan_activation' in revision).toBe(false)
  })

  it.each([
    ['from', '2026-02-30 00:00:00', "from must be a date such as 2026-01-31 23:59:59, is '2026-02"],
    ['to', 'tomorrow', "to must be a date such as 2026-01-31 23:59:59, is 'tomorrow'"],
    ['activation_date', 20260101, 'activation_date must be a date such as 2026-01-31 23:59:59'],
    ['from', undefined, 'from is missing'],
    ['to', '2025-12-31 00:00:00', 'to must not be before from'],
  ])('%s %j is refused', (name, value, text) => {
    expect(() => read('subscriber', { [name]: value })).toThrow(text)
  })
})

describe('a revision', () => {
  it('gets first_name and last_name, and keeps the names of the interface', () => {
    expect(read('account', { firstname: 'Ada', lastname: 'Byron' })).toMatchObject({
      firstname: 'Ada',
      lastname: 'Byron',
      first_name: 'Ada',
      last_name: 'Byron',
    })
    expect(read('account', { first_name: 'Ada' })).toMatchObject({ firstname: 'Ada' })
    expect('first_name' in read('account', {})).toBe(false)
  })

  it('has numbers in the form of requests, as the installation has set it', () => {
    const sent = { msisdn: '+44 7700 900123', imsi: ['234-150000000001'], second: '+44 1' }
    const normal = { ...sent, msisdn: '447700900123', imsi: ['234150000000001'] }
    expect(read('subscriber', sent)).toMatchObject(normal)
    expect(read('subscriber', { msisdn: 447700900123 })['msisdn']).toBe('447700900123')
    expect(read('account', sent)).toMatchObject(sent)
    const own = [field('msisdn', { numbering: 'any' }), field('second', { numbering: 'msisdn' })]
    const customFields = { account: [], subscriber: own }
    expect(
      fieldsOf('subscriber', { ...subscriber, ...sent }, { ...context, customFields }),
    ).toEqual(expect.objectContaining({ ...normal, msisdn: sent.msisdn, second: '441' }))
  })

  it('keeps numbers that cannot be read', () => {
    const sent = { msisdn: '4.477E+11', imsi: ['n/a', '234150000000001'] }
    expect(read('subscriber', sent)).toMatchObject(sent)
  })

  it('keeps unknown fields as they are', () => {
    const more = { phone: '050-1', number_plan: { serial: 7 }, imsi: ['1', '2'], vip: true }
    expect(read('subscriber', { ...more, since: '2026-01-01 00:00:00' })).toMatchObject({
      ...more,
      since: '2026-01-01 00:00:00',
    })
  })

  it.each([
    ['account', { aid: undefined }, 'aid is missing'],
    ['account', { aid: 'x' }, 'aid must be an integer from 1'],
    ['subscriber', { sid: undefined }, 'sid is missing'],
    ['subscriber', { sid: 0 }, 'sid must be an integer from 1'],
    ['subscriber', { plan: undefined }, 'plan is missing'],
    ['subscriber', { plan: '' }, 'plan is missing'],
    ['subscriber', { plan: 5 }, 'plan must be a text'],
    ['subscriber', { former_plan: {} }, 'former_plan must be a text'],
    ['subscriber', { services: 'S' }, 'services must be a list'],
    ['subscriber', { services: [{}] }, 'services.0.name is missing'],
    ['subscriber', { services: [{ name: 'S', service_id: -1 }] }, 'services.0.service_id must be'],
    ['subscriber', { services: [{ name: 'S', quantity: 0 }] }, 'services.0.quantity must be'],
    ['subscriber', { services: [{ name: 'S', to: 'x' }] }, 'services.0.to must be a date'],
    ['account', { overrides: [{ key: 'S' }] }, 'overrides.0.type is missing'],
    ['account', { overrides: [{ type: 'plan' }] }, 'overrides.0.key is missing'],
    ['account', { overrides: [{ type: 'plan', key: 'P', value: 5 }] }, 'overrides.0.value must be'],
    ['subscriber', { discounts: ['D'] }, 'discounts.0 must be an object'],
    ['account', { payment_gateway: 'x' }, 'payment_gateway must be an object'],
    [
      'account',
      { payment_gateway: { active: { card_expiration: 'x' } } },
      'active.card_expiration',
    ],
    ['account', { 'a.b': 1 }, 'has a name that cannot be stored'],
    ['account', { more: { $set: 1 } }, 'more.$set has a name that cannot be stored'],
  ] as const)('of %s with %j is refused', (kind, more, text) => {
    expect(() => read(kind, more)).toThrow(text)
  })

  it('is refused if it is nested too deeply', () => {
    let nested: unknown = 1
    for (let depth = 0; depth < 30; depth += 1) nested = [nested]
    expect(() => read('account', { nested })).toThrow('is nested more than 20 times')
  })

  it('has numbers of accounts, subscribers and services as numbers', () => {
    const revision = read('subscriber', {
      aid: '17',
      sid: '4',
      services: [{ name: 'S', service_id: '9', quantity: '2' }],
    })
    expect(revision).toMatchObject({ aid: 17, sid: 4 })
    expect(revision['services']).toEqual([{ name: 'S', service_id: 9, quantity: 2 }])
  })

  it('has services with dates', () => {
    const [service] = read('account', {
      services: [
        {
          name: 'S',
          from: '2026-01-01 00:00:00',
          to: '2026-02-01T00:00:00Z',
          creation_time: '2026-01-01 00:00:00',
          comment: 'kept',
        },
      ],
    })['services'] as unknown[]
    expect(service).toEqual({
      name: 'S',
      from: new Date('2025-12-31T22:00:00Z'),
      to: new Date('2026-02-01T00:00:00Z'),
      creation_time: new Date('2025-12-31T22:00:00Z'),
      comment: 'kept',
    })
  })

  it('has the dates of its card, and keeps overrides and discounts', () => {
    const overrides = [{ type: 'plan', key: 'GOLD', value: { price: [] }, id: '1' }]
    const active = {
      name: 'g',
      card_expiration: '2030-01-31 00:00:00',
      transaction_exhausted: true,
    }
    const revision = read('account', { overrides, payment_gateway: { active, former: [] } })
    expect(revision['overrides']).toEqual(overrides)
    expect(revision['payment_gateway']).toEqual({
      active: { ...active, card_expiration: new Date('2030-01-30T22:00:00Z') },
      former: [],
    })
    const discounts = [{ key: 'D', from: '2026-01-01 00:00:00' }]
    expect(read('subscriber', { discounts })['discounts']).toEqual(discounts)
  })

  it('loses fields that PHP writes as empty lists', () => {
    const revision = read('account', { overrides: [], services: {}, payment_gateway: [] })
    expect(Object.keys(revision).sort()).toEqual(['aid', 'from', 'to', 'type'])
  })
})

describe('custom fields', () => {
  const custom: RevisionContext = {
    timeZone: ZONE,
    customFields: {
      account: [field('branch'), field('vat.id')],
      subscriber: [
        field('device', { plays: ['MOBILE'] }),
        field('port_date', { isMandatory: false, isDate: true }),
        field('contract.end', { isMandatory: false, isDate: true }),
      ],
    },
  }

  it.each([
    [{ branch: 'N', vat: { id: 1 } }, null],
    [{ branch: '', vat: { id: 1 } }, 'branch is missing: it is mandatory'],
    [{ branch: 'N' }, 'vat.id is missing: it is mandatory'],
    [{ branch: false, vat: { id: 0 } }, null],
  ])('of an account %j: %s', (more, text) => {
    const check = () => readAccountRevision({ ...account, ...more }, 'data.3', custom)
    if (text === null) expect(check).not.toThrow()
    else expect(check).toThrow(`data.3.${text}`)
  })

  it('are mandatory for the subscribers of their plays only', () => {
    const of = (play: string) => readSubscriberRevision({ ...subscriber, play }, '', custom)
    expect(of('TV')).toMatchObject({ aid: 17, sid: 4, fields: { play: 'TV' } })
    expect(() => of('MOBILE')).toThrow('device is missing: it is mandatory')
  })

  it('that are dates become dates', () => {
    const more = { port_date: '2026-01-01 00:00:00', contract: { end: '2026-02-01', x: 1 } }
    expect(fieldsOf('subscriber', { ...subscriber, ...more }, custom)).toMatchObject({
      port_date: new Date('2025-12-31T22:00:00Z'),
      contract: { end: new Date('2026-01-31T22:00:00Z'), x: 1 },
    })
    expect(() => fieldsOf('subscriber', { ...subscriber, port_date: 'soon' }, custom)).toThrow(
      "port_date must be a date such as 2026-01-31 23:59:59, is 'soon'",
    )
  })
})
