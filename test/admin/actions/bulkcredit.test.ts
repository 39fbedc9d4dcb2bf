/** `POST /api/bulkcredit`: each entry on its own. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bulkcredit } from '../../../src/admin/actions/bulkcredit.ts'
import { credit } from '../../../src/admin/actions/credit.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, creditLinesOf, TAXED } from '../../support/admin/actions/credit-tenant.ts'

const api = useActionServer([credit, bulkcredit], TAXED)

beforeAll(() => addTenant(api.catalog()))
afterEach(() => api.catalog().lines.deleteMany({}))

async function holderOf(id: never): Promise<{ host: string }> {
  const found = await api.catalog().idempotency.findOne({ _id: id })
  return (found as unknown as { holder: { host: string } }).holder
}

const FEE = { aid: 1001, sid: 7, rate: 'FEE_A', credit_time: '2026-06-10', usagev: 1, aprice: 10 }

describe('bulkcredit', () => {
  it('answers 1 if all succeed', async () => {
    const credits = [FEE, { ...FEE, installments: 2 }, { ...FEE, sid: 0, aprice: -1 }]
    const answer = await api.ask('bulkcredit', { credits, reason: 'Campaign' })
    const lines = await creditLinesOf(api.catalog())
    expect(answer).toMatchObject({ status: 1, desc: 'success', input: { reason: 'Campaign' } })
    expect(answer['input']).not.toHaveProperty('credits')
    const details = answer['details'] as { stamp: string; stamps?: string[] }[]
    expect(details.map(({ stamps }) => stamps?.length)).toEqual([undefined, 2, undefined])
    const stamps = details.flatMap(({ stamp, stamps: all = [stamp] }) => all)
    expect(stamps.sort()).toEqual(lines.map(({ stamp }) => stamp).sort())
    expect(lines.every(({ reason }) => reason === 'Campaign')).toBe(true)
    const audited = await api.catalog().audit.find({ type: 'credit' }).toArray()
    expect(audited).toHaveLength(3)
  })

  it('answers 2 if some fail, and writes the others', async () => {
    const credits = [FEE, { ...FEE, aid: 'x' }, 17, { ...FEE, sid: 77 }, { ...FEE, reason: 'own' }]
    const answer = await api.ask('bulkcredit', { credits }, { as: 'json' })
    expect(answer).toMatchObject({
      http: 200,
      status: 2,
      desc: '3 of 5 credits failed',
      message: '3 of 5 credits failed',
      details: [
        { status: 1, index: 0 },
        { status: 0, index: 1, message: 'Field aid should be of type Integer' },
        { status: 0, index: 2, message: 'must be an object with the parameters of a credit' },
        { status: 0, index: 3, message: 'Processor error: sid: there is no subscriber 77' },
        { status: 1, index: 4 },
      ],
    })
    const lines = await creditLinesOf(api.catalog())
    expect(lines.map(({ reason }) => reason)).toEqual([undefined, 'own'])
  })

  it('answers 0 if all fail', async () => {
    const answer = await api.ask('bulkcredit', { credits: [{ ...FEE, rate: 'NO_RATE' }] })
    expect(answer).toMatchObject({
      http: 200,
      status: 0,
      desc: '1 of 1 credits failed',
      details: [{ status: 0, message: `Rate doesn't exist`, index: 0 }],
    })
    expect(await creditLinesOf(api.catalog())).toEqual([])
  })

  it.each([
    [{ credits: 'x' }, 'Input json is invalid'],
    [{ credits: {} }, 'Input json is invalid'],
    [{ credits: [] }, 'Input json is invalid'],
    [{ credits: '[{' }, 'Input json is invalid'],
    [{}, 'Following field/s are missing: credits'],
    [{ operation: 'erase', credits: [FEE] }, 'Unrecognized operation'],
    [{ operation: 'query' }, 'Stamp is missing'],
    [{ operation: 'query', stamp: '' }, 'Stamp is missing'],
    [{ operation: 'query', stamp: 'none' }, 'File none not found'],
    [{ operation: 'query', stamp: 'none', details: 2 }, 'details could be either "0" or "1"'],
    [{ operation: 'query', stamp: 'none', size: 0 }, 'Field size must be at least 1'],
    [
      { credits: Array.from({ length: 10_001 }, () => 1) },
      'Field credits has more than 10000 entries',
    ],
    [
      { credits: Array.from({ length: 1000 }, () => ({ installments: 101 })) },
      'Field credits has more than 100000 installments',
    ],
  ])('refuses %j', async (params, desc) => {
    const answer = await api.ask('bulkcredit', params)
    expect(answer).toMatchObject({ http: 200, status: 0, desc, message: desc })
  })

  it('is refused for callers of the level write', async () => {
    const answer = await api.ask('bulkcredit', { credits: [FEE] }, { role: 'write' })
    expect(answer).toMatchObject({ status: 0, code: 17575 })
  })

  it('does nothing twice with one key', async () => {
    const credits = Array.from({ length: 600 }, (_, index) => ({ ...FEE, label: `no ${index}` }))
    const [first, second] = await Promise.all(
      [1, 2].map(() => api.ask('bulkcredit', { credits }, { key: 'bulk', as: 'json' })),
    )
    expect(first?.text).toBe(second?.text)
    expect(await api.catalog().lines.countDocuments()).toBe(600)
  })

  it('can be asked for by its stamp, and by its key', async () => {
    const credits = [FEE, { ...FEE, installments: 2 }, { ...FEE, rate: 'NO_RATE' }]
    const call = await api.ask('bulkcredit', { credits })
    expect(call).toMatchObject({ status: 2, operation: 'credit', stamp: expect.any(String) })
    const { stamp } = call
    const query = (more: object = {}) =>
      api.ask('bulkcredit', { operation: 'query', stamp: stamp as string, ...more })
    const brief = await query()
    expect(brief).toMatchObject({
      status: 1,
      desc: 'Done processing',
      operation: 'query',
      count: 3,
    })
    expect(brief).not.toHaveProperty('details')
    const { details } = await query({ details: 1 })
    const lines = details as { aprice: number; urt: string; stamp: string }[]
    expect(lines.map(({ aprice }) => aprice)).toEqual([10, 5, 5])
    expect(lines[0]?.urt).toMatch(/^2026-06-10T00:00:00[+-]\d{4}$/)
    expect((await query({ details: '1', page: 1, size: 2 }))['details']).toEqual(lines.slice(2))
    await api.ask('bulkcredit', { credits: [FEE] }, { key: 'my-key' })
    const byKey = { operation: 'query', stamp: 'my-key' }
    expect(await api.ask('bulkcredit', byKey)).toMatchObject({ desc: 'Done processing', count: 1 })
    expect(await api.ask('bulkcredit', byKey, { user: 'eve' })).toMatchObject({
      status: 0,
      desc: 'File my-key not found',
    })
  })

  it('shows how far it is while it runs, and after its process has died', async () => {
    const { idempotency } = api.catalog()
    const credits = Array.from({ length: 300 }, () => FEE)
    const { stamp } = await api.ask('bulkcredit', { credits }, { key: 'slow' })
    const id = stamp as never
    const ask = () => api.ask('bulkcredit', { operation: 'query', stamp: stamp as string })
    const running = { $set: { state: 'running' }, $unset: { answer: 1 } } as never
    await idempotency.updateOne({ _id: id }, running)
    expect(await ask()).toMatchObject({ desc: 'In progress', count: 300 })
    await idempotency.deleteOne({ call: stamp as string, part: 1 })
    expect(await ask()).toMatchObject({ desc: 'In progress', count: 250 })
    await idempotency.deleteOne({ call: stamp as string, part: 0 })
    expect(await ask()).toMatchObject({ desc: 'File received', count: 0 })
    const dead = { host: (await holderOf(id)).host, pid: 2 ** 22 + 1, instance: 'dead' }
    await idempotency.updateOne({ _id: id }, { $set: { holder: dead } } as never)
    expect(await ask()).toMatchObject({ desc: 'Interrupted', count: 0 })
  })

  it('has no line after all credits have failed', async () => {
    const credits = [{ ...FEE, rate: 'NO_RATE' }]
    const { stamp, text } = await api.ask('bulkcredit', { credits }, { key: 'failed' })
    expect((await api.ask('bulkcredit', { credits }, { key: 'failed' })).text).toBe(text)
    expect(
      await api.ask('bulkcredit', { operation: 'query', stamp: stamp as string, details: 1 }),
    ).toMatchObject({ status: 1, desc: 'Done processing', count: 0, details: [] })
  })

  const many = (more: object) =>
    Array.from({ length: 10_000 }, (_, index) => ({
      ...FEE,
      usagev: 2,
      multiply_charge_by_volume: true,
      label: `Compensation for the outage of March, case ${index}`,
      ...more,
    }))

  it('writes 10,000 entries in one call', async () => {
    const answer = await api.ask('bulkcredit', { credits: many({}) }, { key: 'large' })
    expect([answer.http, answer['status'], answer['desc']]).toEqual([200, 1, 'success'])
    expect(answer['details']).toHaveLength(10_000)
    expect(await api.catalog().lines.countDocuments()).toBe(10_000)
    const query = { operation: 'query', stamp: answer['stamp'] as string, details: 1 }
    const lines = await api.ask('bulkcredit', query)
    expect(lines).toMatchObject({ status: 1, desc: 'Done processing', count: 10_000 })
    expect(lines['details']).toHaveLength(10_000)
  })

  it.each(['json', 'multipart'] as const)('reads 10,000 entries as %s', async (as) => {
    const answer = await api.ask('bulkcredit', { credits: many({ aid: 'x' }) }, { as })
    expect([answer.http, answer['status']]).toEqual([200, 0])
    expect(answer['details']).toHaveLength(10_000)
  })
})
