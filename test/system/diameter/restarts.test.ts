/** Restarted clients: their Origin-State-Id ends the sessions that they have lost. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  dataSession,
  granted,
  NODE_SETTINGS,
} from '../../support/system/diameter/gateway-requests.ts'
import { connectLink, type Identity, type Link } from '../../support/system/diameter/link.ts'
import { withCatalog } from '../../support/system/exchange.ts'
import { money, useNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const REALM = 'access.example'
const RELAY = { 'Origin-Host': `relay.${REALM}`, 'Origin-Realm': REALM }
let other: Product
const open: Link[] = []

const node = useNode({ subscribers: 20, environment: NODE_SETTINGS })
beforeAll(async () => {
  const { redisUrl, mongoUrl, database } = node().product
  const environment = { ...NODE_SETTINGS, TOLLGATE_DIAMETER_ORIGIN_HOST: 'node2.node.example' }
  other = await startProduct({ redisUrl, mongoUrl, database, environment })
  await Promise.all([node().product.start('realtime'), other.start('realtime')])
  await node().product.start('admin')
})
afterAll(async () => {
  for (const link of open) await link.close()
  await other?.stop()
})

type ClientIdentity = Identity & { 'Origin-State-Id'?: number }

const client = (name: string, stateId?: number): ClientIdentity => ({
  'Origin-Host': `${name}.${REALM}`,
  'Origin-Realm': REALM,
  ...(stateId !== undefined && { 'Origin-State-Id': stateId }),
})

async function connect(identity: ClientIdentity, product = node().product): Promise<Link> {
  const link = await connectLink({ port: product.diameterPort, identity })
  open.push(link)
  return link
}

/** Opens a session of the n-th subscriber that reserves five MiB. */
async function begin(link: Link, name: string, index: number, sender: ClientIdentity) {
  const session = dataSession(name, index)
  const ask = async (avps: object) =>
    (await link.ask(command.creditControl, { ...avps, ...sender })).named
  expect(await ask(session.initial(5))).toMatchObject({ 'Result-Code': 2001, ...granted(5) })
  expect(await node().moneyOf(session.sid)).toEqual(money(0, 5))
  return {
    sid: session.sid,
    update: (number: number) => ask(session.update(number, { asked: 5, used: 0 })),
    end: (number: number, used: number) => ask(session.termination(number, used)),
  }
}

const hasReserved = async (sid: number) => (await node().moneyOf(sid)).reserved > 0
const ended = (sid: number) => waitUntil('it has ended', async () => !(await hasReserved(sid)))

async function lineStates(sessionId: string): Promise<unknown[]> {
  return withCatalog(node().product, async (catalog) => {
    const lines = await catalog.lines.find({ session_id: sessionId }).toArray()
    return lines.map((line) => (line as unknown as { state: unknown }).state)
  })
}

describe('a client whose Origin-State-Id grows', () => {
  it('in its CER loses its sessions, but not those of others', async () => {
    const link = await connect(client('gw1', 100))
    const lost = await begin(link, 'restart;cer', 0, client('gw1'))
    const beside = await connect(client('gw2', 100))
    const kept = await begin(beside, 'restart;beside', 1, client('gw2'))
    await connect(client('gw1', 100))
    await connect(client('gw1', 99))
    await connect(client('gw1', 101))
    await ended(lost.sid)
    expect(await hasReserved(kept.sid)).toBe(true)
    // Usage reported after expiry is charged, on a line that is marked.
    expect(await lost.end(1, 3)).toMatchObject({ 'Result-Code': 2001 })
    expect(await node().moneyOf(lost.sid)).toEqual(money(3, 0))
    await waitUntil('its line', async () => (await lineStates('restart;cer')).length > 0)
    expect(await lineStates('restart;cer')).toEqual(['expired'])
    expect(await kept.end(1, 0)).toMatchObject({ 'Result-Code': 2001 })
  })

  it('in a relayed request loses its sessions, whatever the state of the relay', async () => {
    const relay = await connect({ ...RELAY, 'Origin-State-Id': 5 })
    const lost = await begin(relay, 'restart;relay1', 2, client('gw3', 7))
    const kept = await begin(relay, 'restart;relay2', 3, client('gw4', 7))
    await connect({ ...RELAY, 'Origin-State-Id': 6 })
    const next = await begin(relay, 'restart;relay3', 4, client('gw3', 8))
    await ended(lost.sid)
    expect([await hasReserved(kept.sid), await hasReserved(next.sid)]).toEqual([true, true])
    expect(await next.update(1)).toMatchObject(granted(5))
    for (const one of [kept, next]) await one.end(2, 0)
  })

  it('in a DWR loses its sessions', async () => {
    const link = await connect(client('gw5', 1))
    const lost = await begin(link, 'restart;dwr', 5, client('gw5'))
    await link.ask(command.watchdog, client('gw5', 2))
    await ended(lost.sid)
  })

  it('at another node, over another connection, loses its sessions', async () => {
    const link = await connect(client('gw6', 50))
    const lost = await begin(link, 'restart;node', 6, client('gw6', 50))
    await connect(client('gw6', 51), other)
    await ended(lost.sid)
  })

  it('while the node was down loses its sessions', async () => {
    const link = await connect(client('gw7', 50), other)
    const lost = await begin(link, 'restart;away', 7, client('gw7', 50))
    await other.kill9('realtime')
    await other.start('realtime')
    await connect(client('gw7', 50), other)
    expect(await hasReserved(lost.sid)).toBe(true)
    await connect(client('gw7', 51), other)
    await ended(lost.sid)
  })
})

it('an Origin-State-Id that stays, falls, or is 0 ends no session', async () => {
  const link = await connect(client('gw8', 10))
  const kept = await begin(link, 'restart;kept', 8, client('gw8', 10))
  for (const stateId of [10, 9, 0]) await connect(client('gw8', stateId))
  const marker = await connect(client('gw9', 1))
  const lost = await begin(marker, 'restart;marker', 9, client('gw9', 1))
  await connect(client('gw9', 2))
  await ended(lost.sid)
  expect(await hasReserved(kept.sid)).toBe(true)
  expect(await kept.end(1, 1)).toMatchObject({ 'Result-Code': 2001 })
})

it('restarts leave a ledger that agrees with the lines', async () => {
  const audit = await tollgate(node().product, ['audit'])
  expect(audit).toMatchObject({ code: 0, stderr: '' })
})
