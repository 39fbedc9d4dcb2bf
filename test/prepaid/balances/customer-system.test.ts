/** Balances, and renewals of them, for subscribers that a customer system has, over HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Accounts, createAccounts } from '../../../src/billing/run/open-accounts.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { findBalances } from '../../../src/prepaid/balances/find.ts'
import { updateBalance } from '../../../src/prepaid/balances/update.ts'
import { apiErrorOf } from '../../../src/requests/api-errors.ts'
import { account, subscriber } from '../../support/billing/external-cycle.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { check, contextOf, refusal } from '../../support/entities/rules/context.ts'
import { customerSettings, startCrm } from '../../support/external/example-crm.ts'
import { useOpened } from '../../support/opened.ts'
import {
  AID,
  NOW_MS,
  openBalanceFixture,
  SID,
  seedCatalogue,
} from '../../support/prepaid/balances/balance-fixture.ts'

let accounts: Accounts

const scene = useOpened(openBalanceFixture)
const crm = useOpened(
  () => startCrm([]),
  (opened) => opened.stop(),
)
beforeAll(async () => {
  const { catalog, clock } = scene()
  const env = { TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8' }
  accounts = createAccounts(catalog, loadConfig({ env }), clock)
  const value = customerSettings(crm().url)
  await writeStoredConfig(catalog, 'subscribers', () => value, { nowMs: NOW_MS, by: 'test' })
})
afterAll(async () => {
  await accounts.close()
})
beforeEach(async () => {
  await scene().clear()
  await seedCatalogue(scene())
  await scene().catalog.subscribers.deleteMany({})
  const member = subscriber(AID, { sid: SID, from: '2020-01-01 00:00:00' })
  crm().revisions.splice(0, crm().revisions.length, account(AID), member)
  crm().disturb = null
})

const deps = () => ({ ...scene(), lookup: accounts.lookup })
const load = (query: Record<string, unknown>, value: number) =>
  updateBalance(deps(), { query, update: { value }, operationId: `call-${value}` })
const money = { sid: SID, pp_includes_external_id: 1 }

describe('a balance of a subscriber of the customer system', () => {
  it('is loaded in the account that it has there, up to the limit of its plan', async () => {
    expect(await load(money, -12)).toMatchObject({ entity: { aid: AID, sid: SID } })
    expect(await load(money, -40)).toMatchObject({ details: false })
    expect((await scene().owner(SID)).buckets).toMatchObject([{ free: 12_000_000 }])
  })

  it.each([
    [{ sid: 99 }, 'there is no subscriber 99 now'],
    [{ aid: 3 }, `subscriber ${SID} belongs to account ${AID}, not 3`],
  ])('is not loaded for %j', async (wrong, text) => {
    await expect(load({ ...money, ...wrong }, -1)).rejects.toThrow(text)
  })

  it('is found by the subscriber, also in an account that it has left', async () => {
    await load(money, -12)
    await scene().project([AID, SID])
    Object.assign(crm().revisions[1] as object, { aid: 3 })
    crm().revisions.push(account(3))
    await load(money, -7)
    const page = { sort: {}, skip: 0, limit: 10 }
    const { balances } = await findBalances(deps(), { sid: SID }, page)
    expect(balances.map(({ aid, balance }) => [aid, balance])).toEqual([
      [3, { cost: -7 }],
      [AID, { cost: -12 }],
    ])
  })

  it.each([
    [503, 503, 'customer system: it answers with status 503'],
    [404, 200, 'customer system: it answers with status 404'],
  ])('is refused with the reason while the system answers %i', async (status, http, text) => {
    crm().disturb = (_, response) => {
      response.writeHead(status).end()
      return true
    }
    const error = await load(money, -1).catch((reason: unknown) => reason)
    expect(apiErrorOf(error)).toMatchObject({ httpStatus: http, message: text })
  })

  it('can be renewed', async () => {
    const { catalog } = scene()
    await insertEntity(catalog, 'prepaidgroups', { name: 'TOPUP' })
    const context = contextOf(catalog, { lookup: accounts.lookup, nowMs: NOW_MS, fromMs: NOW_MS })
    const renewal = {
      sid: SID,
      aid: AID,
      bucket_group: 'TOPUP',
      immediate: true,
      interval: 'month',
    }
    await check('autorenew', renewal, context)
    expect(await refusal(check('autorenew', { ...renewal, aid: 3 }, context))).toEqual([
      0,
      `sid: there is no subscriber ${SID} of account 3 now`,
    ])
  })
})
