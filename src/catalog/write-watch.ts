/** Checks periodically whether MongoDB accepts writes; reads tell nothing about a full disk. */
import { MongoServerError } from 'mongodb'
import type { Logger } from '../runtime/log.ts'
import type { Catalog } from './connection.ts'
import { CatalogUnavailableError } from './errors.ts'
import { createPoller } from './poller.ts'

export interface WriteWatch {
  /** False while MongoDB answers, but refuses or does not acknowledge writes. */
  canWrite(): boolean
  stop(): Promise<void>
}

const EVERY_MS = 5_000
/** So many writes in succession without an answer count as a refusal. */
const UNANSWERED_MAX = 3
const ID = 'writable'
const TEXTS = {
  failing: 'mongodb cannot write: lines wait to be recorded until it has room',
  recovered: 'mongodb can write again',
}

/**
 * Updates one small document. Begin and end of a refusal are logged. A check without an answer, as
 * in an outage, keeps the last result, until `UNANSWERED_MAX` in succession count as a refusal.
 * `onRefusing` receives 1 while writes are refused, otherwise 0.
 */
export function watchMongoWrites(
  catalog: Pick<Catalog, 'installation'>,
  log: Logger,
  onRefusing: (refusing: 0 | 1) => void,
  everyMs = EVERY_MS,
): WriteWatch {
  let isRefused = false
  let unanswered = 0
  const found = (isRefusedNow: boolean) => {
    isRefused = isRefusedNow
    onRefusing(isRefused ? 1 : 0)
  }
  const check = async () => {
    try {
      await catalog.installation.updateOne({ _id: ID }, { $inc: { checks: 1 } }, { upsert: true })
    } catch (error) {
      unanswered = isAnswer(error) ? 0 : unanswered + 1
      if (unanswered > 0 && unanswered < UNANSWERED_MAX && !isRefused) return
      found(true)
      throw error
    }
    unanswered = 0
    found(false)
  }
  const poller = createPoller(everyMs, check, TEXTS, log)
  void poller.start()
  return { canWrite: () => !isRefused, stop: () => poller.stop() }
}

function isAnswer(error: unknown): boolean {
  const cause = error instanceof CatalogUnavailableError ? error.cause : error
  return cause instanceof MongoServerError
}
