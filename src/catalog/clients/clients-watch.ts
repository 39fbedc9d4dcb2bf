/** Keeps one thread's clients and signature settings current. */
import type { Logger } from '../../runtime/log.ts'
import type { Catalog } from '../connection.ts'
import { createPoller, type Poller } from '../poller.ts'
import type { Sealer } from '../sealing/sealing.ts'
import { SECURITY } from '../settings/access/security-settings.ts'
import { CLIENTS_CATEGORY } from './client-settings.ts'
import { type ApiClients, compileClients } from './clients.ts'

export interface CurrentClients {
  readonly clients: Pick<ApiClients, 'byName' | 'signers'>
  readonly signature: { readonly enabled: boolean; readonly windowMs: number }
}

const SECOND_MS = 1000

const TEXTS = {
  failing: 'clients cannot be read; the last ones stay in use',
  recovered: 'clients are read again',
}

/** Calls `listener`, which must not throw, after the first read and after every change. */
export function watchClients(
  options: { catalog: Catalog; sealer: Sealer; pollMs: number; log: Logger },
  listener: (stored: CurrentClients) => void,
): Poller {
  const { catalog, sealer, pollMs, log } = options
  const categories = { _id: { $in: [CLIENTS_CATEGORY, SECURITY.category] } }
  let lastRevision: string | null = null
  const poll = async () => {
    const revisions = await catalog.config
      .find(categories)
      .project<{ _id: string; rev: number }>({ rev: 1 })
      .toArray()
    if (revisionOf(revisions) === lastRevision) return
    const stored = await catalog.config.find(categories).toArray()
    const storedValue = (category: string) => stored.find(({ _id }) => _id === category)?.value
    const clients = compileClients(storedValue(CLIENTS_CATEGORY) ?? [], sealer)
    for (const skipped of clients.skipped) log.error(skipped, 'a client is invalid, or cannot sign')
    const { enabled, window_seconds: seconds } = SECURITY.read(
      storedValue(SECURITY.category),
    ).signature
    listener({ clients, signature: { enabled, windowMs: seconds * SECOND_MS } })
    lastRevision = revisionOf(stored)
  }
  return createPoller(pollMs, poll, TEXTS, log)
}

function revisionOf(documents: readonly { _id: string; rev: number }[]): string {
  return documents
    .map(({ _id, rev }) => `${_id} ${rev}`)
    .sort()
    .join()
}
