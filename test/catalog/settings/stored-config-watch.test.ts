import { ObjectId } from 'mongodb'
import { afterEach, describe, expect, it } from 'vitest'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import {
  type StoredConfig,
  writeStoredConfig,
} from '../../../src/catalog/settings/stored-config.ts'
import {
  type StoredConfigWatch,
  watchStoredConfig,
} from '../../../src/catalog/settings/stored-config-watch.ts'
import { recordingLog, useStore } from '../../support/catalog/store.ts'
import { startStoreProxy } from '../../support/store-proxy.ts'

const store = useStore()
const watches: StoredConfigWatch[] = []

afterEach(async () => {
  for (const watch of watches.splice(0)) await watch.stop()
})

/** A watch that polls on request, unless a test needs automatic polling. */
function watchOf(catalog: Catalog, pollMs = 3_600_000) {
  const { log, records } = recordingLog()
  const published: StoredConfig[] = []
  const watch = watchStoredConfig({ catalog, pollMs, log }, (config) => published.push(config))
  watches.push(watch)
  return { watch, published, records }
}

function write(catalog: Catalog, value: unknown) {
  return writeStoredConfig(catalog, 'peers', () => value, { nowMs: 0, by: 'test' })
}

describe('a watch of the stored configuration', () => {
  it('publishes the configuration on the first read and after changes', async () => {
    const catalog = await store.open()
    const { watch, published } = watchOf(catalog)
    expect(watch.loaded()).toBe(false)
    expect(await watch.start()).toBe(true)
    expect(watch.loaded()).toBe(true)
    expect(published).toEqual([
      { file_types: [], peers: [], taxation: {}, subscribers: {}, events: {} },
    ])
    await watch.pollNow()
    expect(published).toHaveLength(1)
    await write(catalog, ['a'])
    await watch.pollNow()
    await watch.pollNow()
    expect(published.slice(1)).toEqual([
      { file_types: [], peers: ['a'], taxation: {}, subscribers: {}, events: {} },
    ])
  })

  it('reads no values if nothing has changed', async () => {
    const catalog = await store.open()
    const done: string[] = []
    const counted = withGuards(catalog, {
      run(what, operation) {
        done.push(what)
        return catalog.run(what, operation)
      },
    })
    const { watch } = watchOf(counted)
    await watch.start()
    done.length = 0
    await watch.pollNow()
    expect(done).toEqual(['read config'])
  })

  it('finds the change of a writer that died before it published an event', async () => {
    const catalog = await store.open()
    const { watch, published } = watchOf(catalog)
    await write(catalog, [])
    await watch.start()
    await catalog.config.updateOne({ _id: 'peers' }, { $set: { rev: 99, value: ['a'] } })
    await watch.pollNow()
    expect(published.at(-1)?.peers).toEqual(['a'])
  })

  it('treats an older state of the store as a change', async () => {
    const catalog = await store.open()
    await write(catalog, ['a'])
    const { watch, published } = watchOf(catalog)
    await watch.start()
    await catalog.config.deleteMany({})
    await watch.pollNow()
    expect(published.map(({ peers }) => peers)).toEqual([['a'], []])
  })

  it('polls by itself', async () => {
    const catalog = await store.open()
    const { watch, published } = watchOf(catalog, 10)
    await watch.start()
    await write(catalog, ['a'])
    await expect.poll(() => published.at(-1)?.peers).toEqual(['a'])
  })
})

describe('an outage', () => {
  it('keeps the cached configuration, is logged once, and loses no changes', async () => {
    const proxy = await startStoreProxy(store.url())
    try {
      const database = `config_${new ObjectId().toHexString()}`
      const direct = await store.open(undefined, database)
      await write(direct, ['a'])
      const { watch, published, records } = watchOf(await store.open(proxy.url, database))
      await watch.start()
      await proxy.cut()
      expect(await watch.pollNow()).toBe(false)
      expect(await watch.pollNow()).toBe(false)
      expect(watch.loaded()).toBe(true)
      await write(direct, ['b'])
      await proxy.restore()
      await expect.poll(() => watch.pollNow()).toBe(true)
      expect(published.map(({ peers }) => peers)).toEqual([['a'], ['b']])
      expect(records.map(({ level }) => level)).toEqual(['warn', 'info'])
    } finally {
      await proxy.close()
    }
  })

  it('at start is distinguished from an empty configuration', async () => {
    const proxy = await startStoreProxy(store.url())
    try {
      await proxy.cut()
      const { watch, published } = watchOf(await store.open(proxy.url))
      expect(await watch.start()).toBe(false)
      expect([watch.loaded(), published]).toEqual([false, []])
      await proxy.restore()
      await expect.poll(() => watch.pollNow()).toBe(true)
      expect([watch.loaded(), published.length]).toEqual([true, 1])
    } finally {
      await proxy.close()
    }
  })
})
