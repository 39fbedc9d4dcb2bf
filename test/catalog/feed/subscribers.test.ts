import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { findSubscriber } from '../../../src/catalog/feed/subscribers.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'

const store = useStore()
const at = (text: string) => Date.parse(`${text}T12:00:00Z`)
const day = (text: string) => Date.parse(`${text}T00:00:00Z`)

/** Subscriber 18 has GOLD, then SILVER with another number; subscriber 19 gets the old number. */
async function openWithTwo(): Promise<Catalog> {
  const catalog = await store.open()
  await catalog.ensureIndexes()
  const revision = (fields: Record<string, unknown>) => insertEntity(catalog, 'subscribers', fields)
  const imsi = ['001010000000001', '001010000000002']
  await revision({ from: '2026-01-01', to: '2026-03-01', msisdn: '4470001', imsi })
  await revision({ from: '2026-03-01', to: '2026-09-01', plan: 'SILVER', msisdn: '4470002', imsi })
  await revision({ sid: 19, from: '2026-04-01', msisdn: '4470001', barred: true })
  await revision({ type: 'account', sid: undefined, aid: 18, msisdn: '4470009' })
  return catalog
}

describe('findSubscriber', () => {
  it.each([
    ['sid', '18', '2026-02-01', 18, 'GOLD', '2026-03-01'],
    ['sid', '018', '2026-03-01', 18, 'SILVER', '2026-09-01'],
    ['msisdn', '4470001', '2026-02-01', 18, 'GOLD', '2026-03-01'],
    ['msisdn', '4470002', '2026-05-01', 18, 'SILVER', '2026-09-01'],
    ['imsi', '001010000000002', '2026-02-01', 18, 'GOLD', '2026-03-01'],
    ['imsi', '001010000000001', '2026-08-31', 18, 'SILVER', '2026-09-01'],
  ] as const)('finds by %s %s on %s', async (key, value, date, sid, plan, until) => {
    const catalog = await openWithTwo()
    const result = await findSubscriber(catalog, { key, value, atMs: at(date) })
    expect(result?.profile).toMatchObject({ sid, aid: 17, plan, barred: false })
    expect(result?.validUntilMs).toBe(day(until))
  })

  it('follows a number to its next owner, who is barred and has no end', async () => {
    const catalog = await openWithTwo()
    const query = { key: 'msisdn', value: '4470001' } as const
    const result = await findSubscriber(catalog, { ...query, atMs: at('2026-06-01') })
    expect(result?.profile).toMatchObject({ sid: 19, barred: true })
    expect(result?.validUntilMs).toBe(FOREVER_MS)
  })

  it.each([
    ['no such number', 'msisdn', '999', '2026-02-01'],
    ['no owner at that time', 'msisdn', '4470001', '2026-03-15'],
    ['before the first revision', 'sid', '18', '2025-12-31'],
    ['at the end of the last', 'sid', '18', '2026-09-01'],
    ['the number of an account', 'msisdn', '4470009', '2026-02-01'],
    ['not a number', 'sid', '18x', '2026-02-01'],
    ['an operator', 'sid', '{"$gt":0}', '2026-02-01'],
    ['zero', 'sid', '0', '2026-02-01'],
    ['a number that is too large', 'sid', '99999999999999999', '2026-02-01'],
  ] as const)('returns null: %s', async (_name, key, value, date) => {
    const catalog = await openWithTwo()
    expect(await findSubscriber(catalog, { key, value, atMs: at(date) })).toBeNull()
  })

  it('does not find a deleted revision, which does not hide other revisions', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'subscribers', { deleted: true })
    expect(
      await findSubscriber(catalog, { key: 'sid', value: '18', atMs: at('2026-02-01') }),
    ).toBeNull()
    await insertEntity(catalog, 'subscribers', { from: '2026-01-02' })
    await insertEntity(catalog, 'subscribers', { from: '2026-04-01', deleted: true })
    const found = await findSubscriber(catalog, { key: 'sid', value: '18', atMs: at('2026-02-01') })
    expect(found?.validUntilMs).toBe(FOREVER_MS)
  })

  it.each([
    ['sid', '18'],
    ['msisdn', '4470001'],
  ] as const)(
    'by %s returns a revision until a later one begins, even if they overlap',
    async (key, value) => {
      const catalog = await store.open()
      await insertEntity(catalog, 'subscribers', { msisdn: '4470001' })
      await insertEntity(catalog, 'subscribers', { from: '2026-05-01', plan: 'SILVER' })
      const result = await findSubscriber(catalog, { key, value, atMs: at('2026-02-01') })
      expect(result?.profile.plan).toBe('GOLD')
      expect(result?.validUntilMs).toBe(day('2026-05-01'))
    },
  )

  it('refuses a document that another program has damaged', async () => {
    const catalog = await store.open()
    const { _id } = await insertEntity(catalog, 'subscribers')
    await catalog.subscribers.updateOne({ _id }, { $set: { plan: 5 } } as never)
    const find = findSubscriber(catalog, { key: 'sid', value: '18', atMs: at('2026-02-01') })
    await expect(find).rejects.toThrow(FieldError)
  })
})
