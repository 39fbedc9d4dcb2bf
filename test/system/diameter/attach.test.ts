/** Sessions that gateways open before any service is used, and services of one rating group. */
import { describe, expect, it } from 'vitest'
import { command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { NamedAvps } from '../../../src/realtime/diameter/named.ts'
import { useOpened } from '../../support/opened.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  creditControl,
  dataSession,
  GATEWAY,
  MIB,
  NODE_SETTINGS,
  subscription,
} from '../../support/system/diameter/gateway-requests.ts'
import { answerAsPeer, connectLink } from '../../support/system/diameter/link.ts'
import { withCatalog } from '../../support/system/exchange.ts'
import { money, useNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

/** MiB that use up the complete credit of a subscriber. */
const ALL = 10_000
const MSI: NamedAvps = { 'Multiple-Services-Indicator': 1 }
const [poor, shared] = [0, 1].map((index) => FIRST_SID + index) as [number, number]

const node = useNode({ subscribers: 3, environment: NODE_SETTINGS })
const link = useOpened(async () => {
  await node().product.start('realtime')
  await node().product.start('recorder')
  const port = node().product.diameterPort
  return connectLink({ port, identity: GATEWAY, respond: answerAsPeer(GATEWAY) })
})

const ask = async (avps: NamedAvps) => (await link().ask(command.creditControl, avps)).named

/** Requests of the node for a session. */
function askedFor(sessionId: string) {
  return link().received.filter(
    ({ command: code, named }) =>
      (code === command.reAuth || code === command.abortSession) &&
      named['Session-Id'] === sessionId,
  )
}

const linesOf = (sessionId: string) =>
  withCatalog(node().product, ({ lines }) =>
    lines.find({ session_id: sessionId }).sort({ stamp: 1 }).toArray(),
  )

const listed = (sid: number) =>
  tollgate(node().product, ['session', 'list', '--sid', String(sid), '--json'])

describe('a session without services', () => {
  const first = (name: string, sid: number) =>
    creditControl(name, 'initial', 0, { ...MSI, ...subscription(sid) })

  it('is open without money, and its services are charged for what they used', async () => {
    const rich = dataSession('attach;rich', 0)
    expect(await ask(rich.initial(2 * ALL))).toMatchObject({ 'Result-Code': 2001 })
    const begin = first('attach;poor', poor)
    const answer = await ask(begin)
    expect(answer).toMatchObject({ 'Result-Code': 2001 })
    expect(answer).not.toHaveProperty('Granted-Service-Unit')
    expect(await ask(begin)).toEqual(answer)
    expect(await node().moneyOf(poor)).toEqual(money(0, ALL))
    const poorSession = dataSession('attach;poor', 0)
    expect(await ask(poorSession.update(1, { asked: 1 }))).toMatchObject({
      'Result-Code': 2001,
      'Multiple-Services-Credit-Control': { 'Result-Code': 4012 },
    })
    const open = JSON.parse((await listed(poor)).stdout) as { session_id: string }[]
    expect(open.map(({ session_id }) => session_id).sort()).toEqual(['attach;poor', 'attach;rich'])
    expect(await ask(rich.termination(1, 0))).toMatchObject({ 'Result-Code': 2001 })
    expect(await ask(poorSession.update(2, { asked: 1 }))).toMatchObject({
      'Multiple-Services-Credit-Control': { 'Granted-Service-Unit': { 'CC-Total-Octets': MIB } },
    })
    const end = { ...creditControl('attach;poor', 'termination', 3, { 'Termination-Cause': 1 }) }
    expect(await ask(end)).toMatchObject({ 'Result-Code': 2001 })
    expect(await node().moneyOf(poor)).toEqual(money(0, 0))
    // It was granted units and has used none of them.
    await waitUntil('its line', async () => (await linesOf('attach;poor')).length === 1)
    expect(await linesOf('attach;poor')).toMatchObject([{ usagev: 0, aprice: 0 }])
  })

  it('receives a RAR and an ASR', async () => {
    expect(await ask(first('attach;asked', shared))).toMatchObject({ 'Result-Code': 2001 })
    const add = ['balance', 'add', '--sid', String(shared), '--include', '1', '--amount', '1']
    expect(await tollgate(node().product, add)).toMatchObject({ code: 0 })
    await waitUntil('RAR', () => askedFor('attach;asked').length > 0)
    const released = await tollgate(node().product, ['session', 'release', 'attach;asked'])
    expect(released).toMatchObject({ code: 0 })
    await waitUntil('ASR', () =>
      askedFor('attach;asked').some(({ command: code }) => code === command.abortSession),
    )
    const end = creditControl('attach;asked', 'termination', 1, { 'Termination-Cause': 1 })
    expect(await ask(end)).toMatchObject({ 'Result-Code': 2001 })
  })

  it('is refused for an unknown subscriber', async () => {
    expect(await ask(first('attach;nobody', 77))).toMatchObject({ 'Result-Code': 5030 })
  })
})

describe('services of one rating group', () => {
  const of = (identifier: number, more: NamedAvps): NamedAvps => ({
    'Rating-Group': 20,
    'Service-Identifier': identifier,
    ...more,
  })
  const octets = (mib: number) => ({ 'CC-Total-Octets': mib * MIB })

  it('have separate lines', async () => {
    const message = (type: 'initial' | 'termination', number: number, services: NamedAvps[]) =>
      creditControl('attach;services', type, number, {
        ...(type === 'initial' ? subscription(FIRST_SID + 2) : { 'Termination-Cause': 1 }),
        'Multiple-Services-Credit-Control': services,
      })
    const begin = message('initial', 0, [
      of(1, { 'Requested-Service-Unit': octets(5) }),
      of(2, { 'Requested-Service-Unit': octets(6) }),
    ])
    const answer = await ask(begin)
    expect(answer['Multiple-Services-Credit-Control']).toMatchObject([
      of(1, { 'Granted-Service-Unit': octets(5), 'Result-Code': 2001 }),
      of(2, { 'Granted-Service-Unit': octets(6), 'Result-Code': 2001 }),
    ])
    expect(await ask(begin)).toEqual(answer)
    expect(await node().moneyOf(FIRST_SID + 2)).toEqual(money(0, 11))
    expect(JSON.parse((await listed(FIRST_SID + 2)).stdout)[0].services).toMatchObject([
      { rating_group: 20, service_identifier: 1 },
      { rating_group: 20, service_identifier: 2 },
    ])
    const end = message('termination', 1, [
      of(2, { 'Used-Service-Unit': octets(2) }),
      of(1, { 'Used-Service-Unit': octets(1) }),
    ])
    expect(await ask(end)).toMatchObject({ 'Result-Code': 2001 })
    await waitUntil('lines', async () => (await linesOf('attach;services')).length === 2)
    expect(await linesOf('attach;services')).toMatchObject([
      { rating_group: 20, service_identifier: 1, usagev: MIB },
      { rating_group: 20, service_identifier: 2, usagev: 2 * MIB },
    ])
    expect(await node().moneyOf(FIRST_SID + 2)).toEqual(money(3, 0))
  })
})
