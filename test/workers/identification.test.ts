import { describe, expect, it } from 'vitest'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import type { ProfileQuery } from '../../src/workers/profiles.ts'
import { useMadeEach } from '../support/opened.ts'
import { useNode } from '../support/workers/nodes.ts'
import { MONEY, profileOf, request, service } from '../support/workers/processor-fixture.ts'

/** The subscriber by field and value. */
const known = new Map([
  ['device:A1', 1],
  ['msisdn:4930', 2],
  ['sid:1', 1],
  ['sid:2', 2],
])

const rules = {
  countryPrefix: '49',
  customerIdentification: {
    data: [
      { src_key: 'device.id', target_key: 'device' },
      { src_key: 'caller', target_key: 'msisdn' },
    ],
  },
}

const reads = useMadeEach<string[]>(() => [])
const { scene } = useNode({
  rules,
  async read({ key, value }: ProfileQuery) {
    reads().push(`${key}:${value}`)
    const found = profileOf(known.get(`${key}:${value}`) ?? 0)
    return found === null ? null : { profile: found, validUntilMs: found.toMs }
  },
})

function start(fields: ChargeRequest['fields'], more: Partial<ChargeRequest> = {}): ChargeRequest {
  const nobody = { subscriberKey: 'none' as const, subscriberValue: '' }
  const sessionId = JSON.stringify({ fields, more })
  return request('start', 0, 0, [service(1_000_000)], { ...nobody, fields, sessionId, ...more })
}

async function fast(...requests: ChargeRequest[]) {
  const task = { requests, mayLookUp: false, deadlineMs: Number.POSITIVE_INFINITY }
  return (await scene().processor.process(task)).outcomes
}

describe('a subscriber by rules', () => {
  it('is the first that a rule finds', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().credit(2, MONEY, 1_000_000)
    const both = start({ 'device.id': 'A1', caller: '030' })
    expect(await fast(both)).toEqual([null])
    expect((await scene().charge(both))[0]).toMatchObject({ reason: 'granted', sid: 1 })
    expect(reads()).toEqual(['device:A1'])
    const second = start({ 'device.id': 'A2', caller: '030' })
    expect((await scene().charge(second))[0]).toMatchObject({ reason: 'granted', sid: 2 })
    expect(reads()).toEqual(['device:A1', 'device:A2', 'msisdn:4930'])
  })

  it('is cached from then on, as is the absence of one', async () => {
    await scene().credit(2, MONEY, 1_000_000)
    const fields = { 'device.id': 'A2', caller: '+4930' }
    await scene().charge(start(fields))
    const again = start(fields, { sessionId: 'again' })
    expect((await fast(again))[0]).toMatchObject({ reason: 'granted', sid: 2 })
    const update = request('update', 2, 1, [service(1_000_000, 5)], { sessionId: 'again' })
    expect((await fast(update))[0]).toMatchObject({ reason: 'granted', sid: 2 })
  })

  it('is the one that the request names if the rules find none', async () => {
    await scene().credit(2, MONEY, 1_000_000)
    const named = { subscriberKey: 'sid' as const, subscriberValue: '2' }
    const [outcome] = await scene().charge(start({ caller: '031' }, named))
    expect(outcome).toMatchObject({ reason: 'granted', sid: 2 })
  })

  it('is found by the fields of a service alone', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    const services = [service(1_000_000, 0, { fields: { 'device.id': 'A1' } })]
    // The rules come first, also before a subscriber that the request names.
    const named = { subscriberKey: 'sid' as const, subscriberValue: '2' }
    for (const who of [{}, named]) {
      const [outcome] = await scene().charge(start(null, { services, ...who }))
      expect(outcome).toMatchObject({ reason: 'granted', sid: 1 })
    }
  })

  it('is unknown if nothing matches or no field is there to match', async () => {
    for (const fields of [{ caller: '031' }, {}, null]) {
      expect((await scene().charge(start(fields)))[0]?.reason).toBe('unknownSubscriber')
    }
  })
})
