/**
 * Which network elements have restarted: one whose Origin-State-Id grows has lost the sessions that
 * it had (RFC 6733 section 8.16). Counts for whom a message comes from, not for relays on its way.
 */
import type { CreditControlClient } from '../../domain/charge-request.ts'
import type { Logger } from '../../runtime/log.ts'
import type { ClientStates } from '../../store/client-states.ts'

export interface OriginStatesOptions {
  /** Called when the first client tells of its state. */
  readonly open: () => Promise<ClientStates>
  /** Its sessions need not be asked for any more. */
  readonly onRestart: (originHost: string, originRealm: string) => void
  readonly log: Pick<Logger, 'info' | 'warn'>
}

export interface OriginStates {
  /** Null where it tells nothing: 0 is no state. */
  observe(originHost: string, originRealm: string, stateId: number): CreditControlClient | null
}

/** Clients whose states are kept in memory; of further ones Redis is asked again. */
const CLIENTS_MAX = 10_000
/** Of a host and a realm, which are domain names. */
const NAME_CHARS_MAX = 511
const NOT_RECORDED = 'a restart of a Diameter client could not be noted; its next message will tell'
const RESTARTED = 'a Diameter client has restarted: its sessions are ended'

export function createOriginStates({ open, onRestart, log }: OriginStatesOptions): OriginStates {
  const known = new Map<string, number>()
  let states: Promise<ClientStates> | null = null
  let isFailing = false

  const raise = async (
    host: string,
    realm: string,
    name: string,
    stateId: number,
    before: number,
  ) => {
    try {
      states ??= open()
      const hasRestarted = await (await states).raise(name, stateId, before)
      isFailing = false
      if (!hasRestarted) return
      onRestart(host, realm)
      log.info({ host, realm }, RESTARTED)
    } catch (err) {
      states = null
      if (known.get(name) === stateId) known.set(name, before)
      // Its next message tries again, and must not be logged again.
      if (!isFailing) log.warn({ err, host }, NOT_RECORDED)
      isFailing = true
    }
  }

  return {
    observe(originHost, originRealm, stateId) {
      if (stateId === 0 || originHost === '') return null
      const name = `${originHost}@${originRealm}`.toLowerCase()
      if (name.length > NAME_CHARS_MAX) return null
      const before = known.get(name) ?? 0
      if (stateId > before) {
        const [oldest] = known.size >= CLIENTS_MAX ? known.keys() : []
        if (oldest !== undefined) known.delete(oldest)
        known.set(name, stateId)
        void raise(originHost, originRealm, name, stateId, before)
      }
      return { name, stateId }
    },
  }
}
