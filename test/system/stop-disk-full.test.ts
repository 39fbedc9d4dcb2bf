/** An orderly stop while the disk is full, under load: nothing acknowledged is lost. */
// covers: src/runtime/shutdown.ts src/store/policy-watch.ts src/recorder/drain.ts src/cli/start.ts
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  createProduct,
  isAlive,
  type Product,
  processesWith,
  type Started,
} from '../support/cli/product.ts'
import { DEFAULT_LIMITS } from '../support/product/patience.ts'
import { FIRST_SID, populate } from '../support/product/population.ts'
import { mountProblem, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
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

const MIB = 1024 * 1024
/** At most, for the tests that share a product. */
const LOADS = 3
/** Settings of a stop that does not wait long for room. */
const BRIEF = {
  TOLLGATE_REDIS_APPENDFSYNC: 'everysec',
  TOLLGATE_SHUTDOWN_WRITE_TIMEOUT_MS: '1000',
}
const problem = mountProblem()
const why = problem === undefined ? '' : ` (skipped: ${problem})`

describe.skipIf(problem !== undefined)(`a stop while the disk is full${why}`, () => {
  let product: Product
  let disk: SmallDisk
  /** The product that a test has left running for the next one, with the same settings. */
  let running: Started | undefined
  let loads = 0

  const close = async () => {
    disk.remove()
    await product.close()
  }
  afterEach(() => (running === undefined ? close() : undefined))
  afterAll(() => (running === undefined ? undefined : close()))

  async function startOnSmallDisk(environment: Record<string, string>): Promise<Started> {
    product = createProduct({ ...DEFAULT_LIMITS, TOLLGATE_REALTIME_STANDBY: 'false' })
    disk = mountSmallDisk(product.dataDir, 160 * MIB)
    loads = 0
    const tollgate = await product.start(environment)
    await populate({ ...storesOf(product), ...POPULATION, subscribers: SUBSCRIBERS * LOADS })
    return tollgate
  }

  /** Fills the disk of a product while it charges, and continues until Redis refuses. */
  async function fillUnderLoad(environment: Record<string, string>): Promise<Filled> {
    const tollgate = running ?? (await startOnSmallDisk(environment))
    running = undefined
    const clientLedger = new ClientLedger({
      ...{ name: `full-${loads}`, clients: 24 },
      ...{ subscribers: SUBSCRIBERS, firstSid: FIRST_SID + loads * SUBSCRIBERS },
    })
    loads += 1
    const load = clientLedger.run(portOf(tollgate))
    await waitUntil('the load runs', () => clientLedger.acknowledged > 500)
    disk.fill()
    await waitUntil('charges are refused', () => clientLedger.refused > 100)
    return { tollgate, clientLedger, load }
  }

  /** After another start: repeats and releases, and compares its record with lines and balances. */
  async function expectNothingLost(tollgate: Started, clientLedger: ClientLedger): Promise<void> {
    await clientLedger.finish(portOf(tollgate))
    await waitUntil('the audit is clean', async () => {
      const { stdout } = await product.run('audit')
      return stdout.includes('every unit is accounted for')
    })
    const stores = storesOf(product)
    const [lines, spent] = [await linesOf(stores, loads - 1), await spentOf(stores, loads - 1)]
    expect(clientLedger.differences(lines, spent)).toEqual([])
  }

  /** Sends SIGTERM; the output of `tollgate start` until it ended. */
  async function stopOf({ tollgate, clientLedger, load }: Filled) {
    tollgate.signal('SIGTERM')
    const ended = await tollgate.ended
    clientLedger.stop()
    await load
    return ended
  }

  it.each(['everysec', 'always'])('loses nothing with appendfsync %s', async (appendfsync) => {
    const environment = {
      ...{ ...BRIEF, TOLLGATE_REDIS_APPENDFSYNC: appendfsync },
      TOLLGATE_REALTIME_STANDBY: 'true',
    }
    const filled = await fillUnderLoad(environment)
    const { code, stdout, stderr } = await stopOf(filled)
    const [left, ...others] = processesWith(product.dataDir)
    expect(others).toEqual([])
    expect(stdout).toMatch(/tollgate has stopped\n$/)
    if (appendfsync === 'everysec') {
      expect(code).toBe(1)
      expect(stderr).toContain(`redis-server (process ${left}) is left running`)
      expect(stderr).toMatch(BOUND)
    } else {
      // It has ended by itself, with everything acknowledged on the disk.
      expect(left).toBeUndefined()
    }
    disk.makeRoom()
    const again = await product.start(environment)
    if (left !== undefined) expect(isAlive(left)).toBe(true)
    await expectNothingLost(again, filled.clientLedger)
    again.signal('SIGTERM')
    expect((await again.ended).code).toBe(0)
    expect(processesWith(product.dataDir)).toEqual([])
  })

  it('waits for space, and then ends in order', async () => {
    const filled = await fillUnderLoad({ TOLLGATE_REDIS_APPENDFSYNC: 'everysec' })
    const { tollgate } = filled
    const stopped = stopOf(filled)
    await waitUntil('it waits', () => tollgate.output().includes('make room on the disk'))
    disk.makeRoom()
    expect((await stopped).code).toBe(0)
    expect(processesWith(product.dataDir)).toEqual([])
    const again = await product.start({ TOLLGATE_REDIS_APPENDFSYNC: 'everysec' })
    await expectNothingLost(again, filled.clientLedger)
    running = again
  })

  it('ends at a second signal, and at kill -9, and starts again on the full disk', async () => {
    const filled = await fillUnderLoad({ TOLLGATE_REDIS_APPENDFSYNC: 'everysec' })
    const { tollgate, clientLedger } = filled
    const stopped = stopOf(filled)
    await waitUntil('it waits', () => tollgate.output().includes('make room on the disk'))
    tollgate.signal('SIGINT')
    const { code, stderr } = await stopped
    expect(code).toBe(1)
    expect(stderr).toMatch(/redis-server \(process \d+\) is left running\n$/)
    const [left = 0] = processesWith(product.dataDir)
    const full = await product.start({ TOLLGATE_REDIS_APPENDFSYNC: 'always' })
    await waitUntil('health says why', async () => {
      const health = await fetch(`${full.admin}/health/ready`)
      return health.status === 503 && (await health.text()).includes('"redis":"cannot_write"')
    })
    full.signal('SIGKILL')
    await full.ended
    disk.makeRoom()
    const again = await product.start(BRIEF)
    expect(isAlive(left)).toBe(true)
    await expectNothingLost(again, clientLedger)
    running = again
  })

  it('by "tollgate stop" does the same, and --force names what is lost', async () => {
    const filled = await fillUnderLoad(BRIEF)
    const stop = await product.run('stop')
    expect(stop).toMatchObject({ code: 1, stdout: '' })
    expect(stop.stderr).toMatch(/redis-server \(process \d+\) is left running: .* cannot write/)
    expect(stop.stderr).toMatch(BOUND)
    expect((await stopOf(filled)).code).toBe(1)
    expect(processesWith(product.dataDir)).toHaveLength(1)
    const forced = await product.run('stop', '--force')
    expect(forced).toMatchObject({ code: 0, stderr: '' })
    expect(forced.stdout).toMatch(/^redis-server \(process \d+\) was ended\. /)
    expect(forced.stdout).toMatch(BOUND)
    expect(processesWith(product.dataDir)).toEqual([])
    expect((await product.run('stop')).stdout).toContain('tollgate is not running in')
  })
})

/** Usually commits, unless the disk had room for the last one, but not for what followed. */
const BOUND = new RegExp(
  'In its memory only: .*(what was charged from 20\\S+Z to 20\\S+Z; ' +
    'of that \\d+ commits with \\d+ sessions of \\d+ accounts|no commit of charges\\.)',
)

interface Filled {
  tollgate: Started
  clientLedger: ClientLedger
  load: Promise<void>
}
