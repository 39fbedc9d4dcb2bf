/**
 * Detects restarts of network elements: one whose Origin-State-Id increases has lost its sessions
 * (RFC 6733 section 8.16). Applies to the originator of a message, not to relays on the path.
 */
import type { CreditControlClient } from '../../domain/charge-request.ts'
import type { Logger } from '../../runtime/log.ts'
import type { ClientStates } from '../../store/client-states.ts'

export interface OriginStatesOptions {
  /** Called for the first client that sends its state. */
  readonly open: () => Promise<ClientStates>
  /** The sessions of the client no longer exist there. */
  readonly onRestart: (originHost: string, originRealm: string) => void
  readonly log: Pick<Logger, 'info' | 'warn'>
}

export interface OriginStates {
  /** Null if no state is reported; an Origin-State-Id of 0 is no state. */
  observe(originHost: string, originRealm: string, stateId: number): CreditControlClient | null
}

/** Limit of clients whose state is cached; for further ones Redis is queried again. */
const CLIENTS_MAX = 10_000
/** Limit of host and realm, which are domain names. */
const NAME_CHARS_MAX = 511
const NOT_RECORDED =
  'a restart of a Diameter client could not be recorded; its next message is checked again'
const RESTARTED = 'a Diameter client has restarted: its sessions are ended'

export function createOriginStates({ open, onRestart, log }: OriginStatesOptions): OriginStates {
  const stateIds = new Map<string, number>()
  let states: Promise<ClientStates> | null = null
  let isFailing = false
  const nameOf = createNaming()

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
      if (stateIds.get(name) === stateId) stateIds.set(name, before)
      // The next message tries again; a repeated failure is not logged.
      if (!isFailing) log.warn({ err, host }, NOT_RECORDED)
      isFailing = true
    }
  }

  return {
    observe(originHost, originRealm, stateId) {
      if (stateId === 0 || originHost === '') return null
      const name = nameOf(originHost, originRealm)
      if (name.length > NAME_CHARS_MAX) return null
      const before = stateIds.get(name) ?? 0
      if (stateId > before) {
        const [oldest] = stateIds.size >= CLIENTS_MAX ? stateIds.keys() : []
        if (oldest !== undefined) stateIds.delete(oldest)
        stateIds.set(name, stateId)
        void raise(originHost, originRealm, name, stateId, before)
      }
      return { name, stateId }
    },
  }
}

/** Name of a client. Messages of a client follow each other, so the last name is kept. */
function createNaming(): (originHost: string, originRealm: string) => string {
  let host = ''
  let realm = ''
  let name = '@'
  return (originHost, originRealm) => {
    if (originHost === host && originRealm === realm) return name
    host = originHost
    realm = originRealm
    name = `${originHost}@${originRealm}`.toLowerCase()
    return name
  }
}
