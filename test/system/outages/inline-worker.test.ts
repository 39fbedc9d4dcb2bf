/** Faults of a worker on the event loop (the outage matrix of docs/OPERATING.md). */
// covers: src/realtime/inline-worker.ts src/workers/serve.ts
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { FIRST_SID } from '../../support/product/population.ts'
import { GRANTED, MIB, money, session, useNode } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

/** Makes the event loop hang at a signal. */
const HANGS = "process.on('SIGUSR2', () => { while (true); })"
const environment: Record<string, string> = {
  TOLLGATE_REALTIME_WORKER_KIND: 'inline',
  TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '500',
  TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '400',
}
const node = useNode({ subscribers: 4, environment })
beforeAll(async () => {
  const preload = join(node().product.folder, 'hangs.cjs')
  writeFileSync(preload, HANGS)
  environment['NODE_OPTIONS'] = `--require ${preload}`
  await node().product.start('realtime')
})

it('ends its process if it never stops spinning; the next one has its sessions', async () => {
  const { product, send, insist, moneyOf } = node()
  const one = session('spins', FIRST_SID)
  expect(await insist(one.start())).toMatchObject(GRANTED)
  expect(await insist(one.update(1))).toMatchObject(GRANTED)
  const pid = product.pid('realtime')
  process.kill(pid, 'SIGUSR2')
  const lost = send(one.update(2)).catch(() => 'cut')
  await waitUntil('the process has ended', () => !isAlive(pid))
  expect(await lost).toBe('cut')
  delete environment['NODE_OPTIONS']
  await product.start('realtime')
  expect(await insist(one.update(2))).toMatchObject({ ...GRANTED, grantedVolume: MIB })
  expect(await moneyOf(one.sid)).toEqual(money(2, 1))
  expect(await insist(one.release(3))).toMatchObject(GRANTED)
  expect(await moneyOf(one.sid)).toEqual(money(3, 0))
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
