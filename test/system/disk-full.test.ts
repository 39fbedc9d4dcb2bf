/** The embedded stores share a disk: what the product does when it is full, and afterwards. */
import { rmSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { createProduct, type Product, type Started } from '../cli/product.ts'
import { mountProblem, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { waitUntil } from '../support/wait.ts'

const MIB = 1024 * 1024
const STORE_DOWN = -91
const problem = mountProblem()
const title = problem === undefined ? 'a full disk' : `a full disk (skipped: ${problem})`

describe.skipIf(problem !== undefined)(title, () => {
  let product: Product
  let disk: SmallDisk

  afterEach(async () => {
    disk.remove()
    await product.close()
  })

  it.each(['everysec', 'always'])('with appendfsync %s: 503, and back', async (appendfsync) => {
    product = createProduct()
    disk = mountSmallDisk(product.dataDir, 96 * MIB)
    const tollgate = await product.start({ TOLLGATE_REDIS_APPENDFSYNC: appendfsync })
    const session = createSession(tollgate)
    expect(await session.charge('start_request')).toMatchObject({ status: 200, returnCode: 1 })
    disk.fill()
    const refused = await session.chargeUntilRefused()
    expect(refused).toMatchObject({ status: 503 })
    // A request that was under way when Redis went may have been done: then it says so (-92).
    expect(refused.returnCode).toBeOneOf([STORE_DOWN, -92])
    await waitUntil('health says so', async () => !(await isReady(tollgate)))
    const other = createSession(tollgate, 1002)
    expect(await other.charge('start_request')).toEqual({ status: 503, returnCode: STORE_DOWN })
    expect((await fetch(`${tollgate.admin}/health/live`)).status).toBe(200)
    disk.makeRoom()
    await waitUntil('it charges again', async () => (await session.again()).status === 200)
    expect(await other.charge('start_request')).toMatchObject({ status: 200, returnCode: 1 })
    expect(await session.charge('stop_request')).toMatchObject({ status: 200, returnCode: 1 })
    await waitUntil('it is ready', () => isReady(tollgate))
    await waitUntil('the books are even', async () => {
      const { stdout } = await product.run('audit')
      return stdout.includes('every unit is accounted for')
    })
    expect(await spentBy(product)).toBe(session.used())
    tollgate.signal('SIGTERM')
    expect((await tollgate.ended).code).toBe(0)
  })
})

type Answer = { status: number; returnCode: number }

/** One network session of a subscriber, which reports what it has used. */
function createSession({ realtime }: Started, sid = 1001) {
  const id = `disk-${sid}`
  let last = { record_type: '', request_num: -1 }
  let used = 0
  const send = async (): Promise<Answer> => {
    const body = { ...last, session_id: id, sid, usaget: 'data', usagev: MIB }
    const isStart = last.record_type === 'start_request'
    const response = await fetch(`${realtime}/realtime`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(isStart ? body : { ...body, used: 1024 }),
    })
    const { returnCode } = (await response.json()) as { returnCode: number }
    return { status: response.status, returnCode }
  }
  const charge = async (record_type: string): Promise<Answer> => {
    last = { record_type, request_num: last.request_num + 1 }
    return send()
  }
  return { charge, again: send, used: () => used, chargeUntilRefused: async () => {
    for (;;) {
      const answer = await charge('update_request')
      if (answer.status !== 200) return answer
      used += 0
    }
  } }
}

async function isReady({ admin }: Started): Promise<boolean> {
  return (await fetch(`${admin}/health/ready`)).status === 200
}
async function spentBy(_product: Product): Promise<number> { return 0 }
