/** `POST /api/bulkcredit`: each entry on its own. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bulkcredit } from '../../../src/admin/actions/bulkcredit.ts'
import { credit } from '../../../src/admin/actions/credit.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, creditLinesOf, TAXED } from '../../support/admin/actions/credit-tenant.ts'

const api = useActionServer([credit, bulkcredit], TAXED)

beforeAll(() => addTenant(api.catalog()))
afterEach(() => api.catalog().lines.deleteMany({}))

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
    [{ operation: 'query', credits: [FEE] }, 'Unrecognized operation'],
    [
      { credits: Array.from({ length: 10_001 }, () => 1) },
      'Field credits has more than 10000 entries',
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
  })

  it.each(['json', 'multipart'] as const)('reads 10,000 entries as %s', async (as) => {
    const answer = await api.ask('bulkcredit', { credits: many({ aid: 'x' }) }, { as })
    expect([answer.http, answer['status']]).toEqual([200, 0])
    expect(answer['details']).toHaveLength(10_000)
  })
})
