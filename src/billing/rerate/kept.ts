/** Lines that the ledger may still change: by later usage, or by a refund of an event. */
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import type { RefusedLine } from '../../catalog/records/usage/rerate-documents.ts'
import { sessionTagOf } from '../../domain/lines.ts'
import { readAccountFields } from '../../ledger/account-fields.ts'
import type { Ledger } from '../../ledger/ledger.ts'

/** Values loaded by one call: more would block Redis for charging. */
const VALUES_PER_CALL = 200

export interface KeptSessions {
  /** Tags of sessions with segments. */
  readonly tags: ReadonlySet<string>
  /** Sessions opened from then on are not in it, epoch ms. */
  readonly untilMs: number
  /** Accounts that cannot be read. */
  readonly damaged: ReadonlySet<number>
}

/** By how much the clocks of nodes may differ, ms. */
const CLOCKS_DIFFER_MS = 60_000

/**
 * Reads what the ledger keeps of accounts. Lines of all other sessions of now have their last
 * version. Throws `StoreDownError`.
 */
export async function readKept(
  ledger: Ledger,
  aids: readonly number[],
  nowMs: number,
): Promise<KeptSessions> {
  const tags = new Set<string>()
  const damaged = new Set<number>()
  const fields = await readAccountFields(ledger, aids)
  const queries = aids.flatMap((aid, index) => {
    const found = fields[index]
    if (found === undefined || found instanceof Error) {
      damaged.add(aid)
      return []
    }
    return [
      ...[0, ...found.sids].map((sid) => ({ aid, sid, sessionKeys: [] })),
      ...[...found.sessionKeys].flatMap(([sid, keys]) =>
        keys.map((key) => ({ aid, sid, sessionKeys: [key] })),
      ),
    ]
  })
  for (let at = 0; at < queries.length; at += VALUES_PER_CALL) {
    const part = queries.slice(at, at + VALUES_PER_CALL)
    for (const [index, owner] of (await ledger.load(part)).entries()) {
      const { aid = 0, sessionKeys: [key = ''] = [] } = part[index] ?? {}
      if (owner instanceof Error) damaged.add(aid)
      else
        for (const session of owner.sessions) {
          const isKept = session?.services.some(({ segment }) => segment !== null) === true
          if (session !== null && (isKept || session.state === 'open')) {
            tags.add(sessionTagOf(key, session))
          }
        }
    }
  }
  return { tags, damaged, untilMs: nowMs - CLOCKS_DIFFER_MS }
}

/** A stamp is the tag of the session, which ends with its opening, the service and the segment. */
const STAMP = /^(.+-([0-9a-z]+))-\d+-\d+$/

export function refuseKept({ tags, damaged, untilMs }: KeptSessions) {
  return ({ stamp, aid }: RealtimeLineDocument): RefusedLine | null => {
    if (damaged.has(aid)) {
      return { stamp, reason: 'damaged', text: 'the ledger cannot read its account' }
    }
    const [, tag = '', opened = ''] = STAMP.exec(stamp) ?? []
    const isKept = tags.has(tag) || Number.parseInt(opened, 36) >= untilMs
    if (!isKept) return null
    const text = 'the ledger keeps its session: usage or a refund may still change it'
    return { stamp, reason: 'kept', text }
  }
}
