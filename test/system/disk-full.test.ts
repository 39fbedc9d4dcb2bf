/** The embedded stores share a disk: behaviour of the product while it is full, and afterwards. */
// covers: src/embedded/ src/store/policy-watch.ts packages/embedded-mongo/src/
import { afterEach, describe, expect, it } from 'vitest'
import { createProduct, type Product, type Started } from '../support/cli/product.ts'
import { DEFAULT_LIMITS } from '../support/product/patience.ts'
import { mountProblem, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { type Fields, post } from '../support/system/exchange.ts'
import { waitUntil } from '../support/wait.ts'

const MIB = 1024 * 1024
/** Store down, or unknown: with `always` Redis ends during requests, repeatedly. */
const REFUSED = [-91, -92]
const problem = mountProblem()
const title = problem === undefined ? 'a full disk' : `a full disk (skipped: ${problem})`

describe.skipIf(problem !== undefined)(title, () => {
  let product: Product
  let disk: SmallDisk

  afterEach(async () => {
    disk.remove()
    await product.close()
  })

  it.each(['everysec', 'always'])('appendfsync %s: 503, then recovery', async (appendfsync) => {
    product = createProduct(DEFAULT_LIMITS)
    disk = mountSmallDisk(product.dataDir, 96 * MIB)
    const tollgate = await product.start({ TOLLGATE_REDIS_APPENDFSYNC: appendfsync })
    const session = createSession(tollgate, 'first')
    expect(await session.send('start_request')).toEqual([200, 1])
    expect(await session.send('update_request')).toEqual([200, 1])
    disk.fill()
    expect(await session.sendUntilRefused()).toBeOneOf(REFUSED)
    await waitUntil('health says so', async () => !(await isReady(tollgate)))
    const late = createSession(tollgate, 'late')
    expect(await late.send('start_request')).toEqual([503, expect.toBeOneOf(REFUSED)])
    expect(await late.repeat()).toEqual([503, expect.toBeOneOf(REFUSED)])
    expect((await fetch(`${tollgate.admin}/health/live`)).status).toBe(200)
    disk.makeRoom()
    for (const each of [session, late]) {
      await waitUntil('it charges again', async () => (await each.repeat())[0] === 200)
      expect(await each.send('update_request')).toEqual([200, 1])
      expect(await each.send('release_request')).toEqual([200, 1])
    }
    await waitUntil('it is ready', () => isReady(tollgate))
    expect(await spent(product)).toBe(session.usedBytes() + late.usedBytes())
    await waitUntil('the audit succeeds', async () => {
      const { stdout } = await product.run('audit')
      return stdout.includes('every unit is accounted for')
    })
    tollgate.signal('SIGTERM')
    expect((await tollgate.ended).code).toBe(0)
  })
})

/** One network session that requests a MiB at a time, and may repeat its last request. */
function createSession({ realtime }: Started, id: string) {
  const port = Number(new URL(realtime).port)
  let request: Fields = {}
  let requestNum = -1
  let usedBytes = 0
  const repeat = async (): Promise<[status: number, returnCode: number]> => {
    const { status, returnCode } = await post(port, request)
    if (status === 200) usedBytes += Number(request['used_usagev'] ?? 0)
    return [status, returnCode]
  }
  const send = (record_type: string) => {
    requestNum += 1
    const what = { session_id: id, sid: 1001, usaget: 'data', rating_group: 10 }
    const used = requestNum > 0 ? { used_usagev: MIB / 2 } : {}
    const requested = record_type === 'release_request' ? {} : { usagev: MIB }
    request = { record_type, ...what, request_num: requestNum, ...used, ...requested }
    return repeat()
  }
  const sendUntilRefused = async (): Promise<number> => {
    for (;;) {
      const [status, returnCode] = await send('update_request')
      if (status !== 200) return returnCode
    }
  }
  return { send, repeat, sendUntilRefused, usedBytes: () => usedBytes }
}

async function isReady({ admin }: Started): Promise<boolean> {
  return (await fetch(`${admin}/health/ready`)).status === 200
}

async function spent(product: Product): Promise<number> {
  const { stdout } = await product.run('balance', 'show', '--sid', '1001', '--json')
  const { buckets } = JSON.parse(stdout) as { buckets: { name: string; spent: number }[] }
  return buckets.find(({ name }) => name === 'DATA_PACK')?.spent ?? Number.NaN
}
