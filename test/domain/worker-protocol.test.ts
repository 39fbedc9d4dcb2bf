import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  type BalanceReport,
  type ChargeOutcome,
  plainOutcome,
  type Quote,
  type Reason,
  reasons,
  type ServiceOutcome,
} from '../../src/domain/charge-outcome.ts'
import type { ChargeRequest, ServicePart, ServiceRequest } from '../../src/domain/charge-request.ts'
import { packResult, unpackResult } from '../../src/domain/packed-outcomes.ts'
import { packTask, unpackTask } from '../../src/domain/worker-protocol.ts'
import type { WorkerResult, WorkerTask } from '../../src/domain/worker-task.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { requestOf } from '../support/domain/requests.ts'

/** Transfers requests and outcomes across the thread boundary. */
const overTask = (task: WorkerTask) => unpackTask(structuredClone(packTask(task)))
const overResult = (result: WorkerResult) => unpackResult(structuredClone(packResult(result)))

/** Few texts, so that some repeat in a batch; with non-ASCII characters and unpaired surrogates. */
const text = fc.oneof(
  fc.constantFrom('', 'data', 'call', '\u0000', 'naïve', '日本', '😀', '\ud83d', '__proto__', '1'),
  fc.string({ unit: 'binary' }),
)
const number = fc.oneof(
  fc.constantFrom(-1, 0, 1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, 2 ** 53, -(2 ** 53)),
  fc.constantFrom(0.5, -0.1, 1e-7, Number.MAX_VALUE),
  fc.maxSafeInteger().map((value) => (value === 0 ? 0 : value)),
)
const fields = fc.option(fc.dictionary(text, text, { noNullPrototype: true }))
const reason = fc.constantFrom(...(Object.keys(reasons) as Reason[]))

const part: fc.Arbitrary<ServicePart> = fc.record({
  usaget: text,
  role: fc.constantFrom('beside', 'preferred', 'held'),
  requested: number,
  used: number,
  usedBefore: number,
})

const plainService: fc.Arbitrary<ServiceRequest> = fc.record({
  ratingGroup: number,
  serviceIdentifier: text,
  usaget: text,
  requested: number,
  used: number,
  usedBefore: number,
  isTotal: fc.boolean(),
  calledNumber: text,
  rateKey: text,
  untaxed: fc.boolean(),
  checksCredit: fc.boolean(),
  parts: fc.option(fc.array(part, { maxLength: 3 })),
  fields,
})
const service = fc.oneof(
  plainService,
  plainService.map((one): ServiceRequest => ({ ...one, opensWithoutCredit: true })),
)

const plainRequest: fc.Arbitrary<ChargeRequest> = fc.record({
  kind: fc.constantFrom('start', 'update', 'release', 'event'),
  origin: text,
  sessionId: text,
  requestNumber: number,
  stamp: text,
  rules: text,
  subscriberKey: fc.constantFrom('sid', 'msisdn', 'imsi', 'none'),
  subscriberValue: text,
  eventTimeMs: number,
  eventTimeGiven: fc.boolean(),
  services: fc.array(service, { maxLength: 4 }),
  wantBalances: fc.boolean(),
  pretend: fc.boolean(),
  refund: fc.boolean(),
  fields,
})

const request = fc
  .tuple(plainRequest, fc.option(fc.record({ name: text, stateId: number })), fc.boolean())
  .map(
    ([one, client, isRecord]): ChargeRequest => ({
      ...one,
      ...(client !== null && { client }),
      ...(isRecord && { isRecord }),
    }),
  )

/** Structured clone of the value. */
const quote = fc.option(
  fc.record({ line: fc.record({ stamp: text }) }),
) as fc.Arbitrary<Quote | null>

const serviceOutcome: fc.Arbitrary<ServiceOutcome> = fc.record({
  ratingGroup: number,
  serviceIdentifier: text,
  usaget: text,
  reason,
  granted: number,
  parts: fc.option(fc.array(fc.record({ usaget: text, granted: number }), { maxLength: 3 })),
  validityMs: number,
  tariffChangeMs: number,
  finalUnit: fc.boolean(),
  action: fc.oneof(
    fc.constant(null),
    fc.record({ type: fc.constant('redirect' as const), address: text }),
    fc.record({ type: fc.constant('throttle' as const), policy: text }),
  ),
  cost: number,
  quote,
})

const balance: fc.Arbitrary<BalanceReport> = fc.record({
  prepaidIncludeId: number,
  kind: fc.constantFrom('units', 'money'),
  usaget: text,
  counter: text,
  free: number,
  reserved: number,
  toMs: number,
  debt: number,
})

const outcome: fc.Arbitrary<ChargeOutcome> = fc.record({
  reason,
  detail: text,
  aid: number,
  sid: number,
  transactionId: text,
  services: fc.array(serviceOutcome, { maxLength: 4 }),
  cost: number,
  balances: fc.option(fc.array(balance, { maxLength: 4 })),
})

it('the worker protocol transfers any batch of requests, with its order of fields', () => {
  const task = fc.record({
    requests: fc.array(request),
    mayLookUp: fc.boolean(),
    deadlineMs: fc.double({ min: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(task, (given) => {
      const taken = overTask(given)
      expect(taken).toEqual(given)
      expect(JSON.stringify(taken.requests)).toBe(JSON.stringify(given.requests))
    }),
    propertyRuns(500),
  )
})

it('the worker protocol transfers any outcomes, with their order of fields', () => {
  const result = fc.record({
    outcomes: fc.array(fc.option(outcome)),
    stats: fc.record({ commits: fc.nat(), conflicts: fc.nat() }),
  })
  fc.assert(
    fc.property(result, (given) => {
      const taken = overResult(given)
      expect(taken).toEqual(given)
      expect(JSON.stringify(taken.outcomes)).toBe(JSON.stringify(given.outcomes))
    }),
    propertyRuns(500),
  )
})

const update = requestOf({ origin: 'pgw', sessionId: 'session-1', subscriberValue: '100001' })

it('the worker protocol transfers a batch that is larger than any before', () => {
  const requests = Array.from({ length: 3000 }, (_, index) => ({ ...update, requestNumber: index }))
  const task = { requests, mayLookUp: true, deadlineMs: 12.5 }
  expect(overTask(task)).toEqual(task)
  const asking = { ...task, mayAsk: true }
  expect(overTask(asking)).toEqual(asking)
  // And a small one after it.
  expect(overTask({ requests: [update], mayLookUp: false, deadlineMs: 0 }).requests).toEqual([
    update,
  ])
})

it('the worker protocol sends texts that requests share once, and few numbers', () => {
  const requests = ['a', 'b', 'c'].map((sessionId) => ({ ...update, sessionId }))
  const { numbers, texts } = packTask({ requests, mayLookUp: false, deadlineMs: 0 })
  expect(texts.filter((text) => text === 'pgw' || text === 'data')).toEqual(['pgw', 'data'])
  expect(numbers).toHaveLength(3 + 3 * 19)
})

it('the worker protocol keeps no state between batches', () => {
  const first = packTask({ requests: [update], mayLookUp: false, deadlineMs: 0 })
  const before = structuredClone(first)
  packResult({ outcomes: [plainOutcome('noCredit', 'other'), null], stats: {} })
  packTask({ requests: [{ ...update, origin: 'other' }], mayLookUp: true, deadlineMs: 0 })
  expect(first).toEqual(before)
})

it('an unknown reason arrives as null beside the others', () => {
  const outcomes = [plainOutcome('nonsense' as Reason), plainOutcome('granted')]
  const [odd, good] = overResult({ outcomes, stats: {} }).outcomes
  expect(odd?.reason).toBeUndefined()
  expect(good).toEqual(plainOutcome('granted'))
})
