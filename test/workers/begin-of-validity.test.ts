/** Revisions of a subscriber that begin or end "now", at events whose time is in whole seconds. */
import { expect, it } from 'vitest'
import type { SubscriberProfile } from '../../src/domain/catalogue.ts'
import type { Reason } from '../../src/domain/charge-outcome.ts'
import type { ChargeRequest, ServicePart, ServiceRequest } from '../../src/domain/charge-request.ts'
import { useMadeEach } from '../support/opened.ts'
import { useNode } from '../support/workers/nodes.ts'
import {
  catalogueOf,
  DEFAULT_TARIFFS,
  MONEY,
  NOW_MS,
  plan,
  profileOf,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const BEGIN_MS = NOW_MS + 700
/** Those of subscriber 1; the plan BEFORE does not allow data. */
const revisions = useMadeEach<SubscriberProfile[]>(() => [])
const { scene } = useNode({
  unknownTtlMs: 0,
  catalogue: {
    ...catalogueOf(DEFAULT_TARIFFS),
    plans: new Map([
      ['PLAN', [plan]],
      ['BEFORE', [{ ...plan, id: 'BEFORE', name: 'BEFORE', disallowedRates: new Set(['DATA']) }]],
    ]),
  },
  async read({ atMs }) {
    // The first revision begins as it is written, for clocks up to a minute behind.
    const isFirst = (one: SubscriberProfile) => one.id === 'now' && atMs >= one.fromMs - 60_000
    const found = revisions().findLast(
      (one) => (atMs >= one.fromMs || isFirst(one)) && atMs < one.toMs,
    )
    return found === undefined ? null : { profile: found, validUntilMs: found.toMs }
  },
})

function begins(...more: Partial<SubscriberProfile>[]): void {
  for (const one of more) revisions().push({ ...(profileOf(1) as SubscriberProfile), ...one })
}

async function chargeAt(nowMs: number, kind: 'start' | 'update', number: number, atMs: number) {
  scene().clock.set(nowMs)
  const asked: ChargeRequest = request(kind, 1, number, [service(1_000_000)], { eventTimeMs: atMs })
  const [outcome] = await scene().charge(asked)
  const [again] = await scene().charge(asked)
  expect(again).toEqual(outcome)
  return outcome?.reason
}

it('a new subscriber is served in its first second, whenever a request arrives', async () => {
  begins({ fromMs: BEGIN_MS })
  await scene().credit(1, MONEY, 1_000_000)
  expect(await chargeAt(BEGIN_MS + 100, 'start', 0, NOW_MS)).toBe('granted')
  expect(await chargeAt(BEGIN_MS + 900, 'update', 1, NOW_MS)).toBe('granted')
})

it('a new plan applies in its first second to times without a fraction', async () => {
  begins(
    { id: 'old', toMs: BEGIN_MS, plan: 'BEFORE' },
    { id: 'new', fromMs: BEGIN_MS, plan: 'PLAN' },
  )
  await scene().credit(1, MONEY, 1_000_000)
  expect(await chargeAt(BEGIN_MS + 100, 'start', 0, NOW_MS - 1000)).toBe('blocked')
  expect(await chargeAt(BEGIN_MS + 100, 'start', 1, NOW_MS + 500)).toBe('blocked')
  expect(await chargeAt(BEGIN_MS + 100, 'start', 2, NOW_MS)).toBe('granted')
})

it('a new subscriber is served if a clock is behind, also if it is cached', async () => {
  begins({ id: 'now', fromMs: BEGIN_MS })
  await scene().credit(1, MONEY, 1_000_000)
  expect(await chargeAt(BEGIN_MS + 100, 'start', 0, NOW_MS - 61_000)).toBe('unknownSubscriber')
  expect(await chargeAt(BEGIN_MS + 100, 'start', 1, NOW_MS - 59_001)).toBe('granted')
  expect(await chargeAt(BEGIN_MS + 200, 'update', 2, NOW_MS - 30_001)).toBe('granted')
})

it.each<[string, Partial<SubscriberProfile>[]]>([
  ['of its subscriber', [{ toMs: NOW_MS }]],
  [
    'of its plan',
    [
      { id: 'old', toMs: NOW_MS },
      { id: 'new', fromMs: NOW_MS, plan: 'BEFORE' },
    ],
  ],
])('usage without a grant is charged if it is reported exactly at the end %s', async (_, all) => {
  begins(...all)
  await scene().credit(1, MONEY, 1_000_000)
  const send = async (kind: 'start' | 'update' | 'release', number: number, used: number) => {
    const eventTimeMs = kind === 'start' ? NOW_MS - 60_000 : NOW_MS
    const units = kind === 'release' ? -1 : 0
    const asked = request(kind, 1, number, [service(units, used)], { eventTimeMs })
    const [outcome] = await scene().charge(asked)
    return outcome?.services.map(({ reason }) => reason)
  }
  expect(await send('start', 0, 0)).toEqual(['granted'])
  expect(await send('update', 1, 100)).toEqual(['granted'])
  expect(await send('release', 2, 100)).toEqual(['granted'])
})

function part(used: number, usedBefore = -1): ServicePart {
  return { usaget: 'data', role: 'preferred', requested: 0, used, usedBefore }
}

it.each<[string, Partial<ServiceRequest>, Reason]>([
  ['parts of a service', { parts: [part(100)] }, 'granted'],
  ['parts with usage after it', { parts: [part(100, 40)] }, 'unknownSubscriber'],
  ['usage before a tariff change at it', { usedBefore: 100 }, 'granted'],
])('a release exactly at the end of its subscriber reports %s', async (_, more, reason) => {
  begins({ toMs: NOW_MS })
  await scene().credit(1, MONEY, 1_000_000)
  const send = (kind: 'start' | 'release', number: number, services: ServiceRequest[]) => {
    const eventTimeMs = kind === 'start' ? NOW_MS - 60_000 : NOW_MS
    return scene().charge(request(kind, 1, number, services, { eventTimeMs }))
  }
  await send('start', 0, [service(0, 0)])
  const [outcome] = await send('release', 1, [{ ...service(-1, 100), ...more }])
  expect(outcome?.services[0]?.reason ?? outcome?.reason).toBe(reason)
})

it('a subscriber that ends within the second is served at a time without a fraction', async () => {
  begins({ toMs: BEGIN_MS })
  await scene().credit(1, MONEY, 10_000_000)
  expect(await chargeAt(BEGIN_MS - 100, 'start', 0, NOW_MS)).toBe('granted')
  expect(await chargeAt(BEGIN_MS + 100, 'update', 1, NOW_MS)).toBe('granted')
  expect(await chargeAt(BEGIN_MS + 200, 'update', 2, NOW_MS)).toBe('granted')
  expect(await chargeAt(BEGIN_MS + 200, 'update', 3, NOW_MS + 750)).toBe('unknownSubscriber')
  expect(await chargeAt(BEGIN_MS + 200, 'start', 4, NOW_MS + 750)).toBe('unknownSubscriber')
  expect(await chargeAt(BEGIN_MS + 1900, 'update', 5, NOW_MS + 1000)).toBe('unknownSubscriber')
})
