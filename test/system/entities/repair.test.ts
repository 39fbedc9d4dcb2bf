/** Outbox entries of a dead process are executed before the control plane is ready. */
import { beforeAll, describe, expect, it } from 'vitest'
import { enqueueOutbox } from '../../../src/catalog/transactions/outbox.ts'
import { useOpened } from '../../support/opened.ts'
import { populate } from '../../support/product/population.ts'
import { startProduct } from '../../support/product/product.ts'
import {
  createAccount,
  createSubscriber,
  entityClient,
} from '../../support/system/entities/client.ts'
import { type Fields, withCatalog } from '../../support/system/exchange.ts'
import { waitUntil } from '../../support/wait.ts'

const product = useOpened(
  () => startProduct({ environment: { TOLLGATE_MONGO_TIMEOUT_MS: '500' } }),
  (opened) => opened.stop(),
)
beforeAll(async () => {
  await populate({ ...product(), subscribers: 0, subscribersPerAccount: 1, credits: [] })
  await product().start('admin')
})

function leaveTransfer(move: Fields): Promise<void> {
  const payload = { operationId: `left-${move['sid']}`, buckets: null, ...move }
  return leave('transfer', payload, `balances/${move['sid']}`)
}

/** An entry that a process of another machine has left; its lease has expired. */
async function leave(kind: string, payload: Fields | null, subject: string): Promise<void> {
  await withCatalog(product(), async (catalog) => {
    await catalog.transaction('leave an entry', async (session) => {
      enqueueOutbox(session, { kind, payload, subject })
    })
    const gone = { holder: { host: 'elsewhere', pid: 1, instance: 'gone' }, expires: new Date(0) }
    await catalog.outbox.updateMany({}, { $set: gone })
  })
}

const entries = () => withCatalog(product(), ({ outbox }) => outbox.find().toArray())

async function balancesOf(sid: number): Promise<Fields[]> {
  return entityClient(product().adminUrl).rows('balances', { sid })
}

/** Also of a subscriber that belongs to another account. */
const hasBalance = (aid: number, sid: number) =>
  withCatalog(product(), async ({ balances }) => (await balances.countDocuments({ aid, sid })) > 0)

async function topUp(aid: number, sid: number): Promise<void> {
  const query = { sid, pp_includes_external_id: 1 }
  await entityClient(product().adminUrl).done('balances/update', { query, update: { value: -10 } })
  expect(await balancesOf(sid)).toMatchObject([{ aid, sid }])
}

describe('an outbox entry of a dead process', () => {
  it('is executed when the process is ready, beside one that cannot be executed', async () => {
    const client = entityClient(product().adminUrl)
    const [from, to] = [await createAccount(client), await createAccount(client)]
    const { sid } = await createSubscriber(client, from, { plan: 'DEMO_PREPAID' })
    await topUp(from, sid)
    await product().kill9('admin')
    await leave('renewal', null, 'balances/1')
    await leaveTransfer({ sid, fromAid: from, toAid: to })
    await product().start('admin')
    await waitUntil('it has moved', () => hasBalance(to, sid))
    const [kept, ...others] = await entries()
    expect(others).toEqual([])
    expect(kept).toMatchObject({ subject: 'balances/1', error: expect.any(String) })
    await withCatalog(product(), ({ outbox }) => outbox.deleteMany({}))
  })

  it.skipIf(process.env['TEST_MONGO_URL'])('is executed once MongoDB is back', async () => {
    const client = entityClient(product().adminUrl)
    const [from, to] = [await createAccount(client), await createAccount(client)]
    const { sid } = await createSubscriber(client, from, { plan: 'DEMO_PREPAID' })
    await topUp(from, sid)
    await product().kill9('admin')
    await leaveTransfer({ sid, fromAid: from, toAid: to })
    await product().kill9('mongo')
    const ready = product().start('admin')
    const health = async (path: string) => {
      const answer = await fetch(`${product().adminUrl}/health/${path}`).catch(() => null)
      return answer === null ? '' : answer.text()
    }
    await waitUntil('it is running', async () => (await health('live')).includes('live'))
    expect(JSON.parse(await health('ready'))).toMatchObject({
      status: 'unavailable',
      mongo: 'unavailable',
      changes: 'unfinished',
    })
    await product().start('mongo')
    await ready
    await waitUntil('it has moved', () => hasBalance(to, sid))
    expect(await entries()).toEqual([])
  })
})
