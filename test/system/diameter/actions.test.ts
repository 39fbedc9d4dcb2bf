/** Spending caps over Diameter: a gateway of which sessions are barred, redirected or throttled. */
import { describe, expect, it } from 'vitest'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import type { RuleActionDocument } from '../../../src/domain/events/rule-documents.ts'
import { command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { NamedAvps } from '../../../src/realtime/diameter/named.ts'
import { useOpened } from '../../support/opened.ts'
import { aidOf, FIRST_SID } from '../../support/product/population.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  dataSession,
  GATEWAY,
  granted,
  NODE_SETTINGS,
} from '../../support/system/diameter/gateway-requests.ts'
import { answerAsPeer, connectLink } from '../../support/system/diameter/link.ts'
import { withCatalog } from '../../support/system/exchange.ts'
import { useNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

/** In force when 5 MiB of the credit are used: the n-th subscriber has a rule of its own. */
const ACTIONS: readonly RuleActionDocument[] = [
  { type: 'bar' },
  { type: 'redirect', address: 'https://shop.example.net/cap' },
  { type: 'throttle', policy: 'SLOW', usaget: ['data'] },
]
const RULES = {
  balance: ACTIONS.map((action, index) => ({
    event_code: `CAP_${action.type}`,
    filter: { aid: [aidOf(index, 1)] },
    conditions: [{ type: 'reached_constant', value: -99.95, paths: [{ path: 'balance.cost' }] }],
    action,
  })),
}

const node = useNode({ subscribers: ACTIONS.length, environment: { ...NODE_SETTINGS } })
const link = useOpened(async () => {
  await withCatalog(node().product, (catalog) =>
    writeStoredConfig(catalog, 'events', () => RULES, { nowMs: 0, by: 'test' }),
  )
  await node().product.start('realtime')
  const port = node().product.diameterPort
  return connectLink({ port, identity: GATEWAY, respond: answerAsPeer(GATEWAY) })
})

function askedFor(sessionId: string): number {
  return link().received.filter(
    ({ command: code, named }) => code === command.reAuth && named['Session-Id'] === sessionId,
  ).length
}

const ask = async (avps: NamedAvps) => (await link().ask(command.creditControl, avps)).named
const groupOf = (named: NamedAvps) => named['Multiple-Services-Credit-Control'] as NamedAvps

/**
 * Two open sessions of a subscriber. The first has used 5 MiB, and has this answer; the other one
 * has been asked for re-authorization.
 */
async function capped(index: number) {
  const { type } = ACTIONS[index]!
  const ids = [`cap;${type};1`, `cap;${type};2`] as const
  const one = dataSession(ids[0], index)
  const other = dataSession(ids[1], index)
  for (const session of [one, other]) {
    expect(await ask(session.initial(5))).toMatchObject(granted(5))
  }
  const answer = await ask(one.update(1, { used: 5, asked: 5 }))
  await waitUntil('the RAR', () => askedFor(ids[1]) > 0)
  expect(askedFor(ids[0])).toBe(0)
  return { one, other, answer }
}

async function topUp(index: number): Promise<void> {
  const add = ['balance', 'add', '--sid', String(FIRST_SID + index), '--include', '1']
  expect(await tollgate(node().product, [...add, '--amount', '1'])).toMatchObject({ code: 0 })
}

describe('actions of event rules', () => {
  it('bar: the update is settled and refused, other sessions too, until a top-up', async () => {
    const { one, other, answer } = await capped(0)
    expect(answer['Result-Code']).toBe(2001)
    const refused = { 'Result-Code': 4012, 'Final-Unit-Indication': { 'Final-Unit-Action': 0 } }
    expect(groupOf(answer)).toEqual({ 'Rating-Group': 20, ...refused })
    expect(await node().moneyOf(one.sid)).toMatchObject({ spent: 50_000, reserved: 50_000 })
    expect(groupOf(await ask(other.update(1, { used: 2, asked: 5 })))).toMatchObject(refused)
    expect(await node().moneyOf(one.sid)).toMatchObject({ spent: 70_000, reserved: 0 })
    expect(await ask(dataSession('cap;bar;3', 0).initial(5))).toMatchObject({
      'Result-Code': 4012,
    })
    await topUp(0)
    await waitUntil('the RAR after it', () => askedFor('cap;bar;1') + askedFor('cap;bar;2') > 2)
    expect(await ask(one.update(2, { used: 0, asked: 5 }))).toMatchObject(granted(5))
    for (const [number, session] of [
      [3, one],
      [2, other],
    ] as const) {
      expect(await ask(session.termination(number, 0))).toMatchObject({ 'Result-Code': 2001 })
    }
  })

  it('redirect: without units, to the address of the rule', async () => {
    const { one, other, answer } = await capped(1)
    expect(groupOf(answer)).toEqual({
      'Rating-Group': 20,
      'Result-Code': 2001,
      'Validity-Time': expect.any(Number),
      'Final-Unit-Indication': {
        'Final-Unit-Action': 1,
        'Redirect-Server': {
          'Redirect-Address-Type': 2,
          'Redirect-Server-Address': 'https://shop.example.net/cap',
        },
      },
    })
    for (const [number, session] of [
      [2, one],
      [1, other],
    ] as const) {
      expect(await ask(session.termination(number, 0))).toMatchObject({ 'Result-Code': 2001 })
    }
  })

  it('throttle: units with the policy', async () => {
    const { one, other, answer } = await capped(2)
    expect(groupOf(answer)).toMatchObject({ 'Filter-Id': 'SLOW', ...groupOf(granted(5)) })
    const next = await ask(other.update(1, { used: 0, asked: 5 }))
    expect(groupOf(next)).toMatchObject({ 'Filter-Id': 'SLOW', ...groupOf(granted(5)) })
    await ask(one.termination(2, 0))
    await ask(other.termination(2, 0))
  })

  it('ask the other open sessions once, when they come into force', () => {
    for (const { type } of ACTIONS.slice(1)) {
      expect([askedFor(`cap;${type};1`), askedFor(`cap;${type};2`)]).toEqual([0, 1])
    }
    // A top-up has followed, which concerns both.
    expect([askedFor('cap;bar;1'), askedFor('cap;bar;2')]).toEqual([1, 2])
  })
})
