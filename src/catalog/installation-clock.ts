/**
 * The clock of an installation that does not run in real time (`clock.start`, `clock.test`): its
 * offset is stored once, and every process follows it.
 */
import type { Config } from '../config/schema.ts'
import { parseInstant } from '../domain/time.ts'
import {
  type Clock,
  type ClockOffset,
  clockWith,
  createOffset,
  raiseOffset,
  systemClock,
} from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { InstallationDocument } from './collections.ts'
import { type Catalog, openCatalog } from './connection.ts'
import { createPoller } from './poller.ts'
import { isInserted } from './transactions/duplicate.ts'

type Stores = Pick<Catalog, 'installation'>
type ClockConfig = Pick<Config, 'clock'>

const ID = 'clock'

/** `clock.start` is before the time that the installation has reached. */
export class ClockStartError extends Error {
  override name = 'ClockStartError'
}

/** Whether the clock of the installation may differ from the system clock. */
export function hasOwnClock({ clock }: ClockConfig): boolean {
  return clock.test || clock.start !== ''
}

/**
 * Milliseconds by which the installation is ahead. The first process that starts with a value of
 * `clock.start` sets the clock; the others, and restarted ones, follow it. Rejects with
 * `ClockStartError` or `CatalogUnavailableError`.
 */
export async function joinClock(
  catalog: Stores,
  { clock: { start } }: ClockConfig,
  real: Clock = systemClock,
): Promise<number> {
  const startMs = start === '' ? null : parseInstant(start, 'UTC')
  for (;;) {
    const found = await readClock(catalog)
    if (found !== null && (startMs === null || found.start === start)) return found.ahead_ms ?? 0
    const nowMs = real.nowMs()
    const ahead_ms = startMs === null ? 0 : startMs - nowMs
    if (found === null) {
      const first = { _id: ID, start: startMs === null ? null : start, ahead_ms }
      if (await insertClock(catalog, first)) return ahead_ms
    } else if (ahead_ms < (found.ahead_ms ?? 0)) {
      const reached = new Date(nowMs + (found.ahead_ms ?? 0)).toISOString()
      throw new ClockStartError(
        `clock.start is ${start}, but the installation has reached ${reached}: ` +
          'its time never goes back',
      )
    } else if (await replaceStart(catalog, found, { start, ahead_ms })) {
      return ahead_ms
    }
  }
}

/** Moves the clock forward for all processes; one that is further ahead stays. */
export async function advanceClock(catalog: Stores, aheadMs: number): Promise<void> {
  await catalog.installation.updateOne(
    { _id: ID },
    { $max: { ahead_ms: aheadMs }, $setOnInsert: { start: null } },
    { upsert: true },
  )
}

/** The clock for one command: the system clock unless the installation has its own. */
export async function clockOf(catalog: Stores, config: ClockConfig): Promise<Clock> {
  if (!hasOwnClock(config)) return systemClock
  return clockWith(createOffset(await joinClock(catalog, config)))
}

export interface FollowedClock {
  readonly clock: Clock
  close(): Promise<void>
}

const TEXTS = {
  failing: 'the clock of the installation cannot be read; it runs on',
  recovered: 'the clock of the installation is read again',
}

/**
 * Joins the clock and follows it on a connection of its own. Without a clock of its own the
 * installation has the system clock, and nothing is read. Rejects like `joinClock`.
 */
export async function followClock(
  config: ClockConfig & Pick<Config, 'mongo' | 'catalog'>,
  log: Logger,
): Promise<FollowedClock> {
  if (!hasOwnClock(config)) return { clock: systemClock, close: async () => undefined }
  const catalog = await openCatalog({
    ...config.mongo,
    appName: 'tollgate-clock',
    connectionsMax: 1,
  })
  try {
    const offset = createOffset(await joinClock(catalog, config))
    const poller = createPoller(config.catalog.pollMs, () => follow(catalog, offset), TEXTS, log)
    await poller.start()
    const clock = clockWith(offset)
    log.warn({ clock: new Date(clock.nowMs()) }, 'this installation does not run in real time')
    return {
      clock,
      async close() {
        await poller.stop()
        await catalog.close()
      },
    }
  } catch (error) {
    await catalog.close()
    throw error
  }
}

async function follow(catalog: Stores, offset: ClockOffset): Promise<void> {
  const found = await readClock(catalog)
  if (found !== null) raiseOffset(offset, found.ahead_ms ?? 0)
}

function readClock(catalog: Stores): Promise<InstallationDocument | null> {
  return catalog.installation.findOne({ _id: ID })
}

/** False if another process was faster. */
function insertClock(catalog: Stores, first: InstallationDocument): Promise<boolean> {
  return isInserted(catalog.installation.insertOne(first))
}

/** False if another process was faster. */
async function replaceStart(
  catalog: Stores,
  { ahead_ms = 0 }: InstallationDocument,
  next: Required<Pick<InstallationDocument, 'start' | 'ahead_ms'>>,
): Promise<boolean> {
  const { matchedCount } = await catalog.installation.updateOne(
    { _id: ID, ahead_ms },
    { $set: next },
  )
  return matchedCount === 1
}
