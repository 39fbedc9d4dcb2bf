import { describe, expect, it } from 'vitest'
import type { Bucket } from '../../src/domain/bucket.ts'
import { moneyOf, ownerOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import {
  RatingFixture,
  SETTINGS,
  START_MS,
  usualBuckets,
} from '../support/rating/rating-fixture.ts'

const data = (requested: number, used = 0) => serviceRequest({ requested, used })

describe('a retransmission', () => {
  it('gets the stored outcome and moves nothing, also after the release', () => {
    const scene = new RatingFixture()
    const requests = [
      { kind: 'start' as const, requestNumber: 0, services: [data(50)] },
      { kind: 'update' as const, requestNumber: 1, services: [data(50, 10)] },
      { kind: 'release' as const, requestNumber: 2, services: [data(-1, 10)] },
    ]
    for (const request of requests) {
      const first = { ...request, eventTimeMs: START_MS }
      const outcome = scene.send(first)
      scene.nowMs += 1000
      expect(scene.decide(first)).toEqual({ outcome, commit: null })
    }
    scene.nowMs += SETTINGS.replayMs
    const late = scene.decide({ ...requests[2]!, eventTimeMs: START_MS })
    expect(late).toMatchObject({ outcome: { reason: 'unknownSession' }, commit: null })
  })

  it('is distinguished from a new request by number and content', () => {
    const scene = new RatingFixture()
    const reasonOf = (requestNumber: number, used: number) =>
      scene.send({ kind: 'update', requestNumber, services: [data(10, used)] }).reason
    expect(reasonOf(1, 1)).toBe('unknownSession')
    scene.send({ kind: 'start', requestNumber: 0, services: [data(10)] })
    expect([reasonOf(3, 1), reasonOf(3, 1), reasonOf(3, 2), reasonOf(2, 1)]).toEqual([
      'granted',
      'granted',
      'numberReused',
      'outOfOrder',
    ])
    scene.send({ kind: 'release', requestNumber: 4, services: [] })
    expect(reasonOf(5, 1)).toBe('sessionClosed')
    expect(scene.bucket('PACK')).toMatchObject({ spent: 1, reserved: 0 })
  })

  it('without a number is recognised by its content among the last eight', () => {
    const scene = new RatingFixture()
    const send = (kind: 'start' | 'update', used: number) =>
      scene.send({ kind, requestNumber: -1, services: [data(5, used)] })
    const first = send('start', 0)
    for (let used = 1; used <= 8; used += 1) send('update', used)
    expect(scene.bucket('PACK').spent).toBe(36)
    for (let used = 1; used <= 8; used += 1) send('update', used)
    expect(scene.bucket('PACK').spent).toBe(36)
    expect(send('start', 0)).not.toEqual(first)
  })

  it('is distinguished by session, and by opening if a session id is reused', () => {
    const scene = new RatingFixture()
    const start = { kind: 'start' as const, requestNumber: 0, services: [data(10)] }
    const one = scene.send(start).transactionId
    const other = scene.send({ ...start, sessionId: 't' }).transactionId
    scene.send({ kind: 'release', requestNumber: 1, services: [data(-1, 1)] })
    scene.nowMs += SETTINGS.replayMs
    const again = scene.send(start).transactionId
    scene.send({ kind: 'release', requestNumber: 1, services: [data(-1, 1)] })
    expect(new Set([one, other, again]).size).toBe(3)
    expect(new Set(scene.lines.map(({ stamp }) => stamp)).size).toBe(2)
  })
})

describe('a pretended request', () => {
  it.each(['start', 'event'] as const)(
    '%s: has the answer of a real one and moves nothing',
    (kind) => {
      const scene = new RatingFixture()
      const pretended = scene.decide({ kind, services: [data(300)], pretend: true })
      const real = scene.decide({ kind, services: [data(300)] })
      expect(pretended.commit).toBeNull()
      const unquoted = pretended.outcome.services.map((one) => ({ ...one, quote: null }))
      expect(unquoted).toEqual(real.outcome.services)
      const { line, charge } = pretended.outcome.services[0]!.quote!
      expect(line).toMatchObject({ counts: { used: 300, chargedUnits: 100 } })
      expect(charge.exact).toMatchObject({ aprice: '0.00002', final_charge: '0.00002' })
      expect(pretended.outcome.transactionId).toBe('')
    },
  )
})

describe('the balances in an answer', () => {
  it('list each bucket that could pay for a service of the request, once, after the grant', () => {
    const scene = new RatingFixture()
    const services = [data(50), serviceRequest({ usaget: 'call', requested: 60 })]
    const { balances } = scene.send({ kind: 'start', services, wantBalances: true })
    const { toMs } = scene.bucket('PACK')
    expect(balances).toEqual([
      {
        prepaidIncludeId: 2,
        counter: '',
        kind: 'money',
        usaget: '',
        free: 35,
        reserved: 15,
        toMs,
        debt: 0,
      },
      {
        prepaidIncludeId: 1,
        counter: '',
        kind: 'units',
        usaget: 'data',
        free: 150,
        reserved: 50,
        toMs,
        debt: 0,
      },
      {
        prepaidIncludeId: 3,
        counter: '',
        kind: 'units',
        usaget: 'data',
        free: 100,
        reserved: 0,
        toMs,
        debt: 0,
      },
    ])
  })

  it('show debt on the buckets of the owner in debt, or separately if it has no bucket', () => {
    const { toMs } = usualBuckets()['PACK']!.bucket
    const ended = moneyOf(0, { prepaidIncludeId: 9, toMs: START_MS })
    const cases: [Bucket[], Bucket[], object[]][] = [
      [[], [moneyOf(10, { toMs })], [{ prepaidIncludeId: 1, counter: '', free: 0, debt: 90 }]],
      [[moneyOf(10, { toMs })], [ended], [{ prepaidIncludeId: 1, counter: '', debt: 90 }]],
      [[], [ended], [{ prepaidIncludeId: 0, counter: 'account_debt', free: 0, debt: 100 }]],
      [[ended], [], [{ prepaidIncludeId: 0, counter: 'debt', free: 0, debt: 100 }]],
    ]
    for (const [own, shared, expected] of cases) {
      const scene = new RatingFixture({})
      scene.subscriber = ownerOf(own)
      scene.account = ownerOf(shared, { sid: 0 })
      scene.send({ kind: 'start', requestNumber: 0, services: [] })
      const services = [data(-1, 500)]
      const { balances } = scene.send({
        kind: 'update',
        requestNumber: 1,
        services,
        wantBalances: true,
      })
      expect(balances).toMatchObject(expected)
      expect(balances).toHaveLength(expected.length)
    }
  })

  it('are absent unless requested', () => {
    expect(new RatingFixture().send({ kind: 'start', services: [data(50)] }).balances).toBeNull()
  })
})
