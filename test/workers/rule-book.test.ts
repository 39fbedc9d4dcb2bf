/** Requests of file types follow the rules of their file type. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { type NamedRules, RuleBook, type RuleSet } from '../../src/workers/rule-book.ts'
import { usageWith } from '../support/rating/match/rates.ts'
import { useNode } from '../support/workers/nodes.ts'
import {
  catalogueOf,
  DEFAULT_TARIFFS,
  flat,
  MONEY,
  NOW_MS,
  profileOf,
  RATE_KEYS,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

let book: RuleBook
/** The stored rules that `findRules` searches. */
let stored: NamedRules[]

const byApn = (key: string, rateKey: string): NamedRules => ({
  key,
  rateCalculators: {
    retail: { data: [[{ type: 'match', rate_key: 'key', line_key: rateKey }]] },
  },
  customerIdentification: { data: [{ src_key: 'line', target_key: 'sid' }] },
})

const { scene } = useNode({
  tariffs: { ...DEFAULT_TARIFFS, WEB: { data: flat(1_000_000, 70_000) } },
  book: (own: RuleSet) => {
    book = new RuleBook({ own, rateKeys: RATE_KEYS, countryPrefix: '' })
    return book
  },
  findRules: () => book.follow(stored),
  async read({ key, value }) {
    const found = key === 'sid' ? profileOf(Number(value)) : null
    return found === null ? null : { profile: found, validUntilMs: found.toMs }
  },
})
beforeEach(async () => {
  stored = []
  await scene().credit(7, MONEY, 1_000_000)
})

function event(rules: string, more: Partial<ChargeRequest> = {}): ChargeRequest {
  const nobody = { subscriberKey: 'none' as const, subscriberValue: '' }
  const fields = { apn: 'WEB', other: 'DATA', line: '7' }
  const sessionId = JSON.stringify({ rules, more })
  const services = [service(1_000_000)]
  return request('event', 0, 0, services, { ...nobody, fields, rules, sessionId, ...more })
}

describe('rules of a file type', () => {
  it('find the subscriber and the rate', async () => {
    await book.follow([byApn('a', 'apn'), byApn('b', 'other')])
    const [web, other] = await scene().charge(event('a'), event('b'))
    expect(web).toMatchObject({ reason: 'granted', sid: 7, cost: 70_000 })
    expect(other).toMatchObject({ reason: 'granted', sid: 7, cost: 10_000 })
  })

  it('may leave one of the two to the installation', async () => {
    const { rateCalculators } = byApn('', 'apn')
    await book.follow([{ key: 'c', rateCalculators, customerIdentification: undefined }])
    const named = { subscriberKey: 'sid' as const, subscriberValue: '7' }
    const [outcome] = await scene().charge(event('c', named))
    expect(outcome).toMatchObject({ reason: 'granted', cost: 70_000 })
  })

  it('give precedence to the fields of a service', async () => {
    await book.follow([byApn('a', 'apn')])
    const services = [service(1_000_000, 0, { fields: { apn: 'DATA', line: '7' } })]
    const [outcome] = await scene().charge(event('a', { services }))
    expect(outcome).toMatchObject({ cost: 10_000 })
  })

  it('are looked up on the lookup queue, and an outage if they cannot be read', async () => {
    const unknown = event('a')
    const task = { requests: [unknown], mayLookUp: false, deadlineMs: Number.POSITIVE_INFINITY }
    expect((await scene().processor.process(task)).outcomes).toEqual([null])
    const [down] = await scene().charge(unknown)
    expect(down).toMatchObject({ reason: 'storeDown' })
    expect(down?.detail).toContain('rules')
    stored = [byApn('a', 'apn')]
    const [outcome] = await scene().charge(unknown)
    expect(outcome).toMatchObject({ reason: 'granted', cost: 70_000 })
  })

  it('are not needed to settle granted units, and nothing is granted without them', async () => {
    await book.follow([byApn('a', 'apn')])
    const named = { subscriberKey: 'sid' as const, subscriberValue: '7', rules: 'a' }
    const fields = { apn: 'WEB', line: '7' }
    const ask = service(2_000_000)
    const [start] = await scene().charge(request('start', 7, 0, [ask], { ...named, fields }))
    expect(start).toMatchObject({ reason: 'granted' })
    const gone = { ...named, rules: 'gone', fields }
    const more = service(2_000_000, 1_000_000)
    const [update] = await scene().charge(request('update', 7, 1, [more], gone))
    expect(update).toMatchObject({ reason: 'storeDown', detail: expect.stringContaining('rules') })
    const end = service(-1, 1_000_000)
    const [release] = await scene().charge(request('release', 7, 2, [end], gone))
    expect(release).toMatchObject({ reason: 'granted', cost: 70_000 })
    const { buckets } = (await scene().owner(7)).state
    expect(buckets).toMatchObject([{ spent: 70_000, reserved: 0 }])
  })

  it('apply to a request with cached rules beside one without', async () => {
    const named = { subscriberKey: 'sid' as const, subscriberValue: '7' }
    const [known, unknown] = await scene().charge(event('', named), event('gone', named))
    expect(known).toMatchObject({ reason: 'granted' })
    expect(unknown).toMatchObject({ reason: 'storeDown' })
  })

  it('follow changes of the rates', async () => {
    await book.follow([byApn('a', 'apn')])
    expect((await scene().charge(event('a')))[0]).toMatchObject({ reason: 'granted' })
    book.update([{ key: 'WEB', revisions: [] }])
    expect(
      (await scene().charge(event('a', { fields: { apn: 'WEB', line: '7' } })))[0],
    ).toMatchObject({ reason: 'noRate' })
  })

  it('follow changes of the rates also while they are being compiled', async () => {
    const [rate] = catalogueOf({ WEB: { data: flat(1, 1) } }).rates.get('WEB') ?? []
    if (rate === undefined) throw new Error('no rate')
    const named = (at: number) => `R${String(at).padStart(4, '0')}`
    const revised = (key: string, id: string) => ({ key, revisions: [{ ...rate, key, id }] })
    const keys = Array.from({ length: 1500 }, (_, at) => named(at))
    book.update(keys.map((key) => revised(key, 'old')))
    const filled = book.follow([byApn('late', 'apn')])
    await new Promise((resolve) => setImmediate(resolve))
    expect(book.of('late')).toBeUndefined()
    // One rate compiled already, one not yet, one removed and one new.
    const [first, last, gone] = [named(0), named(1499), named(1498)]
    book.update([revised(first, 'new'), revised(last, 'new'), revised('NEXT', 'new')])
    book.update([{ key: gone, revisions: [] }])
    await filled
    const found = [first, named(1), last, 'NEXT', gone].map((apn) => {
      const fields = usageWith({ apn }, { usaget: 'data' })
      return book.of('late')?.finder.find('retail', fields, NOW_MS)?.id ?? null
    })
    expect(found).toEqual(['new', 'old', 'new', 'new', null])
  })

  it('remain for a while after their last file type is gone, then are forgotten', async () => {
    await book.follow([byApn('a', 'apn')])
    await book.follow([byApn('b', 'apn')])
    expect(book.of('a')).toBeDefined()
    for (let number = 0; number < 9; number += 1) await book.follow([byApn(`n${number}`, 'apn')])
    expect(book.of('a')).toBeUndefined()
    expect(book.of('n8')).toBeDefined()
  })

  it('that are invalid do not exclude the others', async () => {
    const broken = { key: 'x', rateCalculators: { retail: 5 }, customerIdentification: undefined }
    await expect(book.follow([broken, byApn('a', 'apn')])).rejects.toThrow('retail')
    expect(book.of('x')).toBeUndefined()
    expect(book.of('a')).toBeDefined()
    expect(book.targetKeys()).toEqual(['sid'])
  })
})
