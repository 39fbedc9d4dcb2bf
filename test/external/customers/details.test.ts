import { afterEach, describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../../src/external/circuit-breaker.ts'
import { askDetails, type DetailsQuestion } from '../../../src/external/customers/details.ts'
import { CustomerSystemError } from '../../../src/external/customers/errors.ts'
import { createCustomerHttp } from '../../../src/external/customers/http.ts'
import { QueryBatcher } from '../../../src/external/customers/query-batcher.ts'
import {
  readSubscriberRevision,
  type SubscriberRevision,
} from '../../../src/external/customers/revisions.ts'
import {
  type Crm,
  type CrmFields,
  startCrm,
  subscriberRevision,
} from '../../support/external/crm.ts'
import { useOpened } from '../../support/opened.ts'

const AT_MS = Date.UTC(2026, 2, 10, 12)
const CONTEXT = { timeZone: 'UTC', customFields: { account: [], subscriber: [] } }
const crm = useOpened(startCrm)
const http = useOpened(() =>
  createCustomerHttp({ privateRanges: ['127.0.0.0/8'], connectionsMax: 4 }),
)
afterEach(() => {
  crm().respond = null
  crm().requests.length = 0
  crm().subscribers.clear()
})

const sidQuestion = (sid: number): DetailsQuestion => ({
  key: 'sid',
  value: sid,
  atMs: AT_MS,
  limit: 1,
})

function ask(...questions: DetailsQuestion[]) {
  const read = (value: unknown, path: string) => readSubscriberRevision(value, path, CONTEXT)
  return askDetails({ http: http(), settings: crm().call('/subscribers'), read }, questions)
}

function know(sid: number, ...revisions: CrmFields[]): void {
  crm().subscribers.set(`sid:${sid}`, revisions)
}

describe('details of subscribers', () => {
  it('are asked in one call, each by an id of its own', async () => {
    know(1, subscriberRevision(1, 10, { tier: 'gold' }))
    know(3, subscriberRevision(3, 10))
    const [one, two, three] = await ask(sidQuestion(1), sidQuestion(2), sidQuestion(3))
    expect(one).toMatchObject([{ sid: 1, aid: 10, fields: { tier: 'gold', plan: 'PLAN' } }])
    expect(two).toEqual([])
    expect(three).toMatchObject([{ sid: 3 }])
    const [{ queries }] = crm().requests as [Crm['requests'][number]]
    expect(crm().requests).toHaveLength(1)
    expect(new Set(queries.map(({ id }) => id)).size).toBe(3)
    expect(queries[0]).toMatchObject({
      time: '2026-03-10T12:00:00+00:00',
      params: [{ key: 'sid', operator: 'equal', value: 1 }],
      limit: 1,
    })
  })

  it.each([
    ['not a list', '{"status":1}', 'invalid answer'],
    ['with the id of another query', '[{"id":"other","sid":1,"aid":1}]', 'wrong query'],
    ['without an id', '[{"sid":1,"aid":1}]', 'wrong query'],
    ['that holds no object', '[null]', 'wrong query'],
  ])('are refused as a whole in an answer %s', async (_, answer, kind) => {
    crm().respond = (response) => response.end(answer)
    await expect(ask(sidQuestion(1), sidQuestion(2))).rejects.toMatchObject({ kind })
  })

  const january = { from: '2026-01-01 00:00:00', to: '2026-02-01 00:00:00' }
  const toMarch = { from: '2026-01-15 00:00:00', to: '2026-03-01 00:00:00' }
  it.each([
    ['a revision twice', [january, january], 'duplicate'],
    ['revisions that overlap', [toMarch, january], 'overlap'],
    ['a revision of another subscriber', [{ sid: 7 }], 'wrong query'],
  ])('with %s fail alone', async (_, revisions, kind) => {
    know(1, ...revisions.map((more) => subscriberRevision(1, 10, more)))
    know(2, subscriberRevision(2, 10))
    const [failed, found] = await ask(sidQuestion(1), sidQuestion(2))
    expect(failed).toBeInstanceOf(CustomerSystemError)
    expect(failed).toMatchObject({ kind })
    expect(found).toMatchObject([{ sid: 2 }])
  })

  it('with an invalid field fail alone, and name it', async () => {
    know(1, subscriberRevision(1, 10, { from: 'yesterday' }))
    know(2, subscriberRevision(2, 10))
    const [failed, found] = await ask(sidQuestion(1), sidQuestion(2))
    expect(failed).toMatchObject({ name: 'FieldError', path: 'revision 0.from' })
    expect(found).toMatchObject([{ sid: 2 }])
  })

  it('of two subscribers with one number are a duplicate, of one account not', async () => {
    const both = [subscriberRevision(1, 10), subscriberRevision(2, 10)]
    crm().subscribers.set('msisdn:49170', both)
    crm().subscribers.set('aid:10', both)
    const question = { atMs: AT_MS, key: 'msisdn', value: '49170', limit: 1 }
    expect(await ask(question)).toMatchObject([{ kind: 'duplicate' }])
    const [all] = await ask({ ...question, key: 'aid', value: 10, limit: 100 })
    expect(all).toMatchObject([{ sid: 1 }, { sid: 2 }])
  })
})

describe('questions at the same time', () => {
  function batcher() {
    const outcomes: string[] = []
    const circuit = new CircuitBreaker({
      failuresMax: 5,
      openMsMin: 1000,
      openMsMax: 30_000,
      elapsedMs: () => 0,
      onChange: () => undefined,
    })
    const asking = new QueryBatcher<DetailsQuestion, readonly SubscriberRevision[]>({
      call: (questions) => ask(...questions),
      questionsMax: 100,
      callsMax: 4,
      waitingMax: 2000,
      gatherMs: 5,
      circuit,
      onCall: (failure) => outcomes.push(failure?.kind ?? 'ok'),
    })
    return { asking, outcomes }
  }

  it('1,000 of them take at most 50 calls, and each gets its own answer', async () => {
    const sids = Array.from({ length: 1000 }, (_, index) => index + 1)
    for (const sid of sids) if (sid % 10 !== 0) know(sid, subscriberRevision(sid, sid))
    const { asking } = batcher()
    const found = await Promise.all(sids.map((sid) => asking.ask(`sid:${sid}`, sidQuestion(sid))))
    expect(found.map(([revision]) => revision?.sid ?? 0)).toEqual(
      sids.map((sid) => (sid % 10 === 0 ? 0 : sid)),
    )
    expect(crm().requests.length).toBeLessThanOrEqual(50)
    expect(new Set(crm().asked()).size).toBe(1000)
    expect(crm().asked()).toHaveLength(1000)
  })

  it('that are equal are asked once', async () => {
    know(1, subscriberRevision(1, 10))
    const { asking } = batcher()
    await Promise.all([1, 2, 3].map(() => asking.ask('sid:1', sidQuestion(1))))
    expect(crm().asked()).toEqual(['sid:1'])
  })
})
