import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/catalog/actor.ts'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import {
  readConfigVersion,
  readConfigVersions,
  VERSIONS_MAX,
} from '../../../src/catalog/settings/config-history.ts'
import {
  type StoredCategory,
  writeStoredConfig,
} from '../../../src/catalog/settings/stored-config.ts'
import { useStore } from '../../support/catalog/store.ts'

const store = useStore()
const ADA: Actor = { by: 'session', id: 'u1', name: 'ada', address: '192.0.2.1' }

function write(catalog: Catalog, value: unknown, more: object = {}, category = 'plays') {
  const change = { nowMs: Date.UTC(2026, 0, 1), by: 'cli', ...more }
  return writeStoredConfig(catalog, category as StoredCategory, () => value, change)
}

const revsOf = async (catalog: Catalog, category = 'plays') =>
  (await readConfigVersions(catalog, category)).map(({ rev }) => rev)

describe('versions of the stored configuration', () => {
  it('do not exist if nothing was stored', async () => {
    const catalog = await store.open()
    expect(await readConfigVersions(catalog, 'plays')).toEqual([])
    expect(await readConfigVersion(catalog, 'plays', 1)).toBeUndefined()
  })

  it('contain their author and time; the first one is in force', async () => {
    const catalog = await store.open()
    await write(catalog, { a: 1 })
    await write(catalog, { a: 2 }, { nowMs: Date.UTC(2026, 0, 2), by: 'ada', actor: ADA })
    await write(catalog, ['other'], {}, 'peers')
    const [now, former, ...others] = await readConfigVersions(catalog, 'plays')
    expect(others).toEqual([])
    expect(now).toMatchObject({ changed: new Date(Date.UTC(2026, 0, 2)), changed_by: 'ada' })
    expect(now?.actor).toEqual(ADA)
    expect(former).toMatchObject({ changed: new Date(Date.UTC(2026, 0, 1)), actor: null })
    expect(await readConfigVersion(catalog, 'plays', former?.rev ?? 0)).toEqual({ value: { a: 1 } })
    expect(await readConfigVersion(catalog, 'plays', now?.rev ?? 0)).toEqual({ value: { a: 2 } })
    expect(await readConfigVersion(catalog, 'peers', former?.rev ?? 0)).toBeUndefined()
  })

  it.each(['auth', 'shared_secret'])('do not store the value of %s themselves', async (name) => {
    const catalog = await store.open()
    await write(catalog, { key: 'hush' }, {}, name)
    await write(catalog, { key: 'other' }, {}, name)
    expect(await catalog.confighistory.find({ category: name }).toArray()).toMatchObject([
      { value: null },
    ])
    const former = (value: unknown) => ({ had: Object.keys(value as object) })
    await write(catalog, {}, { former }, name)
    const kept = await catalog.confighistory.find({ category: name }).sort({ rev: -1 }).toArray()
    expect(kept.map(({ value }) => value)).toEqual([{ had: ['key'] }, null])
  })

  it('are limited in number', async () => {
    const catalog = await store.open()
    for (let round = 0; round < VERSIONS_MAX + 4; round += 1) await write(catalog, { round })
    const revs = await revsOf(catalog)
    expect(revs).toHaveLength(VERSIONS_MAX + 1)
    expect(revs).toEqual([...revs].sort((a, b) => b - a))
    expect(await catalog.confighistory.countDocuments({})).toBe(VERSIONS_MAX)
  })
})

describe('a writer who is killed', () => {
  it.each(['write confighistory', 'write config'])(
    'before "%s" has lost nothing',
    async (crashPoint) => {
      const database = `history_${new ObjectId().toHexString()}`
      const catalog = await store.open(undefined, database)
      await write(catalog, { a: 1 })
      const crashing = withGuards(catalog, {
        run: (what, operation) =>
          what === crashPoint
            ? Promise.reject(new CatalogUnavailableError('gone'))
            : catalog.run(what, operation),
      })
      await expect(write(crashing, { a: 2 })).rejects.toThrow('gone')
      expect((await catalog.config.findOne({ _id: 'plays' }))?.value).toEqual({ a: 1 })
      expect(await revsOf(catalog)).toHaveLength(1)
      await write(catalog, { a: 3 })
      const revs = await revsOf(catalog)
      expect(revs).toHaveLength(2)
      expect(await readConfigVersion(catalog, 'plays', revs[1] ?? 0)).toEqual({ value: { a: 1 } })
    },
  )

  it('after a version that cannot be stored has not changed anything', async () => {
    const catalog = await store.open()
    await write(catalog, { a: 1 })
    const full = withGuards(catalog, {
      run: (what, operation) =>
        what === 'write confighistory'
          ? Promise.reject(new CatalogUnavailableError('full'))
          : catalog.run(what, operation),
    })
    await expect(write(full, { a: 2 })).rejects.toThrow('full')
    expect((await catalog.config.findOne({ _id: 'plays' }))?.value).toEqual({ a: 1 })
  })
})

describe('several writers', () => {
  it('keep each value that was ever in force, once', async () => {
    const database = `history_${new ObjectId().toHexString()}`
    const writers = await Promise.all([1, 2, 3].map(() => store.open(undefined, database)))
    await writers[0]?.ensureIndexes()
    const add = (value: unknown) => ({ n: ((value as { n?: number }).n ?? 0) + 1 })
    await Promise.all(
      writers.map(async (catalog) => {
        const change = { nowMs: 0, by: 'cli' }
        for (let n = 0; n < 8; n += 1) await writeStoredConfig(catalog, 'plays', add, change)
      }),
    )
    const kept = (await writers[0]?.confighistory.find({}).sort({ rev: 1 }).toArray()) ?? []
    const held = kept.map(({ value }) => (value as { n: number }).n)
    expect(held.sort((a, b) => a - b)).toEqual(Array.from({ length: 23 }, (_, n) => n + 1))
  })
})
