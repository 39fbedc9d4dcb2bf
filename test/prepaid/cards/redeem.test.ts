/** Prepaid cards are redeemed once, by concurrent calls and after failures. */
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { followUpHandlers } from '../../../src/admin/follow-ups.ts'
import { createAudit } from '../../../src/catalog/audit/audit.ts'
import { openCatalog } from '../../../src/catalog/connection.ts'
import { cardSecretsOf } from '../../../src/catalog/sealing/card-secrets.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { updateBalance } from '../../../src/prepaid/balances/update.ts'
import { type CardGuesses, createCardGuesses } from '../../../src/prepaid/cards/guesses.ts'
import { redeemCard } from '../../../src/prepaid/cards/redeem.ts'
import { type ApiError, EntityRuleError } from '../../../src/requests/errors.ts'
import { openExpiringKeys } from '../../../src/store/expiring.ts'
import { dyingAfter as dyingCatalog } from '../../support/catalog/dying.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { useOpened } from '../../support/opened.ts'
import {
  AID,
  type BalanceFixture,
  dyingAfter,
  NOW_MS,
  openBalanceFixture,
  SID,
  seedCatalogue,
  seedChargingPlan,
} from '../../support/prepaid/balances/balance-fixture.ts'
import { silent } from '../../support/recorder/accounts.ts'
import { waitUntil } from '../../support/wait.ts'

const SECRET = '123456789012'
const NO_CARD = 'there is no active card with this secret'
const HOUR_MS = 3_600_000
const ACTOR = { by: 'session', id: '1', name: 'ada', address: '192.0.2.1' } as const

const scene = useOpened(openBalanceFixture)
beforeAll(async () => {
  await scene().catalog.ensureIndexes()
})
beforeEach(async () => {
  await scene().clear()
  await scene().catalog.outbox.deleteMany({})
  await scene().catalog.audit.deleteMany({})
  await scene().catalog.lines.deleteMany({})
  registerHandlers()
  await seedCatalogue(scene())
  await seedChargingPlan(scene(), [
    { pp_includes_external_id: 1, value: -10 },
    { pp_includes_external_id: 2, value: -100 },
  ])
})

/** As a process of the product does. */
function registerHandlers(catalog = scene().catalog): void {
  const config = { ...loadConfig({ env: {} }), ...scene().config }
  const { ledger, clock, lookup } = scene()
  catalog.dispatcher.register(
    followUpHandlers({ catalog, ledger, clock, config, lookup, log: silent }),
    silent,
  )
}

async function seedCard(more: Record<string, unknown> = {}): Promise<void> {
  const [secret_hmac = ''] = await cardSecretsOf(scene().catalog, scene().config).digests([SECRET])
  await scene().catalog.cards.insertOne({
    secret_hmac,
    status: 'Active',
    batch_number: 1,
    serial_number: 1,
    charging_plan_name: 'TOPUP',
    service_provider: 'US',
    additional_information: '',
    to: new Date(NOW_MS + 1),
    creation_time: new Date(0),
    ...more,
  })
}

const load = (operationId: string, sid = SID, deps: Partial<BalanceFixture> = {}) =>
  redeemCard(
    { ...scene(), ...deps },
    { secret: SECRET, query: { sid }, update: {}, operationId, actor: ACTOR },
  )
const free = async (sid = SID) => (await scene().owner(sid)).buckets.map((one) => one.free)
const card = () => scene().catalog.cards.findOne({})
const outbox = () => scene().catalog.outbox.countDocuments()

/** Another process finds the entries of a process that has ended. */
async function recover(): Promise<void> {
  await scene().catalog.outbox.updateMany({}, { $set: { expires: new Date(0) } })
  await scene().catalog.dispatcher.recover()
}

describe('a card', () => {
  it('loads the amounts of its charging plan, once', async () => {
    await seedCard()
    const { details, entity, line } = await load('a')
    const id = String((await card())?._id)
    expect(details).toBe(true)
    expect(entity).toMatchObject([{ balance: { cost: -10 } }, { pp_includes_name: 'DATA_PACK' }])
    expect(line).toMatchObject({ charging_type: 'Secret', source_ref: id, bucket_id: 0 })
    expect(await card()).toMatchObject({
      status: 'Used',
      sid: SID,
      activation_datetime: new Date(NOW_MS),
      used_by: { aid: AID, sid: SID, operation_id: 'a', credited: true, answered: true },
    })
    await expect(load('b')).rejects.toThrow(NO_CARD)
    await expect(load('b', 19)).rejects.toThrow(NO_CARD)
    expect((await load('a')).line).toEqual(line)
    expect(await free()).toEqual([10_000_000, 100])
    expect(await outbox()).toBe(0)
  })

  it('is recorded with its load, and without its secret', async () => {
    await seedCard()
    await load('a')
    const records = await scene().catalog.audit.find().toArray()
    expect(records.map(({ collection, type, key }) => `${collection} ${type} ${key}`)).toEqual([
      'cards redeem 1/1',
      `balances update ${AID}_${SID}`,
      `balances update ${AID}_${SID}`,
    ])
    expect(JSON.stringify(records)).not.toContain(SECRET)
  })

  it('loads shared buckets of the account of the subscriber, in the same commit', async () => {
    await scene().catalog.prepaidgroups.deleteMany({})
    await seedChargingPlan(scene(), [
      { pp_includes_external_id: 1, value: -10 },
      { pp_includes_external_id: 3, value: -7 },
    ])
    await seedCard()
    await load('a')
    expect([await free(), await free(0)]).toEqual([[10_000_000], [7]])
  })

  it('stays active if the plan of the subscriber does not allow the load', async () => {
    await seedCard()
    const query = { sid: SID, pp_includes_external_id: 1 }
    await updateBalance(scene(), { query, update: { value: -45 }, operationId: 'first' })
    expect(await load('a')).toMatchObject({ details: false, entity: null, line: null })
    expect(await card()).toMatchObject({ status: 'Active' })
  })

  it.each([
    ['is not active', { status: 'Cancelled' }, NO_CARD],
    ['is idle', { status: 'Idle' }, NO_CARD],
    ['has another secret', { secret_hmac: 'x' }, NO_CARD],
    ['was used by an unknown subscriber', { status: 'Used' }, NO_CARD],
    ['has expired', { to: new Date(NOW_MS - HOUR_MS) }, 'the card has expired on'],
    ['has no plan', { charging_plan_name: 'NONE' }, 'there is no charging plan NONE now'],
  ])('is refused if it %s', async (_why, more, text) => {
    await seedCard(more)
    await expect(load('a')).rejects.toThrow(EntityRuleError)
    await expect(load('a')).rejects.toThrow(text)
    expect(await free()).toEqual([])
    expect(await outbox()).toBe(0)
  })
})

describe('redeemed by many at once, in two processes', () => {
  it('a card is loaded once, and one call succeeds', async () => {
    await seedCard()
    const { url, database } = scene().stores.mongo
    const other = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'other' })
    registerHandlers(other)
    const sids = [SID, SID, 19, 19, SID, SID, 19, 19]
    const catalogs = [scene().catalog, other]
    const tried = await Promise.allSettled(
      sids.map((sid, index) =>
        load(`call-${index}`, sid, { catalog: catalogs[index % 2] ?? other }),
      ),
    )
    await other.close()
    const sums = [await free(), await free(19)].map((one) => JSON.stringify(one)).sort()
    expect(sums).toEqual(['[10000000,100]', '[]'])
    expect(tried.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const one of tried) {
      if (one.status === 'rejected') expect(one.reason.message).toBe(NO_CARD)
    }
  })
})

describe('a redemption whose process dies', () => {
  it.each(Array.from({ length: 12 }, (_, commands) => commands))(
    'after %i commands to MongoDB is completed, or did not happen',
    async (commands) => {
      await seedCard()
      const dying = await dyingCatalog(scene().stores.mongo, commands)
      registerHandlers(dying.catalog)
      await load('a', SID, { catalog: dying.catalog }).catch(() => undefined)
      await dying.close()
      await recover()
      const found = await card()
      if (found?.status === 'Active') {
        expect(await free()).toEqual([])
        expect((await load('b')).details).toBe(true)
      }
      expect(await free()).toEqual([10_000_000, 100])
      expect(await card()).toMatchObject({ status: 'Used', used_by: { credited: true } })
      expect(await outbox()).toBe(0)
      const records = await scene().catalog.audit.find({ collection: 'balances' }).toArray()
      expect(records).toHaveLength(2)
    },
  )

  it('is completed for its subscriber only, also under another operation id', async () => {
    await seedCard()
    await expect(load('a', SID, { ledger: dyingAfter(scene().ledger, 0) })).rejects.toThrow('died')
    expect(await card()).toMatchObject({ status: 'Used', used_by: { credited: true } })
    await expect(load('b', 19)).rejects.toThrow(NO_CARD)
    // It was never answered: this is the same redemption.
    expect((await load('c')).details).toBe(true)
    await expect(load('d')).rejects.toThrow(NO_CARD)
    expect([await free(), await free(19)]).toEqual([[10_000_000, 100], []])
  })

  it('is waited for by other calls of its subscriber, which add no entries', async () => {
    await seedCard()
    let isHeld = true
    const slow: BalanceFixture['ledger'] = {
      ...scene().ledger,
      async commit(...args) {
        await waitUntil('it may end', () => !isHeld)
        return scene().ledger.commit(...args)
      },
    }
    const first = load('a', SID, { ledger: slow })
    await waitUntil('the card is claimed', async () => (await card())?.status === 'Used')
    const others = ['b', 'c', 'd'].map((id) => load(id).catch((error: Error) => error.message))
    await scene().catalog.dispatcher.recover()
    expect(await outbox()).toBe(1)
    isHeld = false
    expect((await first).details).toBe(true)
    expect(await Promise.all(others)).toEqual([NO_CARD, NO_CARD, NO_CARD])
    expect(await free()).toEqual([10_000_000, 100])
    expect(await outbox()).toBe(0)
  })

  it('is not repeated when the ledger has forgotten its result', async () => {
    await seedCard()
    await load('a')
    const found = await card()
    await scene().catalog.cards.updateOne({}, { $unset: { 'used_by.credited': '' } })
    const stamp = `op-${AID}-card-${found?._id.toHexString()}`
    await scene().catalog.lines.insertOne({ stamp } as never)
    await scene().ledger.redis.client.del(
      scene().ledger.keys.operation(AID, `card-${found?._id.toHexString()}`),
    )
    const payload = { actor: ACTOR, card: found?._id, aid: AID, sid: SID, operationId: 'a' }
    await scene().catalog.transaction('again', async (session) => {
      const { enqueueOutbox } = await import('../../../src/catalog/transactions/outbox.ts')
      enqueueOutbox(session, { kind: 'card', payload: { ...payload, options: {} } })
    })
    expect(await free()).toEqual([10_000_000, 100])
    expect(await card()).toMatchObject({ used_by: { credited: true } })
    scene().clock.set(NOW_MS + scene().config.ledger.operationKeepMs)
    await expect(load('a')).rejects.toThrow(NO_CARD)
  })

  it('releases the card if its plan has ended since', async () => {
    await seedCard()
    const ended = scene().catalog.prepaidgroups
    const dying: BalanceFixture['ledger'] = {
      ...scene().ledger,
      async commit() {
        await ended.deleteMany({})
        throw new Error('died')
      },
    }
    await expect(load('a', SID, { ledger: dying })).rejects.toThrow('died')
    expect(await card()).toMatchObject({ status: 'Active' })
    expect(await card()).not.toHaveProperty('used_by')
    expect(await free()).toEqual([])
  })
})

describe('guessed secrets', () => {
  const refused = vi.fn()
  const guesses = () => {
    const { catalog, ledger, clock } = scene()
    return createCardGuesses({
      keys: openExpiringKeys(ledger.redis, 'guess-test'),
      settings: {
        get: async ({ read }) => read({ lockout: { attempts: 3, card_failures_per_hour: 5 } }),
      },
      audit: createAudit(catalog),
      clock,
      log: silent,
      metrics: { cardSecretRefused: refused },
    })
  }
  const guess = (cardGuesses: CardGuesses, secret: string, { sid = SID, id = '1' } = {}) =>
    redeemCard(
      { ...scene(), cardGuesses },
      { secret, query: { sid }, update: {}, operationId: id, actor: { ...ACTOR, id } },
    ).then(
      () => 'loaded',
      (error: ApiError) => [error.httpStatus, error.message, Number(error.headers['retry-after'])],
    )
  const WRONG = [200, NO_CARD, Number.NaN]
  const WAIT = [
    429,
    'too many wrong secrets of cards: wait before the next one',
    expect.any(Number),
  ]

  it('delay the next attempt of a subscriber, from any caller, even a correct one', async () => {
    await seedCard()
    const own = guesses()
    for (const id of ['1', '2', '3']) {
      expect(await guess(own, '999999999999', { id })).toEqual(WRONG)
    }
    expect(await guess(own, SECRET, { id: '4' })).toEqual(WAIT)
    expect(await guess(guesses(), SECRET, { id: '4' })).toEqual(WAIT)
    expect((await card())?.status).toBe('Active')
    expect(await guess(own, SECRET, { sid: 19, id: '4' })).toBe('loaded')
  })

  it('stay counted when an own card is loaded again, and not when a new one is', async () => {
    await seedCard()
    const own = guesses()
    const wrong = (sid: number) => guess(own, '999999999999', { sid, id: `${sid}` })
    const repeat = () => guess(own, SECRET, { id: 'again' })
    expect(await repeat()).toBe('loaded')
    expect([await wrong(SID), await wrong(SID)]).toEqual([WRONG, WRONG])
    expect(await repeat()).toBe('loaded')
    expect(await wrong(SID)).toEqual(WRONG)
    expect(await repeat()).toEqual(WAIT)
    await scene().catalog.cards.deleteMany({})
    await seedCard()
    expect([await wrong(19), await wrong(19)]).toEqual([WRONG, WRONG])
    expect(await guess(own, SECRET, { sid: 19, id: 'new' })).toBe('loaded')
    expect([await wrong(19), await wrong(19)]).toEqual([WRONG, WRONG])
  })

  it('of a caller are limited over all subscribers, counted and recorded', async () => {
    for (let sid = 100; sid < 106; sid += 1) {
      await insertEntity(scene().catalog, 'subscribers', { sid, aid: AID, plan: 'GOLD' })
    }
    refused.mockClear()
    const own = guesses()
    const results: unknown[] = []
    for (let sid = 100; sid < 106; sid += 1) {
      results.push(await guess(own, '999999999999', { sid, id: 'caller' }))
    }
    expect(results).toEqual([...Array(5).fill(WRONG), WAIT])
    expect(refused.mock.calls.flat()).toEqual([...Array(5).fill('wrong'), 'limit'])
    const records = await scene().catalog.audit.find({ type: 'refused' }).sort({ key: 1 }).toArray()
    expect(records.map(({ key, count }) => [key, count])).toEqual([
      ['ada', 1],
      ...[100, 101, 102, 103, 104].map((sid) => [`sid ${sid}`, 1]),
    ])
    expect(JSON.stringify(records)).not.toContain('999999999999')
    expect(await guess(own, '999999999999', { id: 'other' })).toEqual(WRONG)
  })
})
