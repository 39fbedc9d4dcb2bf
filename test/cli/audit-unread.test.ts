import { describe, expect, it } from 'vitest'
import { type Catalog, withGuards } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError, SlowReadError } from '../../src/catalog/errors.ts'
import { type Patience, patienceOf } from '../../src/catalog/patience.ts'
import { repeatingReads } from '../../src/catalog/repeating-reads.ts'
import { auditBooks } from '../../src/cli/audit/books.ts'
import { Unread, unreadLines } from '../../src/cli/audit/unread.ts'
import { reportLines } from '../../src/cli/audit.ts'

const SLOW = 'MongoDB: read the journal of an account: no answer within 2000 ms'

/** A catalogue that answers by the name of the operation. */
function catalogOf(answer: (what: string) => unknown): Catalog {
  const run = (async (what) => answer(what)) as Catalog['run']
  const unguarded = { bills: {}, journal: {} }
  return withGuards({ unguarded } as never, { run, read: run as Catalog['read'] })
}

/** Accounts with bills; `isSlow`: the journal of the account is not answered. */
function booksOf(aids: readonly number[], isSlow: (aid: number) => boolean): Catalog {
  let next = 0
  const catalog = catalogOf((what) => {
    if (what === 'read bills') {
      const aid = aids[next]
      next += 1
      return aid === undefined ? [] : [{ aid }]
    }
    if (isSlow(aids[next - 1] ?? 0)) throw new CatalogUnavailableError(SLOW)
    return { bills: [], postings: [] }
  })
  const none = { sort: () => none, limit: () => none, toArray: async () => [] }
  const books = { find: () => none, findOne: async () => null }
  return { ...catalog, books: books as never }
}

describe('a read of an audit that is not answered', () => {
  const patience = (forMs: number, tell: (reason: string | null) => void = () => undefined) =>
    ({ ...patienceOf(forMs, tell), pauseMs: 1 }) satisfies Patience

  it.each([new CatalogUnavailableError('late'), new SlowReadError('look', 1)])(
    'is repeated, and told once: %s',
    async (error) => {
      for (const name of ['run', 'read'] as const) {
        let calls = 0
        const catalog = catalogOf(() => {
          calls += 1
          if (calls < 4) throw error
          return 'found'
        })
        const told: (string | null)[] = []
        const read = repeatingReads(
          catalog,
          patience(60_000, (reason) => told.push(reason)),
        )
        expect(await read[name]('look', async () => null)).toBe('found')
        expect(told).toEqual([error.message, null])
      }
    },
  )

  it('is given up when the time is over', async () => {
    const error = new CatalogUnavailableError('late')
    const catalog = catalogOf(() => {
      throw error
    })
    const read = repeatingReads(catalog, patience(5))
    await expect(read.run('look', async () => null)).rejects.toBe(error)
  })

  it('is given up when nobody waits for it any more', async () => {
    const error = new CatalogUnavailableError('late')
    const catalog = catalogOf(() => {
      throw error
    })
    const abort = new AbortController()
    // The pause is longer than any test.
    const waiting = patienceOf(3_600_000, () => abort.abort())
    const read = repeatingReads(catalog, {
      ...{ ...waiting, pauseMs: 1_800_000 },
      signal: abort.signal,
    })
    await expect(read.run('look', async () => null)).rejects.toBe(error)
  })

  it('is not repeated for another reason', async () => {
    let calls = 0
    const catalog = catalogOf(() => {
      calls += 1
      throw new TypeError('a defect')
    })
    const read = repeatingReads(catalog, patience(60_000))
    await expect(read.run('look', async () => null)).rejects.toThrow('defect')
    expect(calls).toBe(1)
  })

  it('leaves its part unchecked, which is named and fails the audit', async () => {
    const unread = new Unread()
    const report = await auditBooks(
      booksOf([17, 18, 19], (aid) => aid === 18),
      null,
      unread,
    )
    expect(report).toMatchObject({ ok: false, accounts: 3, differences: [], moving: [] })
    expect(unreadLines(unread)).toEqual([`not checked: books of account 18: ${SLOW}`])
    const counts = { accounts: 0, owners: 0, buckets: 0, sessions: 0, lines: 0 }
    const lists = { differences: [], differencesLeftOut: 0, moving: [], notRecorded: [] }
    const whole = { ok: false, ...counts, ...lists, damaged: [], unread: unread.parts }
    expect(reportLines(whole, String)).toContain(`not checked: books of account 18: ${SLOW}`)
    expect(reportLines(whole, String).at(-1)).toBe('the audit has failed')
  })

  it('ends the audit if MongoDB is away', async () => {
    const unread = new Unread()
    await expect(
      auditBooks(
        booksOf([17, 18, 19, 20], () => true),
        null,
        unread,
      ),
    ).rejects.toThrow(SLOW)
    expect(unread.parts).toHaveLength(2)
  })

  it('in some parts, with others between them, does not', async () => {
    const aids = Array.from({ length: 8 }, (_, index) => 17 + index)
    const unread = new Unread()
    await auditBooks(
      booksOf(aids, (aid) => aid % 2 === 0),
      null,
      unread,
    )
    expect(unread.parts).toHaveLength(4)
  })
})
