/** Refunds over Diameter (RFC 8506 section 6.4) and over JSON, with their lines and balances. */
import { describe, expect, it } from 'vitest'
import { command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { NamedAvps } from '../../../src/realtime/diameter/named.ts'
import { useOpened } from '../../support/opened.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  creditControl,
  GATEWAY,
  NODE_SETTINGS,
  subscription,
} from '../../support/system/diameter/gateway-requests.ts'
import { connectLink } from '../../support/system/diameter/link.ts'
import { withCatalog } from '../../support/system/exchange.ts'
import { MONEY, useNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

/** Micros of one message in the demo catalogue, and of one MiB. */
const SMS_PRICE = 40_000
const MIB = 1024 * 1024
const MIB_PRICE = 10_000

const node = useNode({ subscribers: 12, environment: NODE_SETTINGS })
const link = useOpened(async () => {
  await node().product.start('realtime')
  await node().product.start('admin')
  return connectLink({ port: node().product.diameterPort, identity: GATEWAY })
})

const DEBIT = 0
const REFUND = 1

async function event(
  index: number,
  sessionId: string,
  number: number,
  action: number,
  more: NamedAvps,
  context = '32274@3gpp.org',
) {
  const avps = creditControl(sessionId, 'event', number, {
    ...subscription(FIRST_SID + index),
    'Requested-Action': action,
    'Service-Context-Id': context,
    ...more,
  })
  return (await link().ask(command.creditControl, avps)).named
}

const units = (members: NamedAvps) => ({ 'Requested-Service-Unit': members })
const messages = (count: number) => units({ 'CC-Service-Specific-Units': count })
const euros = (digits: number, exponent: number) => ({
  'CC-Money': { 'Unit-Value': { 'Value-Digits': digits, Exponent: exponent } },
})

const moneyOf = (index: number) => node().moneyOf(FIRST_SID + index)
const has = (credited: number, spent: number) => ({
  credited: MONEY + credited,
  spent,
  reserved: 0,
  free: MONEY + credited - spent,
})

/** Content of the lines of a session. */
async function linesOf(sessionId: string, count: number) {
  return withCatalog(node().product, async (catalog) => {
    const read = () => catalog.lines.find({ session_id: sessionId }).toArray()
    await waitUntil('lines', async () => (await read()).length >= count)
    const lines = (await read()) as unknown as Record<string, unknown>[]
    return lines.map(({ usaget, usagev, aprice, payments }) => ({
      usaget,
      usagev,
      aprice,
      payments,
    }))
  })
}

describe('REFUND_ACCOUNT', () => {
  it('credits money and units without reference to an event, once, at any time', async () => {
    const money = await event(0, 'refund;money', 0, REFUND, units(euros(25, -1)))
    expect(money).toMatchObject({
      'Result-Code': 2001,
      'CC-Request-Type': 4,
      'Granted-Service-Unit': {
        'CC-Money': { 'Unit-Value': { 'Value-Digits': 25, Exponent: -1 } },
      },
    })
    expect(await moneyOf(0)).toEqual(has(2_500_000, 0))
    expect(await event(0, 'refund;money', 0, REFUND, units(euros(25, -1)))).toEqual(money)
    expect(await moneyOf(0)).toEqual(has(2_500_000, 0))
    expect(await linesOf('refund;money', 1)).toMatchObject([
      {
        usaget: 'money',
        usagev: -2_500_000,
        aprice: -2.5,
        payments: [{ cost: -2.5, cost_micros: -2_500_000, credited: true }],
      },
    ])
    const sms = await event(1, 'refund;sms', 0, REFUND, messages(3))
    expect(sms).toMatchObject({
      'Result-Code': 2001,
      'Granted-Service-Unit': { 'CC-Service-Specific-Units': 3 },
    })
    expect(await moneyOf(1)).toEqual(has(3 * SMS_PRICE, 0))
    const octets = {
      'Multiple-Services-Credit-Control': {
        'Rating-Group': 20,
        ...units({ 'CC-Total-Octets': 5 * MIB }),
      },
    }
    const data = await event(2, 'refund;data', 0, REFUND, octets, '32251@3gpp.org')
    expect(data).toMatchObject({
      'Result-Code': 2001,
      'Multiple-Services-Credit-Control': {
        'Rating-Group': 20,
        'Result-Code': 2001,
        'Granted-Service-Unit': { 'CC-Total-Octets': 5 * MIB },
      },
    })
    expect(await moneyOf(2)).toEqual(has(5 * MIB_PRICE, 0))
    const time = await event(
      3,
      'refund;call',
      0,
      REFUND,
      units({ 'CC-Time': 60 }),
      '32260@3gpp.org',
    )
    expect(time).toMatchObject({
      'Result-Code': 2001,
      'Granted-Service-Unit': { 'CC-Time': 60 },
    })
    expect((await moneyOf(3)).credited).toBeGreaterThan(MONEY)
  })

  it('refunds a part of an event, in units and in money', async () => {
    await event(4, 'refund;part', 0, DEBIT, messages(10))
    expect(await moneyOf(4)).toEqual(has(0, 10 * SMS_PRICE))
    const part = await event(4, 'refund;part', 1, REFUND, messages(4))
    expect(part).toMatchObject({ 'Result-Code': 2001 })
    expect(await moneyOf(4)).toEqual(has(0, 6 * SMS_PRICE))
    await event(4, 'refund;part', 2, REFUND, units(euros(4, -2)))
    expect(await moneyOf(4)).toEqual(has(0, 5 * SMS_PRICE))
    await event(4, 'refund;part', 3, REFUND, {})
    expect(await moneyOf(4)).toEqual(has(0, 0))
    const lines = await linesOf('refund;part', 4)
    expect(lines.map(({ usaget, usagev, aprice }) => [usaget, usagev, aprice])).toEqual([
      ['sms', 10, 0.4],
      ['sms', -4, -0.16],
      ['money', -40_000, -0.04],
      ['sms', -6, -0.2],
    ])
  })

  it('is denied beyond the limit, and where nothing remains to be refunded', async () => {
    const most = await event(5, 'refund;most', 0, REFUND, units(euros(1001, -1)))
    expect(most).toMatchObject({
      'Result-Code': 5003,
      'CC-Request-Number': 0,
      'Error-Message': 'Refund is more than may be refunded',
    })
    expect(await event(5, 'refund;all', 0, REFUND, units(euros(100, 0)))).toMatchObject({
      'Result-Code': 2001,
    })
    expect(await moneyOf(5)).toEqual(has(100_000_000, 0))
    await event(6, 'refund;left', 0, DEBIT, messages(2))
    expect(await event(6, 'refund;left', 1, REFUND, messages(3))).toMatchObject({
      'Result-Code': 5003,
    })
    await event(6, 'refund;left', 2, REFUND, messages(2))
    expect(await event(6, 'refund;left', 3, REFUND, messages(1))).toMatchObject({
      'Result-Code': 5012,
      'Error-Message': 'Nothing to refund',
    })
    expect(await event(6, 'refund;none', 0, REFUND, {})).toMatchObject({ 'Result-Code': 5002 })
    expect(await moneyOf(6)).toEqual(has(0, 0))
  })
})

describe('the same refunds as JSON', () => {
  it('are credited, in part as well, and refused by name', async () => {
    const sid = FIRST_SID + 7
    const send = (session_id: string, request_num: number, more: object) =>
      node().send({ record_type: 'event_request', session_id, request_num, sid, ...more })
    const back = { refund: true }
    expect(await send('j1', 0, { ...back, usaget: 'money', usagev: 1_250_000 })).toMatchObject({
      returnCode: 1,
      grantedVolume: 1_250_000,
    })
    expect(await send('j2', 0, { ...back, usaget: 'sms', usagev: 2 })).toMatchObject({
      grantedVolume: 2,
    })
    expect(await moneyOf(7)).toEqual(has(1_250_000 + 2 * SMS_PRICE, 0))
    await send('j3', 0, { usaget: 'sms', usagev: 5 })
    expect(await send('j3', 1, { ...back, usaget: 'sms', usagev: 6 })).toMatchObject({
      returnCode: -13,
    })
    expect(await send('j3', 2, { ...back, usaget: 'sms', usagev: 5 })).toMatchObject({
      grantedVolume: 5,
    })
    expect(await send('j3', 3, { ...back, usaget: 'sms', usagev: 1 })).toMatchObject({
      returnCode: -14,
    })
    expect(await moneyOf(7)).toEqual(has(1_250_000 + 2 * SMS_PRICE, 0))
  })
})

it('refunds leave a ledger that agrees with the lines', async () => {
  const audit = await tollgate(node().product, ['audit'])
  expect(audit).toMatchObject({ code: 0, stderr: '' })
  expect(audit.stdout).toContain('every unit is accounted for')
})
