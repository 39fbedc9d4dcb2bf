/** A charging process that does not run any more, under load: its standby replaces it. */
// covers: src/cli/child.ts src/cli/supervisor.ts src/cli/ipc.ts src/realtime/port-handover.ts
import { afterAll, expect, it } from 'vitest'
import { createProduct, isAlive } from '../support/cli/product.ts'
import { populate } from '../support/product/population.ts'
import { ClientLedger } from '../support/system/client-ledger.ts'
import {
  linesOf,
  POPULATION,
  portOf,
  SUBSCRIBERS,
  spentOf,
  storesOf,
} from '../support/system/client-stores.ts'
import { waitUntil } from '../support/wait.ts'

const product = createProduct({ TOLLGATE_REALTIME_SILENCE_MS: '2000' })
afterAll(() => product.close())

it('a frozen charging process is replaced under load, and never charges again', async () => {
  const tollgate = await product.start()
  const stores = storesOf(product)
  await populate({ ...stores, ...POPULATION })
  const clientLedger = new ClientLedger({ name: 'frozen', clients: 24, subscribers: SUBSCRIBERS })
  const load = clientLedger.run(portOf(tollgate))
  await waitUntil('the load runs', () => clientLedger.acknowledged > 500)
  const frozen = tollgate.children().get('realtime') ?? Number.NaN
  process.kill(frozen, 'SIGSTOP')
  const before = clientLedger.acknowledged
  await waitUntil('the standby charges', () => clientLedger.acknowledged > before + 500)
  expect(tollgate.children().get('realtime')).not.toBe(frozen)
  expect(isAlive(frozen)).toBe(false)
  expect(() => process.kill(frozen, 'SIGCONT')).toThrow('ESRCH')
  clientLedger.stop()
  await load
  await clientLedger.finish(portOf(tollgate))
  await waitUntil('the audit is clean', async () => {
    const { stdout } = await product.run('audit')
    return stdout.includes('every unit is accounted for')
  })
  expect(clientLedger.differences(await linesOf(stores), await spentOf(stores))).toEqual([])
  for (const role of ['admin', 'recorder']) {
    const stopped = tollgate.children().get(role) ?? Number.NaN
    process.kill(stopped, 'SIGSTOP')
    await waitUntil(`the ${role} process is replaced`, () => {
      const pid = tollgate.children().get(role)
      return pid !== undefined && pid !== stopped
    })
    expect(isAlive(stopped)).toBe(false)
  }
  tollgate.signal('SIGTERM')
  expect((await tollgate.ended).code).toBe(0)
})
