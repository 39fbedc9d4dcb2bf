/** `POST /api/bulkcredit`: calls at once, calls that run, and large ones. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bulkcredit } from '../../../src/admin/actions/bulkcredit.ts'
import { credit } from '../../../src/admin/actions/credit.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, TAXED } from '../../support/admin/actions/credit-tenant.ts'

const api = useActionServer([credit, bulkcredit], TAXED)

beforeAll(() => addTenant(api.catalog()))
afterEach(() => api.catalog().lines.deleteMany({}))

async function holderOf(id: never): Promise<{ host: string }> {
  const found = await api.catalog().idempotency.findOne({ _id: id })
  return (found as unknown as { holder: { host: string } }).holder
}

const FEE = { aid: 1001, sid: 7, rate: 'FEE_A', credit_time: '2026-06-10', usagev: 1, aprice: 10 }

describe('bulkcredit', () => {
  it('does nothing twice with one key', async () => {
    const credits = Array.from({ length: 600 }, (_, index) => ({ ...FEE, label: `no ${index}` }))
    const [first, second] = await Promise.all(
      [1, 2].map(() => api.ask('bulkcredit', { credits }, { key: 'bulk', as: 'json' })),
    )
    expect(first?.text).toBe(second?.text)
    expect(await api.catalog().lines.countDocuments()).toBe(600)
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
