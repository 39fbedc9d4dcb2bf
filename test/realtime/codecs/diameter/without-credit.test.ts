/** Sessions that start without credit, where the network element redirects or restricts them. */
import { describe, expect, it } from 'vitest'
import { createJsonCodec } from '../../../../src/realtime/codecs/json/codec.ts'
import { moneyOf } from '../../../support/domain/owners.ts'
import { RatingFixture } from '../../../support/rating/rating-fixture.ts'
import { type Avps, Gateway } from '../../../support/realtime/codecs/diameter/gateway.ts'
import { ANSWERS, DECODE_CONTEXT } from '../../../support/realtime/codecs/settings.ts'

const PAGE = 'https://shop.example/top-up'
const REDIRECT = { action: 'redirect', address_type: 'url', address: PAGE }
const RESTRICT = { action: 'restrict', filters: ['permit in ip from any to 192.0.2.7'] }
const TO_PAGE = {
  'Final-Unit-Action': 1,
  'Redirect-Server': { 'Redirect-Address-Type': 2, 'Redirect-Server-Address': PAGE },
}
const TO_FILTER = { 'Final-Unit-Action': 2, 'Restriction-Filter-Rule': RESTRICT.filters[0] }

function gatewayOf(final_unit: object, micros = 0): Gateway {
  const money = moneyOf(micros, { id: 2, toMs: 4e12 })
  return new Gateway(new RatingFixture({ MONEY: { slot: 0, bucket: money } }), { final_unit })
}

const asked = (units: Avps, group = 10) => ({
  'Rating-Group': group,
  'Requested-Service-Unit': units,
})
const OCTETS = { 'CC-Total-Octets': 100 }

describe.each([
  ['redirect', REDIRECT, TO_PAGE],
  ['restrict', RESTRICT, TO_FILTER],
])('with %s a start without credit', (_, settings, indication) => {
  it.each([
    ['octets', OCTETS],
    ['the default units', {}],
    ['0 octets', { 'CC-Total-Octets': 0 }],
    ['time and octets', { 'CC-Time': 60, 'CC-Total-Octets': 100 }],
  ])('opens the session: %s', (_units, units) => {
    const gateway = gatewayOf(settings)
    const answer = gateway.send('I', { 'Multiple-Services-Credit-Control': [asked(units)] })
    expect(answer).toMatchObject({ 'Result-Code': 2001, 'CC-Session-Failover': 1 })
    expect(answer['Multiple-Services-Credit-Control']).toEqual([
      {
        'Rating-Group': 10,
        'Result-Code': 2001,
        'Validity-Time': 3600,
        'Final-Unit-Indication': indication,
      },
    ])
    expect(gateway.scene.sessions.get('s')).toMatchObject({ state: 'open' })
    expect(gateway.scene.bucket('MONEY')).toMatchObject({ free: 0, reserved: 0 })
  })

  it('is granted units after a top-up, and ends without a charge for the time before', () => {
    const gateway = gatewayOf(settings)
    gateway.ask('I', [asked(OCTETS), asked(OCTETS, 20)])
    gateway.scene.topUp('MONEY', 1000)
    const [granted] = gateway.ask('U', [asked(OCTETS)])
    expect(granted).toMatchObject({ 'Result-Code': 2001, 'Granted-Service-Unit': OCTETS })
    const used = { 'Rating-Group': 10, 'Used-Service-Unit': { 'CC-Total-Octets': 30 } }
    expect(gateway.send('T', { 'Multiple-Services-Credit-Control': [used] })).toMatchObject({
      'Result-Code': 2001,
    })
    expect(gateway.scene.bucket('MONEY')).toMatchObject({ spent: 6, reserved: 0 })
  })

  it('names the services for which the credit does not suffice', () => {
    const gateway = gatewayOf(settings, 20)
    const [first, second] = gateway.ask('I', [asked(OCTETS), asked(OCTETS, 20)])
    expect(first).toMatchObject({ 'Granted-Service-Unit': OCTETS })
    expect(second).toMatchObject({ 'Result-Code': 2001, 'Final-Unit-Indication': indication })
    expect(second).not.toHaveProperty('Granted-Service-Unit')
  })

  it('is refused for another reason', () => {
    const gateway = gatewayOf(settings)
    const unpriced = asked({ 'CC-Money': { 'Unit-Value': { 'Value-Digits': 1 } } })
    const answer = gateway.send('I', { 'Multiple-Services-Credit-Control': [unpriced] })
    expect(answer['Result-Code']).toBe(5031)
    expect(gateway.scene.sessions.size).toBe(0)
  })
})

it.each(['terminate', 'none'])('with %s a start without credit is refused', (action) => {
  const gateway = gatewayOf({ action })
  const answer = gateway.send('I', { 'Multiple-Services-Credit-Control': [asked(OCTETS)] })
  expect(answer['Result-Code']).toBe(4012)
  expect(gateway.scene.sessions.get('s')).toMatchObject({ state: 'denied' })
})

it('an update and an event without credit are refused with redirect, too', () => {
  const gateway = gatewayOf(REDIRECT)
  gateway.send('I', { 'Multiple-Services-Indicator': 1 })
  const [update] = gateway.ask('U', [asked(OCTETS)])
  expect(update).toMatchObject({ 'Result-Code': 4012, 'Final-Unit-Indication': TO_PAGE })
  const event = gatewayOf(REDIRECT).send('E', {
    'Requested-Action': 0,
    'Multiple-Services-Credit-Control': [asked({ 'CC-Service-Specific-Units': 1 })],
    'Service-Context-Id': '32274@3gpp.org',
  })
  expect(event['Result-Code']).toBe(4012)
})

it('the plain format opens it, and reports the redirection', () => {
  const finalUnit = { action: 'redirect', addressType: 'url', address: PAGE } as const
  const codec = createJsonCodec({ ...ANSWERS, finalUnit })
  const money = moneyOf(0, { id: 2, toMs: 4e12 })
  const scene = new RatingFixture({ MONEY: { slot: 0, bucket: money } })
  const start = { record_type: 'start_request', session_id: 's', request_num: 0, sid: 7 }
  const body = JSON.stringify({ ...start, usaget: 'data', usagev: 100 })
  const decoded = codec.decode(Buffer.from(body), { ...DECODE_CONTEXT, nowMs: scene.nowMs })
  if (!decoded.ok) throw new Error(decoded.error.why)
  expect(JSON.parse(codec.encode(decoded.envelope, scene.send(decoded.request)))).toMatchObject({
    status: 1,
    returnCode: 1,
    grantedVolume: 0,
    validityTime: 3600,
    finalUnit: true,
    finalUnitAction: 'redirect',
    redirectAddress: PAGE,
  })
  expect(scene.sessions.get('s')?.state).toBe('open')
})
