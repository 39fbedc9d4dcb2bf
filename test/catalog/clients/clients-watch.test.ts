import { afterEach, describe, expect, it } from 'vitest'
import { withClient } from '../../../src/catalog/clients/client-changes.ts'
import { type CurrentClients, watchClients } from '../../../src/catalog/clients/clients-watch.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { Poller } from '../../../src/catalog/poller.ts'
import { createSealer } from '../../../src/catalog/sealing/sealing.ts'
import { recordingLog, useStore } from '../../support/catalog/store.ts'

const store = useStore()
const open: Poller[] = []
afterEach(async () => {
  for (const watch of open.splice(0)) await watch.stop()
})

const sealer = createSealer('a key of this test')
const change = { nowMs: 0, by: 'test', sealer, timeZone: 'UTC' }

function watchOf(catalog: Catalog) {
  const { log, records } = recordingLog()
  const published: CurrentClients[] = []
  const watch = watchClients({ catalog, sealer, pollMs: 3_600_000, log }, (now) =>
    published.push(now),
  )
  open.push(watch)
  const names = () =>
    published
      .at(-1)
      ?.clients.signers(0)
      .map(({ name }) => name)
  return { watch, published, records, names }
}

/** Stores a setting in the same form as the modules that write settings. */
async function put(catalog: Catalog, _id: string, rev: number, value: unknown) {
  const document = { _id, rev, value, changed: new Date(0), changed_by: 'test' }
  await catalog.config.replaceOne({ _id }, document, { upsert: true })
}

describe('a watch of clients', () => {
  it('publishes clients and signature window on the first read and after changes', async () => {
    const catalog = await store.open()
    const { watch, published, names } = watchOf(catalog)
    expect(await watch.start()).toBe(true)
    expect(names()).toEqual([])
    expect(published).toMatchObject([{ signature: { enabled: true, windowMs: 300_000 } }])
    await put(catalog, 'shared_secret', 7, withClient([], { name: 'crm' }, change).list)
    await watch.pollNow()
    await watch.pollNow()
    expect([names(), published.length]).toEqual([['crm'], 2])
    await put(catalog, 'security', 8, { signature: { enabled: false, window_seconds: 5 } })
    await watch.pollNow()
    expect(published.slice(2)).toMatchObject([{ signature: { enabled: false, windowMs: 5_000 } }])
    await put(catalog, 'shared_secret', 9, [])
    await watch.pollNow()
    expect(names()).toEqual([])
  })

  it('skips unusable clients and logs them without their keys', async () => {
    const catalog = await store.open()
    const { watch, records, names } = watchOf(catalog)
    const other = { ...change, sealer: createSealer('another key') }
    const [lost] = withClient([], { name: 'lost' }, other).list
    const [crm] = withClient([], { name: 'crm' }, change).list
    await put(catalog, 'shared_secret', 7, [lost, crm, 'no client'])
    await watch.start()
    expect(names()).toEqual(['crm'])
    expect(records).toHaveLength(2)
    expect(JSON.stringify(records)).toContain('lost')
    expect(JSON.stringify(records)).not.toContain('v1:')
  })

  it('keeps the cached clients while MongoDB is unavailable', async () => {
    const catalog = await store.open()
    await put(catalog, 'shared_secret', 1, withClient([], { name: 'crm' }, change).list)
    const { watch, names } = watchOf(catalog)
    await watch.start()
    await catalog.close()
    expect(await watch.pollNow()).toBe(false)
    expect(names()).toEqual(['crm'])
  })
})
