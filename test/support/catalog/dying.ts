/** A catalogue of a process that dies before one of its requests to MongoDB. */
import { BSON } from 'mongodb'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { startStoreProxy } from '../store-proxy.ts'

export interface DyingCatalog {
  catalog: Catalog
  /** Whether it got that far. */
  died(): boolean
  close(): Promise<void>
}

/** `isLast` gets each command with its collection, as `insert audit`, or `commitTransaction`. */
export async function dyingCatalog(
  { url, database }: { url: string; database: string },
  isLast: (command: string) => boolean,
  // Long enough for the commands before the death, which then costs this time.
  timeoutMs = 5_000,
): Promise<DyingCatalog> {
  const proxy = await startStoreProxy(url)
  let hasDied = false
  proxy.cutBefore((request) => {
    const command = commandIn(request)
    if (command === null || !isLast(command)) return hasDied
    hasDied = true
    // Without a client, nothing waits for the dead store until its time-out.
    void catalog.close()
    return true
  })
  const catalog = await openCatalog({
    ...{ url: proxy.url, database },
    ...{ timeoutMs, appName: 'dying' },
  })
  return {
    catalog,
    died: () => hasDied,
    async close() {
      await catalog.close()
      await proxy.close()
    },
  }
}

/** Dies before the n-th command, from 0. */
export function dyingAfter(
  mongo: { url: string; database: string },
  commands: number,
): Promise<DyingCatalog> {
  let done = 0
  return dyingCatalog(mongo, () => {
    done += 1
    return done > commands
  })
}

const HEADER_BYTES = 21
const MONITORING: ReadonlySet<string> = new Set(['hello', 'ismaster', 'ping', 'endSessions'])

/** The command of an OP_MSG; null for monitoring. */
function commandIn(request: Buffer): string | null {
  if (request.length < HEADER_BYTES + 4 || request.readInt32LE(12) !== 2013) return null
  const size = request.readInt32LE(HEADER_BYTES)
  const body = BSON.deserialize(request.subarray(HEADER_BYTES, HEADER_BYTES + size))
  const [[name = '', value] = []] = Object.entries(body)
  if (MONITORING.has(name)) return null
  return typeof value === 'string' ? `${name} ${value}` : name
}
