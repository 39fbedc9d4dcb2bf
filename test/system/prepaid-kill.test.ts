/**
 * The admin process, Redis and MongoDB are killed while cards are redeemed by many clients and
 * auto-renewals are charged: each card and each due date is loaded once.
 */
// covers: src/prepaid/cards/ src/prepaid/autorenew/ src/prepaid/balances/ src/ledger/operations.ts

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { postJson } from '../support/post-json.ts'
import { PATIENT } from '../support/product/patience.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { tollgate } from '../support/system/command.ts'
import { type LedgerReader, openLedgerReader, withCatalog } from '../support/system/exchange.ts'
import { Random } from '../support/system/random.ts'
import { waitUntil } from '../support/wait.ts'

const seed = Number(process.env['SEED'] ?? 11)
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)
const SUBSCRIBERS = 8
const FIRST_SID = 101
const CARDS_PER_ROUND = 40
const RENEWALS = 80
const VALUE = 10
/** Pause of 80 clients at once, whose repetitions would otherwise be most of the load. */
const RETRY_MS = 250
const STORES = process.env['TEST_MONGO_URL'] === undefined ? ['redis', 'mongo'] : ['redis']
const VICTIMS = ['admin', ...STORES] as ('admin' | 'redis' | 'mongo')[]
const environment = {
  ...PATIENT,
  TOLLGATE_SECRETS_KEY: createHash('sha256').update('test').digest('hex'),
}

let product: Product
let reader: LedgerReader

beforeAll(async () => {
  product = await startProduct({ appendfsync: 'always', environment })
  await withCatalog(product, async (catalog) => {
    await catalog.ensureIndexes()
    // Each card is wrong for one of its two subscribers.
    const patient = { lockout: { attempts: 100 } }
    await writeStoredConfig(catalog, 'security', () => patient, { nowMs: Date.now(), by: 'test' })
    const from = '2020-01-01'
    await insertEntity(catalog, 'plans', { from })
    for (let sid = FIRST_SID; sid < FIRST_SID + SUBSCRIBERS; sid += 1) {
      await insertEntity(catalog, 'subscribers', { sid, aid: sid, from })
    }
    const units = { charging_by: 'usagev', charging_by_usaget: 'data', priority: 50, from }
    await insertEntity(catalog, 'prepaidincludes', { ...units, external_id: 2, name: 'DATA' })
    await insertEntity(catalog, 'prepaidincludes', { ...units, external_id: 3, name: 'MORE' })
    const include = [2, 3].map((id) => ({ pp_includes_external_id: id, value: -VALUE }))
    await insertEntity(catalog, 'prepaidgroups', { name: 'LOAD', include, operation: 'inc', from })
  })
  await product.start('admin')
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

/** Credited units by bucket, over all subscribers; the two buckets are loaded together. */
async function credited(): Promise<number[]> {
  const sums = [0, 0]
  for (let sid = FIRST_SID; sid < FIRST_SID + SUBSCRIBERS; sid += 1) {
    const { buckets } = await reader.ownerOf(sid, sid)
    for (const bucket of buckets) {
      sums[bucket.prepaidIncludeId - 2] = (sums[bucket.prepaidIncludeId - 2] ?? 0) + bucket.credited
    }
  }
  return sums
}

async function call(path: string, params: object): Promise<Record<string, unknown> | null> {
  try {
    const answer = await postJson(`${product.adminUrl}${path}`, params)
    return (await answer.json()) as Record<string, unknown>
  } catch {
    return null
  }
}

/** Repeats the call until the card is decided; two clients try each card at once. */
async function redeem(sid: number, secret: string, isOver: () => boolean): Promise<boolean> {
  for (;;) {
    const query = { sid, secret }
    const answer = await call('/billapi/balances/update', { query, update: {} })
    if (answer?.['status'] === 1) return answer['details'] === true
    if (String(answer?.['message']).includes('no active card')) return false
    if (isOver()) throw new Error(`card is undecided: ${JSON.stringify(answer)}`)
    await pause(RETRY_MS)
  }
}

/** Cards that are not redeemed, renewals that are due, and operations on their way. */
function unfinished(round: number): Promise<number> {
  return withCatalog(product, async ({ cards, autorenew, outbox }) => {
    const open = { batch_number: round, 'used_by.credited': { $ne: true } }
    const due = { next_renew: { $lte: new Date() }, cycles_remaining: { $gt: 0 } }
    const counts = [cards.countDocuments(open), autorenew.countDocuments(due as object)]
    const [cardCount = 0, dueCount = 0] = await Promise.all(counts)
    return cardCount + dueCount + (await outbox.countDocuments())
  })
}

async function newSecrets(round: number): Promise<string[]> {
  const file = join(product.folder, `cards-${round}.csv`)
  const options = ['--batch', String(round), '--count', String(CARDS_PER_ROUND), '--plan', 'LOAD']
  const more = ['--provider', 'ACME', '--to', '2170-01-01', '--output', file]
  const made = await tollgate(product, ['card', 'create', ...options, ...more], environment)
  expect(made).toMatchObject({ code: 0, stderr: '' })
  const update = ['card', 'update', '--batch', String(round), '--status', 'active']
  expect((await tollgate(product, update, environment)).code).toBe(0)
  const rows = parse(readFileSync(file, 'utf8'), { columns: true }) as { secret: string }[]
  return rows.map(({ secret }) => secret)
}

describe(`kill -9 during redemptions and renewals, seed ${seed}`, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    it(`round ${round}: each card and each due date is loaded once`, async () => {
      const random = new Random(seed + round)
      const before = await credited()
      const secrets = await newSecrets(round)
      await withCatalog(product, async (catalog) => {
        for (let index = 0; index < RENEWALS; index += 1) {
          const sid = FIRST_SID + (index % SUBSCRIBERS)
          await insertEntity(catalog, 'autorenew', {
            ...{ sid, aid: sid, bucket_group: 'LOAD', cycles: 2, cycles_remaining: 2 },
            ...{ interval: 'day', from: '2020-01-01', next_renew: new Date(Date.now() - 60_000) },
          })
        }
      })
      let isKilling = true
      const kills = (async () => {
        for (const victim of random.shuffled(VICTIMS)) {
          await pause(random.between(50, 500))
          expect(await unfinished(round)).toBeGreaterThan(0)
          await product.kill9(victim)
          await pause(random.below(200))
          await product.start(victim)
        }
      })().finally(() => {
        isKilling = false
      })
      // Clients and renewals compete for few balances: only no progress at all is a failure.
      let decidedMs = performance.now()
      const isOver = () => !isKilling && performance.now() - decidedMs > 120_000
      const results = await Promise.all([
        kills,
        ...secrets.map(async (secret, index) => {
          const sids = [0, 1].map((more) => FIRST_SID + ((index + more) % SUBSCRIBERS))
          const both = await Promise.all(sids.map((sid) => redeem(sid, secret, isOver)))
          decidedMs = performance.now()
          return both.filter((done) => done).length
        }),
      ])
      expect(results.slice(1).every((winners) => Number(winners) <= 1)).toBe(true)
      await waitUntil('everything is finished', async () => (await unfinished(round)) === 0)
      const loaded = VALUE * (CARDS_PER_ROUND + RENEWALS)
      expect(await credited()).toEqual(before.map((sum) => sum + loaded))
      const log = readFileSync(join(product.folder, 'admin.log'), 'utf8')
      expect(secrets.filter((secret) => log.includes(secret))).toEqual([])
    })
  }

  it('the lines and the ledger agree', async () => {
    expect(await tollgate(product, ['audit'], environment)).toMatchObject({ code: 0, stderr: '' })
  })
})
