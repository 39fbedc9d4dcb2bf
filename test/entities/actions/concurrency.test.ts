import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { dyingCatalog } from '../../support/catalog/dying.ts'
import {
  act,
  at,
  expectNoEntries,
  periodsOf,
  RATE,
  storesOf,
  YEAR_MS,
} from '../../support/entities/actions/entity-fixture.ts'
import { startTestStores, type TestStores } from '../../support/recorder/accounts.ts'

let open: TestStores
beforeAll(async () => {
  open = await startTestStores()
})
afterAll(() => open.close())

const DAY_MS = 86_400_000

describe('concurrent actions on one entity', () => {
  it('never leave a gap or overlapping revisions: 25 closeandnew', async () => {
    const stores = storesOf(open)
    await act(stores, 'rates', 'create', { set: { key: 'MANY', ...RATE }, from: at('2026-01-01') })
    const days = Array.from({ length: 25 }, (_, day) => day + 1).sort(() => Math.random() - 0.5)
    const results = await Promise.allSettled(
      days.map((day) =>
        act(stores, 'rates', 'closeandnew', {
          target: { key: 'MANY', effective_date: new Date(YEAR_MS + day * DAY_MS) },
          from: new Date(YEAR_MS + day * DAY_MS),
          set: { description: `day ${day}` },
        }),
      ),
    )
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
    const periods = await periodsOf(stores, 'MANY')
    expect(periods).toHaveLength(26)
    for (const [index, [from, to]] of periods.entries()) {
      expect(from.getTime()).toBe(YEAR_MS + index * DAY_MS)
      expect(to.getTime()).toBe(index === 25 ? FOREVER_MS : YEAR_MS + (index + 1) * DAY_MS)
    }
    await expectNoEntries(open.catalog)
  })

  it('create a key once in 20 attempts', async () => {
    const stores = storesOf(open)
    const create = () => act(stores, 'plans', 'create', { set: PLAN, from: at('2026-01-01') })
    const results = await Promise.allSettled(Array.from({ length: 20 }, create))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await open.catalog.plans.countDocuments({ name: 'ONCE' })).toBe(1)
  })
})

const PLAN = {
  name: 'ONCE',
  price: [{ from: 0, to: 'UNLIMITED', price: 1 }],
  recurrence: { frequency: 1, start: 1 },
  upfront: false,
  connection_type: 'prepaid',
}

describe('a process that is cut off within a transaction', () => {
  it.each(['update rates', 'insert audit', 'update transactions', 'commitTransaction'])(
    'before %s leaves nothing, and blocks nobody',
    async (command) => {
      const key = `CUT_${command.split(' ').join('_').toUpperCase()}`
      const stores = storesOf(open)
      await act(stores, 'rates', 'create', { set: { key, ...RATE }, from: at('2026-01-01') })
      const records = await open.catalog.audit.countDocuments()
      const dying = await dyingCatalog(open.mongo, (each) => each === command)
      const from = at('2026-06-01')
      const change = { target: { key, effective_date: from }, from }
      const cut = act({ ...stores, catalog: dying.catalog }, 'rates', 'closeandnew', change)
      await expect(cut).rejects.toThrow(CatalogUnavailableError)
      expect(dying.died()).toBe(true)
      await dying.close()
      expect(await periodsOf(stores, key)).toEqual([[at('2026-01-01'), new Date(FOREVER_MS)]])
      expect(await open.catalog.audit.countDocuments()).toBe(records)
      await act(stores, 'rates', 'closeandnew', change)
      expect(await periodsOf(stores, key)).toEqual([
        [at('2026-01-01'), from],
        [from, new Date(FOREVER_MS)],
      ])
    },
  )
})

describe('the commands of a create', () => {
  it('are at most three writes and one commit', async () => {
    const commands: string[] = []
    const watch = (command: string) => {
      if (!READS.test(command)) commands.push(command)
      return false
    }
    const watched = await dyingCatalog(open.mongo, watch)
    const stores = { ...storesOf(open), catalog: watched.catalog }
    await act(stores, 'plans', 'create', { set: { ...PLAN, name: 'FEW' }, from: at('2026-01-01') })
    await watched.close()
    const transaction = ['insert plans', 'insert audit', 'update transactions', 'commitTransaction']
    expect(commands).toEqual(transaction)
  })
})

const READS = /^(find|aggregate|getMore|count|distinct)\b/
