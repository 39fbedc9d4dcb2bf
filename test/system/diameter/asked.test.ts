/**
 * Requests of the node to its clients: re-authorization of sessions (RAR), or their abort (ASR).
 */
import { describe, expect, it } from 'vitest'
import type { EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import { textOf, type WireMessage } from '../../../src/realtime/codecs/diameter-wire/message.ts'
import { avpCode, command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { writeEntity } from '../../support/catalog/write.ts'
import { useOpened } from '../../support/opened.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  dataSession,
  GATEWAY,
  granted,
  NODE,
  NODE_SETTINGS,
} from '../../support/system/diameter/gateway-requests.ts'
import {
  answerAsPeer,
  connectLink,
  type Link,
  type Message,
} from '../../support/system/diameter/link.ts'
import { type Fields, withCatalog } from '../../support/system/exchange.ts'
import { money, useNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

/** The complete credit of a subscriber, in MiB. */
const ALL = 10_000
/** MiB that one unit of money buys. */
const PER_UNIT = 100

const environment = {
  ...NODE_SETTINGS,
  TOLLGATE_DIAMETER_ANSWER_TIMEOUT_MS: '500',
  TOLLGATE_CATALOG_POLL_MS: '50',
}
/** Result-Code with which a client answers for a session, if not 2001; 0 if it does not answer. */
const answers = new Map<string, number>()

function respond(request: WireMessage) {
  const code = answers.get(textOf(request.avps, avpCode.sessionId) ?? '') ?? 2001
  if (code === 0) return null
  return { ...answerAsPeer(GATEWAY)(request), 'Result-Code': code }
}

const connect = () => connectLink({ port: node().product.diameterPort, identity: GATEWAY, respond })

const node = useNode({ subscribers: 24, environment })
const link = useOpened(async () => {
  await node().product.start('realtime')
  await node().product.start('admin')
  return connect()
})

/** Requests of the node for a session, in order. */
function askedFor(sessionId: string, links: readonly Link[] = [link()]): Message[] {
  const all = links.flatMap(({ received }) => received)
  return all.filter(({ command: code, named }) => {
    const isAsked = code === command.reAuth || code === command.abortSession
    return isAsked && named['Session-Id'] === sessionId
  })
}

/** Waits for the n-th of them. */
async function asked(sessionId: string, count = 1, over = link()): Promise<Message> {
  const all = () => askedFor(sessionId, [over])
  await waitUntil(`request ${count} for ${sessionId}`, () => all().length >= count)
  return all()[count - 1] as Message
}

/** An open session of the n-th subscriber. */
async function opened(name: string, index: number, asks = 5, over = link()) {
  const one = dataSession(name, index)
  const answer = await over.ask(command.creditControl, one.initial(asks))
  expect(answer.named).toMatchObject({ 'Result-Code': 2001 })
  const send = async (avps: ReturnType<typeof one.initial>, by = over) =>
    (await by.ask(command.creditControl, avps)).named
  return {
    answer: answer.named,
    sid: one.sid,
    update: (number: number, mib = 5, by = over) =>
      send(one.update(number, { asked: mib, used: 0 }), by),
    end: (number: number, used = 0) => send(one.termination(number, used)),
  }
}

async function topUp(index: number): Promise<void> {
  const add = ['balance', 'add', '--sid', String(FIRST_SID + index), '--include', '1']
  expect(await tollgate(node().product, [...add, '--amount', '1'])).toMatchObject({ code: 0 })
}

const write = (collection: EntityCollection, document: Fields, mode: 'insert' | 'replace') =>
  withCatalog(node().product, (catalog) => {
    const fence = node().reader.ledger
    return writeEntity(catalog, collection, document, { mode, timeZone: 'UTC', fence })
  })

/** Changes the only revision, as an operator's tools do. */
async function change(collection: EntityCollection, which: Fields, changes: Fields): Promise<void> {
  const stored = await withCatalog(node().product, (catalog) =>
    (catalog[collection] as typeof catalog.plans).findOne(which),
  )
  await write(collection, { ...stored, ...changes }, 'replace')
}

/** Waits until a metric of Diameter has a value. */
async function metricIs(name: string, labels: string, value: (now: number) => boolean) {
  const line = new RegExp(`^tollgate_diameter_${name}\\{${labels}.*role="realtime"\\} (\\d+)$`, 'm')
  let current = -1
  await waitUntil(`${name} ${labels}`, async () => {
    const text = await (await fetch(`${node().product.adminUrl}/metrics`)).text()
    current = Number(line.exec(text)?.[1] ?? -1)
    return value(current)
  })
}

describe('a session receives a RAR', () => {
  it('after a top-up, and is granted the new credit', async () => {
    const session = await opened('asked;topped', 0, 2 * ALL)
    expect(session.answer).toMatchObject(granted(ALL))
    await topUp(0)
    const request = await asked('asked;topped')
    expect(request.named).toEqual({
      'Session-Id': 'asked;topped',
      ...NODE,
      'Destination-Host': GATEWAY['Origin-Host'],
      'Destination-Realm': GATEWAY['Origin-Realm'],
      'Auth-Application-Id': 4,
      'Re-Auth-Request-Type': 0,
      'Origin-State-Id': expect.any(Number),
    })
    expect(await session.update(1, 2 * ALL)).toMatchObject(granted(ALL + PER_UNIT))
    expect(await session.end(2)).toMatchObject({ 'Result-Code': 2001 })
  })

  it('after a change of its subscriber, and is answered accordingly', async () => {
    const session = await opened('asked;barred', 1)
    const { sid } = session
    await change('subscribers', { sid }, { barred: true })
    expect((await asked('asked;barred')).command).toBe(command.reAuth)
    expect(await session.update(1)).toMatchObject({ 'Result-Code': 4010 })
    await change('subscribers', { sid }, { barred: false })
    await asked('asked;barred', 2)
    expect(await session.update(2)).toMatchObject(granted(5))
    expect(await session.end(3)).toMatchObject({ 'Result-Code': 2001 })
  })

  it('only if it is open', async () => {
    const open = await opened('asked;open', 2)
    // The most recently used session is notified first.
    const ended = await opened('asked;ended', 2)
    const never = dataSession('asked;never', 2).update(1, { used: 1 })
    await link().ask(command.creditControl, never)
    await ended.end(1)
    await topUp(2)
    await asked('asked;open')
    expect(askedFor('asked;ended')).toEqual([])
    expect(askedFor('asked;never')).toEqual([])
    await open.end(1)
  })

  it('over the connection of its last request', async () => {
    const other = await connect()
    const session = await opened('asked;moved', 3)
    expect(await session.update(1, 5, other)).toMatchObject({ 'Result-Code': 2001 })
    await topUp(3)
    await asked('asked;moved', 1, other)
    expect(askedFor('asked;moved')).toEqual([])
    await session.end(2)
    await other.close()
  })

  it('with all other sessions after a change of a rate', async () => {
    const other = await connect()
    const sessions = [
      await opened('asked;all1', 4, 2 * ALL),
      await opened('asked;all2', 5, 2 * ALL, other),
      await opened('asked;all3', 6, 2 * ALL, other),
    ]
    for (const { answer } of sessions) expect(answer).toMatchObject(granted(ALL))
    const tier = { from: 0, to: 'UNLIMITED', interval: 1_048_576, price: 0.02 }
    await change('rates', { key: 'DATA' }, { rates: { data: { BASE: { rate: [tier] } } } })
    const all = ['asked;all1', 'asked;all2', 'asked;all3']
    await waitUntil('all of them', () =>
      all.every((one) => askedFor(one, [link(), other]).length > 0),
    )
    for (const session of sessions) {
      expect(await session.update(1, 2 * ALL)).toMatchObject(granted(ALL / 2))
      await session.end(2)
    }
    await other.close()
  })
})

describe('a session receives an ASR', () => {
  const release = (...args: string[]) => tollgate(node().product, ['session', 'release', ...args])

  it('when an operator releases it, and its client ends it', async () => {
    const session = await opened('asked;released', 8)
    expect(await release('asked;released')).toMatchObject({ code: 0, stderr: '' })
    const request = await asked('asked;released')
    expect(request.command).toBe(command.abortSession)
    expect(request.named).toMatchObject({
      ...NODE,
      'Auth-Application-Id': 4,
      'Destination-Host': GATEWAY['Origin-Host'],
    })
    expect(await session.end(1, 2)).toMatchObject({ 'Result-Code': 2001 })
    expect(await node().moneyOf(session.sid)).toMatchObject({ reserved: 0, spent: 40_000 })
  })

  it('when an operator has already ended it', async () => {
    const session = await opened('asked;now', 9)
    expect(await release('asked;now', '--now')).toMatchObject({ code: 0, stderr: '' })
    expect(await node().moneyOf(session.sid)).toEqual(money(0, 0))
    expect((await asked('asked;now')).command).toBe(command.abortSession)
    // Usage reported after the end is still charged.
    expect(await session.end(1, 2)).toMatchObject({ 'Result-Code': 2001 })
    expect(await node().moneyOf(session.sid)).toMatchObject({ reserved: 0, spent: 40_000 })
  })

  it('when its subscriber has ended, and its usage is charged', async () => {
    const session = await opened('asked;closed', 10)
    await change('subscribers', { sid: session.sid }, { to: new Date() })
    expect((await asked('asked;closed')).command).toBe(command.abortSession)
    expect(await session.end(1, 1)).toMatchObject({ 'Result-Code': 2001 })
    expect(await node().moneyOf(session.sid)).toMatchObject({ reserved: 0, spent: 20_000 })
  })
})

describe('a client', () => {
  it('that answers 5002 receives no further RAR for the session, unlike 2002', async () => {
    answers.set('asked;limited', 2002).set('asked;forgotten', 5002)
    await opened('asked;limited', 12)
    await opened('asked;forgotten', 12)
    for (const count of [1, 2]) {
      await topUp(12)
      await asked('asked;limited', count)
    }
    expect(askedFor('asked;forgotten')).toHaveLength(1)
  })

  it('that does not answer is asked once more, unless it sends a request', async () => {
    for (const name of ['silent', 'silent, to end', 'cut', 'comes']) answers.set(`asked;${name}`, 0)
    const other = await connect()
    const coming = await opened('asked;comes', 17)
    await topUp(17)
    await asked('asked;comes')
    expect(await coming.update(1)).toMatchObject({ 'Result-Code': 2001 })
    await opened('asked;silent', 13)
    await opened('asked;silent, to end', 14)
    await opened('asked;cut', 15, 5, other)
    for (const index of [13, 15]) await topUp(index)
    await tollgate(node().product, ['session', 'release', 'asked;silent, to end'])
    await asked('asked;cut', 1, other)
    await other.close()
    // Another session of the same client tells the node its new connection.
    const again = await connect()
    const later = await opened('asked;later', 16, 5, again)
    await asked('asked;cut', 1, again)
    for (const name of ['asked;silent', 'asked;silent, to end']) {
      await asked(name, 2)
      expect(new Set(askedFor(name).map(({ hopByHopId }) => hopByHopId)).size).toBe(2)
    }
    await metricIs('server_requests_pending', '', (count) => count === 0)
    expect(await later.end(1)).toMatchObject({ 'Result-Code': 2001 })
    await again.close()
    expect(askedFor('asked;silent')).toHaveLength(2)
    expect(askedFor('asked;silent, to end')).toHaveLength(2)
    expect(askedFor('asked;comes')).toHaveLength(1)
    await coming.end(2)
  })
})

describe('the metrics', () => {
  it('count requests, sessions and connections', async () => {
    for (const [kind, outcome] of [
      ['RAR', 'success'],
      ['RAR', 'refused'],
      ['RAR', 'unanswered'],
      ['ASR', 'success'],
      ['ASR', 'unanswered'],
    ]) {
      const labels = `kind="${kind}",outcome="${outcome}"`
      await metricIs('server_requests_total', labels, (count) => count > 0)
    }
    const message = (direction: string, name: string, type: string, result: string) =>
      `direction="${direction}",command="${name}",type="${type}",result="${result}"`
    for (const [name, code] of [
      ['RA', '2001'],
      ['RA', '2002'],
      ['RA', '5002'],
      ['AS', '2001'],
    ] as const) {
      await metricIs('messages_total', message('in', name, 'answer', code), (count) => count > 0)
      await metricIs('messages_total', message('out', name, 'request', ''), (count) => count > 0)
    }
    await metricIs('server_requests_dropped_total', '', (count) => count === 0)
    await metricIs('connections', 'peer="",state="open"', (count) => count === 1)
    // Sessions of clients that did not end them.
    await metricIs('sessions', '', (count) => count === 4)
    await link().close()
    await metricIs('connections', 'peer="",state="open"', (count) => count === -1)
  })
})
