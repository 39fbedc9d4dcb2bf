/** Sessions of packet gateways, from message to answer: granted units and charges. */
import { describe, expect, it } from 'vitest'
import { bucketOf, moneyOf } from '../../../support/domain/owners.ts'
import { catalogueOf, profileOf, rateOf } from '../../../support/rating/catalogue.ts'
import { PLANS, RATES, RatingFixture } from '../../../support/rating/rating-fixture.ts'
import { Gateway } from '../../../support/realtime/codecs/diameter/gateway.ts'

const ALWAYS = { fromMs: 0, toMs: 4e12 }
const MSI = { 'Multiple-Services-Indicator': 1 }

/** A subscriber with money only, and rates beside the usual ones. */
function withMoney(micros: number, ...rates: (typeof RATES)[number][]): RatingFixture {
  const { toMs } = ALWAYS
  const scene = new RatingFixture({ MONEY: { slot: 0, bucket: moneyOf(micros, { id: 2, toMs }) } })
  scene.catalogue = catalogueOf([...RATES, ...rates], PLANS)
  return scene
}

const used = (units: object, more: object = {}) => ({ 'Used-Service-Unit': units, ...more })
const asked = (units: object, more: object = {}) => ({ 'Requested-Service-Unit': units, ...more })
const time = rateOf('DATA_TIME', 'data_time', '1/10', ALWAYS)
const input = rateOf('DATA_INPUT', 'data_input', '1/10', ALWAYS)
const output = rateOf('DATA_OUTPUT', 'data_output', '3/10', ALWAYS)

describe('a session that starts without services', () => {
  it.each([
    ['with Multiple-Services-Indicator', MSI],
    ['without units', {}],
    ['of an unknown service context', { ...MSI, 'Service-Context-Id': 'x@example' }],
    ['of calls', { ...MSI, 'Service-Context-Id': '32260@3gpp.org' }],
    ['with an empty list', { 'Multiple-Services-Credit-Control': [] }],
  ])('is open, with nothing reserved or granted: %s', (_, avps) => {
    const gateway = new Gateway(withMoney(50))
    const answer = gateway.send('I', avps)
    expect(answer).toMatchObject({ 'Result-Code': 2001, 'CC-Session-Failover': 1 })
    expect(answer).not.toHaveProperty('Granted-Service-Unit')
    expect(answer).not.toHaveProperty('Final-Unit-Indication')
    expect(gateway.scene.bucket('MONEY')).toMatchObject({ free: 50, reserved: 0 })
    expect(gateway.scene.sessions.get('s')).toMatchObject({ state: 'open', services: [] })
  })

  it('is open without money, and refused for a barred or unknown subscriber', () => {
    expect(new Gateway(withMoney(0)).send('I', MSI)['Result-Code']).toBe(2001)
    const scene = withMoney(50)
    scene.profile = profileOf({ ...ALWAYS, barred: true })
    expect(new Gateway(scene).send('I', MSI)['Result-Code']).toBe(4010)
    scene.profile = null
    expect(new Gateway(scene).send('I', MSI)['Result-Code']).toBe(5030)
    expect(scene.sessions.size).toBe(0)
  })

  it('continues with its services, and is free if nothing was used', () => {
    const gateway = new Gateway(withMoney(50))
    gateway.send('I', MSI)
    expect(gateway.send('U', MSI)).not.toHaveProperty('Granted-Service-Unit')
    const service = asked({ 'CC-Total-Octets': 100 }, { 'Rating-Group': 10 })
    const [granted] = gateway.ask('U', [service])
    expect(granted).toMatchObject({
      'Result-Code': 2001,
      'Granted-Service-Unit': { 'CC-Total-Octets': 100 },
    })
    expect(gateway.send('T')['Result-Code']).toBe(2001)
    expect(gateway.scene.lines).toMatchObject([
      { service: { ratingGroup: 10 }, counts: { used: 0, charged: 0 } },
    ])
    expect(gateway.scene.bucket('MONEY')).toMatchObject({ free: 50, reserved: 0 })
  })

  it('ends without a CDR line if it had no services', () => {
    const gateway = new Gateway(withMoney(50))
    gateway.send('I', MSI)
    expect(gateway.send('T')['Result-Code']).toBe(2001)
    expect(gateway.scene.lines).toEqual([])
  })

  it('has the same answer for a repeated request, and another for a changed one', () => {
    const gateway = new Gateway(withMoney(50))
    const first = gateway.send('I', MSI)
    expect(gateway.sendAs(0, 'I', MSI)).toEqual(first)
    expect(gateway.sendAs(0, 'I', asked({}))['Result-Code']).toBe(5012)
    expect(gateway.scene.sessions.get('s')?.processed).toBe(1)
  })

  it('expires like any other', () => {
    const gateway = new Gateway(withMoney(50))
    gateway.send('I', MSI)
    gateway.scene.expire('s')
    expect(gateway.scene.sessions.get('s')?.state).toBe('expired')
    expect(gateway.scene.lines).toEqual([])
  })

  it('receives units for the message if this requests units', () => {
    const answer = new Gateway(withMoney(50)).send('I', { ...MSI, ...asked({}) })
    expect(answer['Granted-Service-Unit']).toEqual({ 'CC-Total-Octets': 250 })
    const event = new Gateway(withMoney(50)).send('E', { 'Service-Context-Id': '32274@3gpp.org' })
    expect(event['Granted-Service-Unit']).toEqual({ 'CC-Service-Specific-Units': 1 })
  })
})

describe('services of one rating group', () => {
  const service = (identifier: unknown, more: object) => ({
    'Rating-Group': 10,
    'Service-Identifier': identifier,
    ...more,
  })

  it('are charged separately if their identifiers differ', () => {
    const gateway = new Gateway(withMoney(1000))
    const octets = { 'CC-Total-Octets': 100 }
    const first = [1, 2, [3, 4]].map((identifier) => service(identifier, asked(octets)))
    const answers = gateway.ask('I', [...first, { 'Rating-Group': 10, ...asked(octets) }])
    expect(answers.map((one) => one['Service-Identifier'])).toEqual([1, 2, [3, 4], undefined])
    for (const one of answers) {
      expect(one).toMatchObject({ 'Rating-Group': 10, 'Granted-Service-Unit': octets })
    }
    expect(gateway.scene.bucket('MONEY').reserved).toBe(80)
    gateway.ask('U', [
      service(2, used({ 'CC-Total-Octets': 30 })),
      service([4, 3], used({ 'CC-Total-Octets': 70 })),
    ])
    gateway.ask('T', [service(1, used({ 'CC-Total-Octets': 10 }))])
    const closed = gateway.scene.lines.filter(
      ({ state, counts: { used: units } }) => state === 'closed' && units > 0,
    )
    expect(
      closed.map((line) => [
        line.service.ratingGroup,
        line.service.serviceIdentifier,
        line.counts.used,
        line.counts.charged,
      ]),
    ).toEqual([
      [10, '1', 10, 2],
      [10, '2', 30, 6],
      [10, '3,4', 70, 14],
    ])
  })

  it('with the same identifier are merged, and answered once', () => {
    const gateway = new Gateway(withMoney(1000))
    const answers = gateway.ask('I', [
      service(1, asked({ 'CC-Total-Octets': 100 })),
      service(1, asked({ 'CC-Total-Octets': 300 })),
      service(2, asked({ 'CC-Total-Octets': 50 })),
    ])
    expect(answers.map((one) => one['Granted-Service-Unit'])).toEqual([
      { 'CC-Total-Octets': 300 },
      { 'CC-Total-Octets': 50 },
    ])
    const report = gateway.ask('T', [
      service(1, used({ 'CC-Total-Octets': 100 })),
      service(1, used({ 'CC-Total-Octets': 60 })),
    ])
    expect(report).toHaveLength(1)
    expect(gateway.scene.lines.map(({ counts: { used: units } }) => units)).toEqual([160, 0])
  })

  it('may have their own rates', () => {
    const rates = [rateOf('VIDEO', 'data', '5/10', ALWAYS), rateOf('WEB', 'data', '1/10', ALWAYS)]
    const scene = withMoney(1000, ...rates)
    scene.calculators = {
      retail: {
        data: [[{ type: 'match', rate_key: 'params.service', line_key: 'service_identifier' }]],
      },
    }
    scene.catalogue = catalogueOf(
      rates.map((rate, index) => ({ ...rate, params: { service: String(index + 1) } })),
      PLANS,
    )
    const gateway = new Gateway(scene)
    const units = { 'CC-Total-Octets': 10 }
    gateway.ask('I', [service(1, asked(units)), service(2, asked(units))])
    gateway.ask('T', [service(1, used(units)), service(2, used(units))])
    expect(
      scene.lines.map(({ pricing: { rateKey }, counts: { charged } }) => [rateKey, charged]),
    ).toEqual([
      ['VIDEO', 5],
      ['WEB', 1],
    ])
  })

  it('continue if others of the message cannot be read or served', () => {
    const gateway = new Gateway(withMoney(1000))
    const units = { 'CC-Total-Octets': 10 }
    const answers = gateway.ask('I', [
      service(1, asked({ 'CC-Total-Octets': 'many' })),
      service(2, asked(units)),
      service(3, asked({ 'CC-Money': { 'Unit-Value': { 'Value-Digits': -1 } } })),
      { 'Rating-Group': 20, ...asked({ 'CC-Money': { 'Unit-Value': { 'Value-Digits': 1 } } }) },
    ])
    expect(answers.map((one) => [one['Service-Identifier'], one['Result-Code']])).toEqual([
      [1, 5004],
      [2, 2001],
      [3, 5004],
      [undefined, 5031],
    ])
    expect(answers[0]).not.toHaveProperty('Granted-Service-Unit')
    expect(answers[1]?.['Granted-Service-Unit']).toEqual(units)
    const alone = gateway.send('U', {
      'Multiple-Services-Credit-Control': [service(1, used({ 'CC-Total-Octets': '-1' }))],
    })
    expect(alone['Result-Code']).toBe(5004)
  })
})

describe('time and octets together', () => {
  const group = { 'Rating-Group': 10 }
  const both = { 'CC-Time': 60, 'CC-Total-Octets': 100 }

  it('are both granted: the priced unit limits the free one', () => {
    const gateway = new Gateway(withMoney(1000))
    const [first] = gateway.ask('I', [asked(both, group)])
    expect(first['Granted-Service-Unit']).toEqual(both)
    expect(gateway.scene.bucket('MONEY').reserved).toBe(20)
    const [next] = gateway.ask('U', [
      { ...used({ 'CC-Time': 60, 'CC-Total-Octets': 10 }), ...asked(both, group) },
    ])
    expect(next['Granted-Service-Unit']).toEqual(both)
    // The session ended by its time limit, and reports no octets.
    const [timed] = gateway.ask('U', [used({ 'CC-Time': 60 }, group)])
    expect(timed['Result-Code']).toBe(2001)
    gateway.ask('T', [used({ 'CC-Time': 5, 'CC-Total-Octets': 20 }, group)])
    expect(gateway.scene.lines.at(-1)).toMatchObject({
      service: { usaget: 'data' },
      counts: { used: 30, charged: 6 },
    })
    expect(gateway.scene.bucket('MONEY')).toMatchObject({ free: 994, reserved: 0 })
  })

  it('are both charged if both have a price', () => {
    const gateway = new Gateway(withMoney(1000, time))
    const [first] = gateway.ask('I', [asked(both, group)])
    expect(first['Granted-Service-Unit']).toEqual(both)
    expect(gateway.scene.bucket('MONEY').reserved).toBe(26)
    gateway.ask('T', [used({ 'CC-Time': 30, 'CC-Total-Octets': 50 }, group)])
    const lines = gateway.scene.lines.map(({ service, counts: { used: units, charged } }) => [
      service.usaget,
      units,
      charged,
    ])
    expect(lines).toEqual([
      ['data', 50, 10],
      ['data_time', 30, 3],
    ])
  })

  it('share the remaining money, and end together', () => {
    const gateway = new Gateway(withMoney(10, time))
    const [first] = gateway.ask('I', [asked(both, group)])
    expect(first['Granted-Service-Unit']).toEqual({ 'CC-Time': 15, 'CC-Total-Octets': 25 })
    const [none] = gateway.ask('U', [
      { ...used({ 'CC-Time': 20, 'CC-Total-Octets': 30 }), ...asked(both, group) },
    ])
    expect(none).toMatchObject({ 'Result-Code': 4012 })
    expect(none).not.toHaveProperty('Granted-Service-Unit')
    expect(gateway.scene.bucket('MONEY')).toMatchObject({ reserved: 0 })
  })

  it('are charged by time if octets have no price', () => {
    const scene = withMoney(1000)
    scene.catalogue = catalogueOf([time], PLANS)
    const gateway = new Gateway(scene)
    const [first] = gateway.ask('I', [asked(both, group)])
    expect(first['Granted-Service-Unit']).toEqual(both)
    expect(scene.bucket('MONEY').reserved).toBe(6)
    gateway.ask('T', [used({ 'CC-Time': 30, 'CC-Total-Octets': 50 }, group)])
    expect(scene.lines.map(({ service, counts }) => [service.usaget, counts.charged])).toEqual([
      ['data_time', 3],
    ])
  })

  it('of a call are granted both', () => {
    const gateway = new Gateway(withMoney(1000))
    const context = { 'Service-Context-Id': '32260@3gpp.org' }
    const [answer] = gateway.ask('I', [asked(both, group)], context)
    expect(answer['Granted-Service-Unit']).toEqual(both)
  })

  it('are granted by a message that is itself the service', () => {
    const answer = new Gateway(withMoney(1000, time)).send('I', asked(both))
    expect(answer['Granted-Service-Unit']).toEqual(both)
  })

  it('are granted, and a unit that cannot be granted is named', () => {
    const gateway = new Gateway(withMoney(1000))
    const units = { ...both, 'CC-Service-Specific-Units': 3 }
    const [first] = gateway.ask('I', [asked(units, group)])
    expect(first).toMatchObject({ 'Result-Code': 2001, 'Granted-Service-Unit': both })
    expect(first['Failed-AVP']).toEqual({
      'Requested-Service-Unit': { 'CC-Service-Specific-Units': 3 },
    })
    const single = new Gateway(withMoney(1000)).send('I', asked(units))
    expect(single['Failed-AVP']).toEqual({
      'Requested-Service-Unit': { 'CC-Service-Specific-Units': 3 },
    })
  })
})

describe('octets by direction', () => {
  const group = { 'Rating-Group': 10 }
  const each = { 'CC-Input-Octets': 100, 'CC-Output-Octets': 200 }

  it('are charged and granted by direction if the rate is by direction', () => {
    const gateway = new Gateway(withMoney(1000, input, output))
    const [first] = gateway.ask('I', [asked(each, group)])
    expect(first['Granted-Service-Unit']).toEqual(each)
    expect(gateway.scene.bucket('MONEY').reserved).toBe(10 + 60)
    const report = { 'CC-Total-Octets': 70, 'CC-Input-Octets': 20, 'CC-Output-Octets': 50 }
    const [next] = gateway.ask('U', [{ ...used(report), ...asked({}, group) }])
    expect(Object.keys(next['Granted-Service-Unit'] as object)).toEqual([
      'CC-Input-Octets',
      'CC-Output-Octets',
    ])
    gateway.ask('T', [used(report, group)])
    const closed = gateway.scene.lines.filter(({ state }) => state === 'closed')
    expect(
      closed.map(({ service, counts }) => [service.usaget, counts.used, counts.charged]),
    ).toEqual([
      ['data_input', 40, 4],
      ['data_output', 100, 30],
    ])
  })

  it('are charged together if the rate is not by direction', () => {
    const gateway = new Gateway(withMoney(1000))
    const [first] = gateway.ask('I', [asked(each, group)])
    expect(first['Granted-Service-Unit']).toEqual({ 'CC-Total-Octets': 300 })
    gateway.ask('T', [used({ 'CC-Input-Octets': 20, 'CC-Output-Octets': 50 }, group)])
    expect(gateway.scene.lines).toMatchObject([
      { service: { usaget: 'data' }, counts: { used: 70 } },
    ])
  })

  it('that are reported in one sum are charged', () => {
    const gateway = new Gateway(withMoney(1000, input, output))
    gateway.ask('I', [asked(each, group)])
    const [report] = gateway.ask('T', [used({ 'CC-Total-Octets': 70 }, group)])
    expect(report['Result-Code']).toBe(2001)
    const paid = gateway.scene.lines.filter(({ counts: { used: units } }) => units > 0)
    expect(paid).toMatchObject([{ service: { usaget: 'data' }, counts: { used: 70, charged: 14 } }])
  })
})

describe('a request for 0 octets', () => {
  const none = asked({ 'CC-Total-Octets': 0 }, { 'Rating-Group': 10 })

  it('is granted 0 octets while there is money', () => {
    const gateway = new Gateway(withMoney(50))
    for (const type of ['I', 'U'] as const) {
      const [answer] = gateway.ask(type, [none])
      expect(answer).toMatchObject({
        'Result-Code': 2001,
        'Granted-Service-Unit': { 'CC-Total-Octets': 0 },
        'Validity-Time': 3600,
      })
    }
    expect(gateway.scene.bucket('MONEY')).toMatchObject({ free: 50, reserved: 0 })
  })

  it('is refused without money, and without a rate', () => {
    const gateway = new Gateway(withMoney(0))
    expect(gateway.ask('I', [none])).toMatchObject([
      { 'Result-Code': 4012, 'Final-Unit-Indication': { 'Final-Unit-Action': 0 } },
    ])
    const scene = withMoney(50)
    scene.catalogue = catalogueOf([time], PLANS)
    expect(new Gateway(scene).ask('I', [none])[0]['Result-Code']).toBe(5031)
  })

  it('reports usage like any other', () => {
    const gateway = new Gateway(withMoney(20))
    gateway.ask('I', [asked({ 'CC-Total-Octets': 100 }, { 'Rating-Group': 10 })])
    expect(gateway.ask('U', [{ ...used({ 'CC-Total-Octets': 100 }), ...none }])).toMatchObject([
      { 'Result-Code': 4012 },
    ])
    expect(gateway.scene.lines.at(-1)).toMatchObject({ counts: { used: 100, charged: 20 } })
  })

  it('is granted no other unit with them', () => {
    const units = { 'CC-Total-Octets': 0, 'CC-Time': 60 }
    const [answer] = new Gateway(withMoney(50)).ask('I', [asked(units, { 'Rating-Group': 10 })])
    expect(answer['Granted-Service-Unit']).toEqual({ 'CC-Total-Octets': 0 })
  })
})

it('the units of a subscriber apply to all services of a rating group', () => {
  const scene = new RatingFixture({
    PACK: { slot: 0, bucket: bucketOf({ credited: 200, toMs: 4e12 }) },
  })
  const gateway = new Gateway(scene)
  const service = (identifier: number) => ({
    ...asked({ 'CC-Total-Octets': 100 }, { 'Rating-Group': 10, 'Service-Identifier': identifier }),
  })
  const answers = gateway.ask('I', [service(1), service(2), service(3)])
  expect(answers.map((one) => one['Result-Code'])).toEqual([2001, 2001, 4012])
})
