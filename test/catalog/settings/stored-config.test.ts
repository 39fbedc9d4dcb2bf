import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import {
  type ConfigCategory,
  readConfigRevision,
  readStoredConfig,
  writeStoredConfig,
} from '../../../src/catalog/settings/stored-config.ts'
import { useStore } from '../../support/catalog/store.ts'

const store = useStore()
const change = { nowMs: Date.UTC(2026, 0, 1), by: 'test' }

const listOf = (value: unknown) => value as readonly unknown[]

function append(catalog: Catalog, item: unknown, category: ConfigCategory = 'peers') {
  return writeStoredConfig(catalog, category, (value) => [...listOf(value), item], change)
}

describe('the stored configuration', () => {
  it('consists of empty lists if nothing was ever written', async () => {
    const catalog = await store.open()
    expect(await readStoredConfig(catalog)).toEqual({
      file_types: [],
      peers: [],
      taxation: {},
      subscribers: {},
      events: {},
    })
    expect(await readConfigRevision(catalog)).toBe('0 0 0 0 0')
  })

  it('is the result of a change to the previous value, with its author and time', async () => {
    const catalog = await store.open()
    expect(await append(catalog, 'a')).toEqual(['a'])
    expect(await append(catalog, 'b')).toEqual(['a', 'b'])
    await append(catalog, { file_type: 'X' }, 'file_types')
    expect(await readStoredConfig(catalog)).toEqual({
      file_types: [{ file_type: 'X' }],
      peers: ['a', 'b'],
      taxation: {},
      subscribers: {},
      events: {},
    })
    const stored = await catalog.config.findOne({ _id: 'peers' })
    expect(stored).toMatchObject({ changed: new Date(change.nowMs), changed_by: 'test' })
  })

  it('keeps names as they occur in messages: with dots, dollars and prototypes', async () => {
    const catalog = await store.open()
    const value = JSON.parse('{"a.b": 1, "$regex": {"$x": 2}, "__proto__": {"c": 3}, "": 4}')
    await append(catalog, value)
    const { peers } = await readStoredConfig(catalog)
    expect(JSON.stringify(peers)).toBe(JSON.stringify([value]))
  })

  it('has another revision after each change', async () => {
    const catalog = await store.open()
    const seen = new Set<string>()
    for (let round = 0; round < 4; round += 1) {
      seen.add(await readConfigRevision(catalog))
      await append(catalog, round, round % 2 === 0 ? 'peers' : 'file_types')
    }
    expect(seen.size).toBe(4)
  })

  it('stays unchanged if the change throws', async () => {
    const catalog = await store.open()
    await append(catalog, 'a')
    const before = await readConfigRevision(catalog)
    const refused = writeStoredConfig(
      catalog,
      'peers',
      () => {
        throw new RangeError('not so')
      },
      change,
    )
    await expect(refused).rejects.toThrow(new RangeError('not so'))
    expect(await readConfigRevision(catalog)).toBe(before)
  })
})

describe('several writers', () => {
  it('do not overwrite each other, even when they write the first value', async () => {
    const database = `config_${new ObjectId().toHexString()}`
    const writers = await Promise.all([1, 2, 3].map(() => store.open(undefined, database)))
    const names = Array.from({ length: 12 }, (_, index) => index)
    await Promise.all(
      writers.map(async (catalog, writer) => {
        for (const name of names) await append(catalog, `${writer} ${name}`)
      }),
    )
    const { peers } = await readStoredConfig(writers[0] as Catalog)
    const expected = writers.flatMap((_, writer) => names.map((name) => `${writer} ${name}`))
    expect([...listOf(peers)].sort()).toEqual(expected.sort())
  })

  it('do not overwrite what another process has written while they decide', async () => {
    const database = `config_${new ObjectId().toHexString()}`
    const catalog = await store.open(undefined, database)
    const other = await store.open(undefined, database)
    await append(catalog, 'first')
    let others = 0
    const overtaken = withGuards(catalog, {
      async run(what, operation) {
        if (what === 'write confighistory' && others < 2) {
          others += 1
          await append(other, others)
        }
        return catalog.run(what, operation)
      },
    })
    await append(overtaken, 'late')
    expect((await readStoredConfig(catalog)).peers).toEqual(['first', 1, 2, 'late'])
  })
})
