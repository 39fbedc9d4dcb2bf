import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { MongoClient } from 'mongodb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Catalog, openCatalog, withGuards } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError, CatalogUrlError } from '../../src/catalog/errors.ts'
import { patienceOf } from '../../src/catalog/patience.ts'
import { repeatingReads } from '../../src/catalog/repeating-reads.ts'
import { useStore } from '../support/catalog/store.ts'
import { type StoreProxy, startStoreProxy } from '../support/store-proxy.ts'

const store = useStore()
let proxy: StoreProxy | null = null
let catalog: Catalog | null = null

afterEach(async () => {
  await catalog?.close()
  await proxy?.close()
  catalog = null
  proxy = null
})

async function openBehindProxy(timeoutMs = 500): Promise<{ catalog: Catalog; proxy: StoreProxy }> {
  proxy = await startStoreProxy(store.url())
  catalog = await openCatalog({ url: proxy.url, database: 'outage', timeoutMs, appName: 'test' })
  return { catalog, proxy }
}

/** Pings until the driver has connected, or detected that an outage is over, as a poll would. */
async function pingUntilUp(catalog: Catalog): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const isUp = await catalog.ping().then(
      () => true,
      () => false,
    )
    if (isUp) return
  }
  throw new Error('the catalogue does not recover')
}

describe('openCatalog', () => {
  it('opens while the store is unavailable and works once it is available', async () => {
    const { catalog, proxy } = await openBehindProxy()
    await proxy.cut()
    await expect(catalog.ping()).rejects.toThrow(CatalogUnavailableError)
    await proxy.restore()
    await pingUntilUp(catalog)
  })

  it.each(['cut', 'hang'] as const)(
    'reports an outage by its name (%s) and recovers',
    async (kind) => {
      const { catalog, proxy } = await openBehindProxy()
      await pingUntilUp(catalog)
      await proxy[kind]()
      const find = () => catalog.plans.findOne({ name: 'GOLD' })
      await expect(find()).rejects.toThrow(CatalogUnavailableError)
      await expect(find()).rejects.toThrow(/read plans/)
      await proxy.restore()
      await pingUntilUp(catalog)
      expect(await find()).toBeNull()
    },
  )

  it('has patience for batch work, and tells that it waits; a ping is answered soon', async () => {
    const { catalog: quick, proxy } = await openBehindProxy(200)
    const told: (string | null)[] = []
    const patience = patienceOf(60_000, (reason) => told.push(reason))
    const options = { url: proxy.url, database: 'outage', timeoutMs: 200, appName: 'test' }
    const patient = await openCatalog({ ...options, patience }, quick)
    try {
      await pingUntilUp(quick)
      await pingUntilUp(patient)
      proxy.slow(500)
      const find = (from: Catalog) => from.plans.find().toArray()
      await expect(find(quick)).rejects.toThrow('read plans: no answer within 200 ms')
      await expect(patient.ping()).rejects.toThrow('ping: no answer within 200 ms')
      expect(await find(patient)).toEqual([])
      const reason = 'MongoDB: read plans: no answer within 200 ms'
      expect(told.slice(-2)).toEqual([reason, null])
    } finally {
      await patient.close()
    }
  })

  it('does not count the time in which the thread itself was busy', async () => {
    const { catalog } = await openBehindProxy(200)
    await pingUntilUp(catalog)
    const found = catalog.plans.findOne({ name: 'GOLD' })
    await new Promise((resolve) => setImmediate(resolve))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
    expect(await found).toBeNull()
  })

  it('reports an outage by its name when several documents are written', async () => {
    const { catalog, proxy } = await openBehindProxy()
    await pingUntilUp(catalog)
    await proxy.cut()
    const documents = ['a', 'b'].map((_id) => ({ _id, value: 1, rev: 1 }))
    const insert = () => catalog.config.insertMany(documents as never)
    await expect(insert()).rejects.toThrow(CatalogUnavailableError)
    await proxy.restore()
    await pingUntilUp(catalog)
    await insert()
    await expect(insert()).rejects.toThrow(/E11000/)
  })

  it.each([1, 2])(
    'reports a connection that is lost within a command of %d long document(s)',
    async (count) => {
      const { catalog, proxy } = await openBehindProxy(5_000)
      await catalog.ping()
      const documents = Array.from({ length: count }, (_, index) => ({
        _id: `long${index}`,
        value: 'x'.repeat(12_000_000),
        rev: 1,
      }))
      proxy.cutBefore((request) => request.includes('long0'))
      const insert: Promise<unknown> =
        count === 1
          ? catalog.config.insertOne(documents[0] as never)
          : catalog.config.insertMany(documents as never)
      const failure = await insert.catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(CatalogUnavailableError)
      expect((failure as Error).message).not.toMatch(/no answer/)
    },
  )

  describe('with a socket that is closed and has not reported it yet', () => {
    const sockets: Socket[] = []
    const keep = (message: unknown) => sockets.push((message as { socket: Socket }).socket)
    // The state between the end of the stream that the server sends and the event of the socket.
    const lose = () => {
      for (const socket of sockets) socket.destroy()
    }

    beforeEach(() => {
      sockets.length = 0
      subscribe('net.client.socket', keep)
      return () => unsubscribe('net.client.socket', keep)
    })

    it('repeats a read on another connection', async () => {
      const catalog = await store.open()
      await catalog.ping()
      lose()
      expect(await catalog.plans.findOne({ name: 'GOLD' })).toBeNull()
    })

    it('reports a command that cannot be repeated', async () => {
      const catalog = await store.open()
      await catalog.ping()
      lose()
      await expect(catalog.ping()).rejects.toThrow(/connection \d+ to .* closed/)
    })

    it('closes', async () => {
      const catalog = await store.open()
      await catalog.ping()
      lose()
      await catalog.close()
    })
  })

  it('reports a read whose cursor the server has lost', async () => {
    catalog = await openCatalog({
      url: store.url(),
      database: 'cursors',
      timeoutMs: 5_000,
      appName: 'test',
    })
    const { config } = catalog.unguarded
    await config.insertMany([{ _id: 'a' }, { _id: 'b' }] as never)
    const read = catalog.run('read all', async () => {
      const cursor = config.find().batchSize(1)
      await cursor.next()
      const cursors = [cursor.id]
      const other = new MongoClient(store.url())
      await other.db('cursors').command({ killCursors: 'config', cursors })
      await other.close()
      await cursor.next()
    })
    await expect(read).rejects.toThrow(CatalogUnavailableError)
    await expect(read).rejects.toThrow(/read all: cursor id/)
  })

  it('recovers when the connection was replaced after a long time without answers', async () => {
    const { catalog, proxy } = await openBehindProxy()
    await pingUntilUp(catalog)
    proxy.hang()
    const find = () => catalog.plans.findOne({ name: 'GOLD' })
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await expect(find()).rejects.toThrow(CatalogUnavailableError)
    }
    await proxy.restore()
    await pingUntilUp(catalog)
    expect(await find()).toBeNull()
  })

  it('does not start an operation that was cancelled while it was connecting', async () => {
    const { catalog, proxy } = await openBehindProxy()
    await proxy.cut()
    let begun = 0
    const operation = async () => {
      begun += 1
    }
    await expect(catalog.run('count', operation)).rejects.toThrow(CatalogUnavailableError)
    await proxy.restore()
    await pingUntilUp(catalog)
    expect(begun).toBe(0)
  })

  it('reports an unreachable store', async () => {
    const url = 'mongodb://someone:opensesame@127.0.0.1:1'
    catalog = await openCatalog({ url, database: 'x', timeoutMs: 300, appName: 'test' })
    const error = await catalog.ping().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(CatalogUnavailableError)
    expect(String(error)).not.toContain('opensesame')
  })

  it.each([
    'mongodb://someone:opensesame@host:port:27017',
    'mongodb://someone:open/sesame@host',
    'mongodb://someone:opensesame@host/?authSource=x&wrong=opensesame',
    'http://someone:opensesame@host',
  ])('refuses %s without revealing the password', async (url) => {
    const error = await openCatalog({ url, database: 'x', timeoutMs: 300, appName: 'test' }).catch(
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(CatalogUrlError)
    const shown = `${(error as Error).stack} ${JSON.stringify(error)} ${(error as Error).cause}`
    expect(shown).not.toMatch(/opensesame|open\/sesame/)
  })

  it('opens a cursor again when its read is repeated', async () => {
    const catalog = await store.open()
    await catalog.plans.insertMany([{ name: 'B' }, { name: 'A' }] as never)
    let attempts = 0
    const losing = withGuards(catalog, {
      async run(what, operation) {
        const found = await catalog.run(what, operation)
        attempts += 1
        if (attempts === 1) throw new CatalogUnavailableError('lost')
        return found
      },
    })
    const patience = { ...patienceOf(60_000, () => undefined), pauseMs: 1 }
    const { plans } = repeatingReads(losing, patience)
    const found = await plans.find({}, { limit: 1 }).sort({ name: 1 }).toArray()
    expect([found.map(({ name }) => name), attempts]).toEqual([['A'], 2])
  })

  it('passes on errors that are not outages', async () => {
    const catalog = await store.open()
    const bad = { $nonsense: 1 } as Record<string, unknown>
    const error = await catalog.plans.findOne(bad).catch((reason: unknown) => reason)
    expect(error).not.toBeInstanceOf(CatalogUnavailableError)
    expect(error).toBeInstanceOf(Error)
  })

  it('reports that it is closed', async () => {
    const catalog = await store.open()
    await catalog.ping()
    await catalog.close()
    await expect(catalog.ping()).rejects.toThrow(CatalogUnavailableError)
  })
})

describe('ensureIndexes', () => {
  it('creates the indexes and can be repeated', async () => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    await catalog.ensureIndexes()
    const indexes = await catalog.unguarded.subscribers.indexes()
    const keys = indexes.map(({ key }) => Object.keys(key).join('+'))
    expect(keys.sort()).toEqual([
      '_id',
      'aid+from',
      'aid+type+from',
      'allowances.sid',
      'email',
      'firstname',
      'imsi',
      'lastname',
      'msisdn',
      'payment_gateway.active.name+aid',
      'plan',
      'rev',
      'services.name',
      'sid+from',
    ])
  })

  it('makes lines and balances unique', async () => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    const line = { stamp: 'same' } as never
    await catalog.lines.insertOne(line)
    await expect(catalog.lines.insertOne({ stamp: 'same' } as never)).rejects.toThrow(/E11000/)
    const balance = { aid: 1, sid: 2, bucket_id: 3 }
    await catalog.balances.insertOne({ ...balance } as never)
    await catalog.balances.insertOne({ ...balance, bucket_id: 4 } as never)
    await expect(catalog.balances.insertOne({ ...balance } as never)).rejects.toThrow(/E11000/)
  })
})
